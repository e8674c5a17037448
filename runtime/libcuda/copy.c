/* Copies and fills. Addresses are the host's and the device's in one space: what the device has not is the host's. */
#include <string.h>

#include "internal.h"

/* Where bytes lie in this process; NULL where a part of them is not allocated on the device, though they begin there.
 */
static unsigned char *place(uint64_t address, size_t bytes, int *on_device)
{
    uint64_t base;
    size_t all;
    *on_device = !emu_device_range(cu.device, address, &base, &all);
    return *on_device ? emu_device_memory(cu.device, address, bytes) : (unsigned char *)(uintptr_t)address;
}

static int outside(const char *what, uint64_t address, size_t bytes)
{
    return cu_refuse(CUDA_ERROR_INVALID_VALUE, "%s of %zu bytes at 0x%llx, which is not all allocated", what, bytes,
                     (unsigned long long)address);
}

/* An address of the device's that is nobody's must not be followed. */
static int nobodys(uint64_t address)
{
    return address < 4096;
}

static uint64_t row_of(const struct cu_side *side, size_t y, size_t z)
{
    return side->address + side->x + side->pitch * (side->y + y + side->height * (side->z + z));
}

int cu_run_copy(const struct cu_copy *copy)
{
    for (size_t z = 0; copy->width && z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++) {
            int from_device, to_device;
            uint64_t from = row_of(&copy->from, y, z), to = row_of(&copy->to, y, z);
            const unsigned char *a = place(from, copy->width, &from_device);
            unsigned char *b = place(to, copy->width, &to_device);
            if (!a || nobodys(from) || (copy->from.on_device && !from_device))
                return outside("a copy", from, copy->width);
            if (!b || nobodys(to) || (copy->to.on_device && !to_device))
                return outside("a copy", to, copy->width);
            memmove(b, a, copy->width);
            if (to_device)
                emu_device_written(cu.device, to, copy->width);
        }
    }
    return CUDA_SUCCESS;
}

int cu_run_fill(const struct cu_fill *fill)
{
    size_t bytes = fill->width * fill->bytes;
    for (size_t y = 0; bytes && y < fill->height; y++) {
        int on_device;
        uint64_t at = fill->address + y * fill->pitch;
        unsigned char *row = place(at, bytes, &on_device);
        if (!row || !on_device)
            return outside("a fill", at, bytes);
        for (size_t i = 0; i < bytes; i++)
            row[i] = (unsigned char)(fill->value >> (8 * (i % fill->bytes)));
        emu_device_written(cu.device, at, bytes);
    }
    return CUDA_SUCCESS;
}

/* ---- One dimension ----------------------------------------------------------------------------------------------- */

enum which { UNIFIED, TO_DEVICE, FROM_DEVICE, ON_DEVICE };

static int copy_line(enum which which, uint64_t to, uint64_t from, size_t bytes, struct cu_stream *stream)
{
    struct cu_work work = {.kind = CU_COPY};
    work.of.copy = (struct cu_copy){{.address = from, .on_device = (which & FROM_DEVICE) != 0},
                                    {.address = to, .on_device = (which & TO_DEVICE) != 0},
                                    bytes,
                                    1,
                                    1};
    return cu_submit(stream, &work);
}

static uint64_t host(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes)
{
    ENTER(cuMemcpy);
    return copy_line(UNIFIED, to, from, bytes, NULL);
}

int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, struct cu_stream *stream)
{
    ENTER(cuMemcpyAsync);
    return copy_line(UNIFIED, to, from, bytes, stream);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    ENTER(cuMemcpyHtoD_v2);
    return copy_line(TO_DEVICE, to, host(from), bytes, NULL);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    ENTER(cuMemcpyDtoH_v2);
    return copy_line(FROM_DEVICE, host(to), from, bytes, NULL);
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
    ENTER(cuMemcpyDtoD_v2);
    return copy_line(ON_DEVICE, to, from, bytes, NULL);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct cu_stream *stream)
{
    ENTER(cuMemcpyHtoDAsync_v2);
    return copy_line(TO_DEVICE, to, host(from), bytes, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct cu_stream *stream)
{
    ENTER(cuMemcpyDtoHAsync_v2);
    return copy_line(FROM_DEVICE, host(to), from, bytes, stream);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, struct cu_stream *stream)
{
    ENTER(cuMemcpyDtoDAsync_v2);
    return copy_line(ON_DEVICE, to, from, bytes, stream);
}

int cuMemcpyPeerAsync(uint64_t to, struct cu_context *to_context, uint64_t from, struct cu_context *from_context,
                      size_t bytes, struct cu_stream *stream)
{
    ENTER(cuMemcpyPeerAsync);
    (void)to_context, (void)from_context;
    return copy_line(ON_DEVICE, to, from, bytes, stream);
}

int cuMemcpyPeer(uint64_t to, struct cu_context *to_context, uint64_t from, struct cu_context *from_context,
                 size_t bytes)
{
    return cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, NULL);
}

/* ---- Two and three ----------------------------------------------------------------------------------------------- */

enum { TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_ARRAY = 3 }; /* CUmemorytype; 4 is unified */

static int side_of(const struct cu_side_3d *call, struct cu_side *side)
{
    *side = (struct cu_side){.address = call->type == TYPE_HOST ? host(call->host) : call->device,
                             .on_device = call->type == TYPE_DEVICE,
                             .x = call->x,
                             .y = call->y,
                             .z = call->z,
                             .pitch = call->pitch,
                             .height = call->height};
    if (call->type != TYPE_ARRAY)
        return CUDA_SUCCESS;
    if (call->level)
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "mipmaps are not emulated");
    return cu_array_side(call->array, side);
}

int cu_copy_of_3d(const struct cu_copy_3d *call, struct cu_copy *copy)
{
    int result = side_of(&call->from, &copy->from);
    if (!result)
        result = side_of(&call->to, &copy->to);
    copy->width = call->width;
    copy->height = call->height;
    copy->depth = call->depth;
    /* A pitch or height of 0 is that of what is copied. */
    struct cu_side *sides[] = {&copy->from, &copy->to};
    for (int i = 0; i < 2; i++) {
        sides[i]->pitch = sides[i]->pitch ? sides[i]->pitch : copy->width;
        sides[i]->height = sides[i]->height ? sides[i]->height : copy->height;
        if (!result)
            result = cu_array_holds(sides[i], copy->width, copy->height, copy->depth);
    }
    return result;
}

static int copy_box(const struct cu_copy_3d *call, struct cu_stream *stream)
{
    struct cu_work work = {.kind = CU_COPY};
    int result = cu_copy_of_3d(call, &work.of.copy);
    return result ? result : cu_submit(stream, &work);
}

int cuMemcpy3DAsync_v2(const struct cu_copy_3d *call_3d, struct cu_stream *stream)
{
    ENTER(cuMemcpy3DAsync_v2);
    return copy_box(call_3d, stream);
}

int cuMemcpy3D_v2(const struct cu_copy_3d *call_3d)
{
    ENTER(cuMemcpy3D_v2);
    return copy_box(call_3d, NULL);
}

int cuMemcpy3DPeer(const struct cu_copy_3d *call_3d)
{
    return cuMemcpy3D_v2(call_3d);
}

int cuMemcpy3DPeerAsync(const struct cu_copy_3d *call_3d, struct cu_stream *stream)
{
    return cuMemcpy3DAsync_v2(call_3d, stream);
}

int cuMemcpy2DAsync_v2(const struct cu_copy_2d *call_2d, struct cu_stream *stream)
{
    ENTER(cuMemcpy2DAsync_v2);
    const struct cu_copy_2d *c = call_2d;
    const struct cu_copy_3d box = {.from = {.x = c->from_x,
                                            .y = c->from_y,
                                            .type = c->from_type,
                                            .host = (void *)(uintptr_t)c->from_host,
                                            .device = c->from_device,
                                            .array = c->from_array,
                                            .pitch = c->from_pitch},
                                   .to = {.x = c->to_x,
                                          .y = c->to_y,
                                          .type = c->to_type,
                                          .host = c->to_host,
                                          .device = c->to_device,
                                          .array = c->to_array,
                                          .pitch = c->to_pitch},
                                   .width = c->width,
                                   .height = c->height,
                                   .depth = 1};
    return copy_box(&box, stream);
}

int cuMemcpy2D_v2(const struct cu_copy_2d *call_2d)
{
    return cuMemcpy2DAsync_v2(call_2d, NULL);
}

int cuMemcpy2DUnaligned_v2(const struct cu_copy_2d *call_2d)
{
    return cuMemcpy2DAsync_v2(call_2d, NULL);
}

/* ---- Fills ------------------------------------------------------------------------------------------------------- */

static int fill(struct cu_fill of, struct cu_stream *stream)
{
    struct cu_work work = {.kind = CU_FILL};
    if (of.address % of.bytes)
        return CUDA_ERROR_INVALID_VALUE;
    work.of.fill = of;
    return cu_submit(stream, &work);
}

#define FILL(bits, type)                                                                                               \
    int cuMemsetD2D##bits##Async(uint64_t address, size_t pitch, type value, size_t width, size_t height,              \
                                 struct cu_stream *stream)                                                             \
    {                                                                                                                  \
        ENTER(cuMemsetD2D##bits##Async);                                                                               \
        return fill((struct cu_fill){address, pitch, value, bits / 8, width, height}, stream);                         \
    }                                                                                                                  \
    int cuMemsetD2D##bits##_v2(uint64_t address, size_t pitch, type value, size_t width, size_t height)                \
    {                                                                                                                  \
        return cuMemsetD2D##bits##Async(address, pitch, value, width, height, NULL);                                   \
    }                                                                                                                  \
    int cuMemsetD##bits##Async(uint64_t address, type value, size_t count, struct cu_stream *stream)                   \
    {                                                                                                                  \
        ENTER(cuMemsetD##bits##Async);                                                                                 \
        return fill((struct cu_fill){address, 0, value, bits / 8, count, 1}, stream);                                  \
    }                                                                                                                  \
    int cuMemsetD##bits##_v2(uint64_t address, type value, size_t count)                                               \
    {                                                                                                                  \
        return cuMemsetD##bits##Async(address, value, count, NULL);                                                    \
    }

FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)
