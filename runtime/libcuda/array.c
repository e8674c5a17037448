/* Arrays: memory of the device's, row behind row, that textures and surfaces are made of. What a GPU keeps in an order
   of its own lies in rows here; programs reach it by copies and objects alone. */
#include <stdlib.h>

#include "internal.h"

enum { LAYERED = 1, SURFACES = 2, GATHER = 8, COLOR = 32 }; /* CUDA_ARRAY3D_* */
enum { ROW_UNIT = 64 };                                     /* rows begin at multiples of so many bytes */

static struct cu_array *all_arrays;

static struct cu_array **find_array(const struct cu_array *array)
{
    for (struct cu_array **at = &all_arrays; *at; at = &(*at)->next)
        if (*at == array)
            return at;
    return NULL;
}

int cu_array_known(const struct cu_array *array)
{
    return array && find_array(array) != NULL;
}

int cu_texel_of(int format, unsigned channels, struct emu_texels *texels)
{
    static const struct {
        int format, kind, bits;
    } formats[] = {{0x01, EMU_TEXEL_UNSIGNED, 8}, {0x02, EMU_TEXEL_UNSIGNED, 16}, {0x03, EMU_TEXEL_UNSIGNED, 32},
                   {0x08, EMU_TEXEL_SIGNED, 8},   {0x09, EMU_TEXEL_SIGNED, 16},   {0x0a, EMU_TEXEL_SIGNED, 32},
                   {0x10, EMU_TEXEL_FLOAT, 16},   {0x20, EMU_TEXEL_FLOAT, 32}};
    if (channels != 1 && channels != 2 && channels != 4)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "%u channels: 1, 2 and 4 are there", channels);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i].format != format)
            continue;
        texels->kind = (uint8_t)formats[i].kind;
        texels->bits = (uint8_t)formats[i].bits;
        texels->channels = (uint8_t)channels;
        return CUDA_SUCCESS;
    }
    return cu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                     "the format 0x%x is not emulated: integers of 8, 16 and 32 bits and floats of 16 and 32 are",
                     (unsigned)format);
}

struct emu_texels cu_array_texels(const struct cu_array *array)
{
    const struct cu_array_3d *is = &array->is;
    struct emu_texels texels = array->texels;
    texels.width = (uint32_t)is->width;
    texels.height = (uint32_t)is->height;
    texels.layers = is->flags & LAYERED ? (uint32_t)is->depth : 0;
    texels.depth = is->flags & LAYERED ? 0 : (uint32_t)is->depth;
    return texels;
}

/* ---- Making them ------------------------------------------------------------------------------------------------- */

static int check(const struct cu_array_3d *is)
{
    enum { MOST = 131072 };
    int layered = (is->flags & LAYERED) != 0;
    if (is->flags & ~(unsigned)(LAYERED | SURFACES | GATHER | COLOR))
        return cu_refuse(CUDA_ERROR_NOT_SUPPORTED,
                         "an array of flags 0x%x: cube maps, depths and sparse memory are not emulated", is->flags);
    if (!is->width || (layered && !is->depth) || (!layered && is->depth && !is->height))
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "an array of %zu x %zu x %zu", is->width, is->height, is->depth);
    if (is->width > MOST || is->height > MOST || is->depth > MOST)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "an array of %zu x %zu x %zu: %d are the most", is->width,
                         is->height, is->depth, MOST);
    return CUDA_SUCCESS;
}

int cuArray3DCreate_v2(struct cu_array **array, const struct cu_array_3d *is)
{
    ENTER(cuArray3DCreate_v2);
    struct tw_error error;
    struct emu_texels texels = {.kind = 0};
    if (!array || !is)
        return CUDA_ERROR_INVALID_VALUE;
    int result = check(is);
    if (!result)
        result = cu_texel_of(is->format, is->channels, &texels);
    if (result)
        return result;
    struct cu_array *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->is = *is;
    made->rows = is->height ? is->height : 1;
    made->slices = is->depth ? is->depth : 1;
    texels.pitch = (is->width * emu_texel_bytes(&texels) + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT;
    texels.slice = texels.pitch * made->rows;
    int status = made->slices > cu.device->memory_bytes / texels.slice
                     ? tw_fail(&error, TW_ERROR_MEMORY, "an array of %zu slices of %llu bytes", made->slices,
                               (unsigned long long)texels.slice)
                     : tw_device_alloc(cu.device, texels.slice * made->slices, &texels.address, &error);
    if (status) {
        free(made);
        return cu_result(status, &error);
    }
    made->texels = texels;
    made->next = all_arrays;
    all_arrays = made;
    *array = made;
    return CUDA_SUCCESS;
}

int cuArrayCreate_v2(struct cu_array **array, const struct cu_array_2d *is)
{
    if (!is)
        return CUDA_ERROR_INVALID_VALUE;
    const struct cu_array_3d deep = {
        .width = is->width, .height = is->height, .format = is->format, .channels = is->channels};
    return cuArray3DCreate_v2(array, &deep);
}

int cuArrayDestroy(struct cu_array *array)
{
    ENTER(cuArrayDestroy);
    struct cu_array **at = array ? find_array(array) : NULL;
    if (!at)
        return CUDA_ERROR_INVALID_HANDLE;
    *at = array->next;
    tw_device_free(cu.device, array->texels.address);
    free(array);
    return CUDA_SUCCESS;
}

int cuArray3DGetDescriptor_v2(struct cu_array_3d *is, struct cu_array *array)
{
    ENTER(cuArray3DGetDescriptor_v2);
    if (!cu_array_known(array))
        return CUDA_ERROR_INVALID_HANDLE;
    *is = array->is;
    return CUDA_SUCCESS;
}

int cuArrayGetDescriptor_v2(struct cu_array_2d *is, struct cu_array *array)
{
    ENTER(cuArrayGetDescriptor_v2);
    if (!cu_array_known(array))
        return CUDA_ERROR_INVALID_HANDLE;
    *is = (struct cu_array_2d){array->is.width, array->is.height, array->is.format, array->is.channels};
    return CUDA_SUCCESS;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

int cu_array_side(const struct cu_array *array, struct cu_side *side)
{
    if (!cu_array_known(array))
        return cu_refuse(CUDA_ERROR_INVALID_HANDLE, "a copy of an array that is none, or was destroyed");
    side->address = array->texels.address;
    side->on_device = 1;
    side->pitch = array->texels.pitch;
    side->height = array->rows;
    side->array = array;
    return CUDA_SUCCESS;
}

int cu_array_holds(const struct cu_side *side, size_t width, size_t height, size_t depth)
{
    const struct cu_array *array = side->array;
    if (!array)
        return CUDA_SUCCESS;
    size_t row = array->is.width * emu_texel_bytes(&array->texels);
    if (side->x <= row && width <= row - side->x && side->y <= array->rows && height <= array->rows - side->y &&
        side->z <= array->slices && depth <= array->slices - side->z)
        return CUDA_SUCCESS;
    return cu_refuse(CUDA_ERROR_INVALID_VALUE,
                     "a copy of %zu bytes x %zu x %zu at %zu, %zu, %zu of an array of %zu bytes x %zu x %zu", width,
                     height, depth, side->x, side->y, side->z, row, array->rows, array->slices);
}

/* cuMemcpyHtoA and its kind: arrays of one dimension, places in bytes. */
static int copy_line(struct cu_array *to_array, size_t to, struct cu_array *from_array, size_t from, size_t bytes,
                     struct cu_stream *stream)
{
    struct cu_work work = {.kind = CU_COPY};
    struct cu_copy *copy = &work.of.copy;
    *copy = (struct cu_copy){.width = bytes, .height = 1, .depth = 1};
    int result = CUDA_SUCCESS;
    copy->from.address = from;
    copy->to.address = to;
    if (from_array && !(result = cu_array_side(from_array, &copy->from)))
        copy->from.x = from;
    if (!result && to_array && !(result = cu_array_side(to_array, &copy->to)))
        copy->to.x = to;
    if (!result)
        result = cu_array_holds(&copy->from, bytes, 1, 1);
    if (!result)
        result = cu_array_holds(&copy->to, bytes, 1, 1);
    return result ? result : cu_submit(stream, &work);
}

int cuMemcpyDtoA_v2(struct cu_array *to, size_t offset, uint64_t from, size_t bytes)
{
    ENTER(cuMemcpyDtoA_v2);
    return copy_line(to, offset, NULL, from, bytes, NULL);
}

int cuMemcpyAtoD_v2(uint64_t to, struct cu_array *from, size_t offset, size_t bytes)
{
    ENTER(cuMemcpyAtoD_v2);
    return copy_line(NULL, to, from, offset, bytes, NULL);
}

int cuMemcpyHtoAAsync_v2(struct cu_array *to, size_t offset, const void *from, size_t bytes, struct cu_stream *stream)
{
    ENTER(cuMemcpyHtoAAsync_v2);
    return copy_line(to, offset, NULL, (uintptr_t)from, bytes, stream);
}

int cuMemcpyHtoA_v2(struct cu_array *to, size_t offset, const void *from, size_t bytes)
{
    return cuMemcpyHtoAAsync_v2(to, offset, from, bytes, NULL);
}

int cuMemcpyAtoHAsync_v2(void *to, struct cu_array *from, size_t offset, size_t bytes, struct cu_stream *stream)
{
    ENTER(cuMemcpyAtoHAsync_v2);
    return copy_line(NULL, (uintptr_t)to, from, offset, bytes, stream);
}

int cuMemcpyAtoH_v2(void *to, struct cu_array *from, size_t offset, size_t bytes)
{
    return cuMemcpyAtoHAsync_v2(to, from, offset, bytes, NULL);
}

int cuMemcpyAtoA_v2(struct cu_array *to, size_t to_offset, struct cu_array *from, size_t from_offset, size_t bytes)
{
    ENTER(cuMemcpyAtoA_v2);
    return copy_line(to, to_offset, from, from_offset, bytes, NULL);
}
