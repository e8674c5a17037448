/* Arrays: made, asked about, copied to and from. */
#include "cudart.h"

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS }; /* cudaMemcpyKind */
enum { HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4 };                               /* CUmemorytype */

/* ---- Channels ---------------------------------------------------------------------------------------------------- */

static const struct {
    int format, kind, bits; /* CUarray_format, cudaChannelFormatKind */
} formats[] = {{0x08, 0, 8},  {0x09, 0, 16}, {0x0a, 0, 32}, {0x01, 1, 8},
               {0x02, 1, 16}, {0x03, 1, 32}, {0x10, 2, 16}, {0x20, 2, 32}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

int rt_format_of(const struct channels *channels, int *format, unsigned *count)
{
    const int bits[] = {channels->x, channels->y, channels->z, channels->w};
    for (*count = 0; *count < 4 && bits[*count]; ++*count)
        if (bits[*count] != bits[0])
            return cudaErrorInvalidChannelDescriptor;
    for (unsigned i = *count; i < 4; i++)
        if (bits[i])
            return cudaErrorInvalidChannelDescriptor;
    for (unsigned i = 0; *count && *count != 3 && i < FORMATS; i++) {
        *format = formats[i].format;
        if (formats[i].kind == channels->kind && formats[i].bits == bits[0])
            return cudaSuccess;
    }
    return cudaErrorInvalidChannelDescriptor;
}

struct channels rt_channels_of(int format, unsigned count)
{
    struct channels channels = {.kind = 3}; /* none */
    for (unsigned i = 0; i < FORMATS; i++) {
        if (formats[i].format != format)
            continue;
        int bits = formats[i].bits;
        channels =
            (struct channels){bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, formats[i].kind};
    }
    return channels;
}

struct channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct channels){x, y, z, w, kind};
}

/* Bytes of an element of an array; 0: it is none. */
static size_t element_bytes(struct cu_array *array)
{
    struct cu_array_3d is;
    if (cuArray3DGetDescriptor_v2(&is, array))
        return 0;
    return (size_t)rt_channels_of(is.format, 1).x / 8 * is.channels;
}

/* ---- Making them ------------------------------------------------------------------------------------------------- */

int cudaMalloc3DArray(struct cu_array **array, const struct channels *channels, struct extent extent, unsigned flags)
{
    BEGIN;
    if (!array || !channels)
        return rt_last(cudaErrorInvalidValue);
    struct cu_array_3d is = {.width = extent.width, .height = extent.height, .depth = extent.depth, .flags = flags};
    int result = rt_format_of(channels, &is.format, &is.channels);
    return rt_last(result ? result : cuArray3DCreate_v2(array, &is));
}

int cudaMallocArray(struct cu_array **array, const struct channels *channels, size_t width, size_t height,
                    unsigned flags)
{
    return cudaMalloc3DArray(array, channels, (struct extent){width, height, 0}, flags);
}

int cudaFreeArray(struct cu_array *array)
{
    BEGIN;
    return rt_last(array ? cuArrayDestroy(array) : cudaSuccess);
}

int cudaArrayGetInfo(struct channels *channels, struct extent *extent, unsigned *flags, struct cu_array *array)
{
    BEGIN;
    struct cu_array_3d is;
    int result = cuArray3DGetDescriptor_v2(&is, array);
    if (result)
        return rt_last(result);
    if (channels)
        *channels = rt_channels_of(is.format, is.channels);
    if (extent)
        *extent = (struct extent){is.width, is.height, is.depth};
    if (flags)
        *flags = is.flags;
    return cudaSuccess;
}

int cudaGetChannelDesc(struct channels *channels, struct cu_array *array)
{
    return cudaArrayGetInfo(channels, NULL, NULL, array);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Where arrays take part, extents count their elements, and so do places in them. */
int rt_copy_arrays(const struct copy_3d *copy, struct cu_copy_3d *driver)
{
    struct cu_array *arrays[] = {copy->from_array, copy->to_array};
    struct cu_side_3d *sides[] = {&driver->from, &driver->to};
    for (int i = 0; i < 2; i++) {
        size_t bytes = arrays[i] ? element_bytes(arrays[i]) : 0;
        if (!arrays[i])
            continue;
        if (!bytes)
            return cudaErrorInvalidResourceHandle;
        sides[i]->type = ARRAY;
        sides[i]->array = arrays[i];
        sides[i]->x *= bytes;
        driver->width = copy->extent.width * bytes;
    }
    return cudaSuccess;
}

static struct cu_side_3d array_side(struct cu_array *array, size_t x, size_t y)
{
    return (struct cu_side_3d){.type = ARRAY, .array = array, .x = x, .y = y};
}

static struct cu_side_3d memory_side(const void *memory, size_t pitch, int kind, int device_bit)
{
    return (struct cu_side_3d){.type = kind == BY_ADDRESS  ? UNIFIED
                                       : kind & device_bit ? DEVICE
                                                           : HOST,
                               .host = (void *)(uintptr_t)memory,
                               .device = (uint64_t)(uintptr_t)memory,
                               .pitch = pitch};
}

/* A box of bytes between two sides. CUresult. */
static int box(struct cu_side_3d to, struct cu_side_3d from, size_t width, size_t height, struct cu_stream *stream)
{
    const struct cu_copy_3d copy = {.from = from, .to = to, .width = width, .height = height, .depth = 1};
    return cuMemcpy3DAsync_v2(&copy, stream);
}

int cudaMemcpy2DToArrayAsync(struct cu_array *to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                             size_t height, int kind, struct cu_stream *stream)
{
    BEGIN;
    if (kind != HOST_TO_DEVICE && kind != DEVICE_TO_DEVICE && kind != BY_ADDRESS)
        return rt_last(cudaErrorInvalidMemcpyDirection);
    if (pitch < width)
        return rt_last(cudaErrorInvalidPitchValue);
    return rt_last(box(array_side(to, x, y), memory_side(from, pitch, kind, DEVICE_TO_HOST), width, height, stream));
}

int cudaMemcpy2DToArray(struct cu_array *to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                        size_t height, int kind)
{
    return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, NULL);
}

int cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, struct cu_array *from, size_t x, size_t y, size_t width,
                               size_t height, int kind, struct cu_stream *stream)
{
    BEGIN;
    if (kind != DEVICE_TO_HOST && kind != DEVICE_TO_DEVICE && kind != BY_ADDRESS)
        return rt_last(cudaErrorInvalidMemcpyDirection);
    if (pitch < width)
        return rt_last(cudaErrorInvalidPitchValue);
    return rt_last(box(memory_side(to, pitch, kind, HOST_TO_DEVICE), array_side(from, x, y), width, height, stream));
}

int cudaMemcpy2DFromArray(void *to, size_t pitch, struct cu_array *from, size_t x, size_t y, size_t width,
                          size_t height, int kind)
{
    return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, NULL);
}

int cudaMemcpy2DArrayToArray(struct cu_array *to, size_t to_x, size_t to_y, struct cu_array *from, size_t from_x,
                             size_t from_y, size_t width, size_t height, int kind)
{
    BEGIN;
    (void)kind;
    return rt_last(box(array_side(to, to_x, to_y), array_side(from, from_x, from_y), width, height, NULL));
}

/* So many bytes of an array from a place on, row by row, and as many of memory. */
static int along(struct cu_array *array, size_t x, size_t y, const void *memory, size_t bytes, int kind, int to_array,
                 struct cu_stream *stream)
{
    struct cu_array_3d is;
    int result = cuArray3DGetDescriptor_v2(&is, array);
    size_t row = result ? 0 : is.width * element_bytes(array);
    const unsigned char *at = memory;
    if (!result && x >= row)
        return cudaErrorInvalidValue;
    while (!result && bytes) {
        size_t part = bytes < row - x ? bytes : row - x;
        result = to_array ? box(array_side(array, x, y), memory_side(at, part, kind, DEVICE_TO_HOST), part, 1, stream)
                          : box(memory_side(at, part, kind, HOST_TO_DEVICE), array_side(array, x, y), part, 1, stream);
        at += part;
        bytes -= part;
        x = 0;
        y++;
    }
    return result;
}

int cudaMemcpyToArrayAsync(struct cu_array *to, size_t x, size_t y, const void *from, size_t bytes, int kind,
                           struct cu_stream *stream)
{
    BEGIN;
    return rt_last(along(to, x, y, from, bytes, kind, 1, stream));
}

int cudaMemcpyToArray(struct cu_array *to, size_t x, size_t y, const void *from, size_t bytes, int kind)
{
    return cudaMemcpyToArrayAsync(to, x, y, from, bytes, kind, NULL);
}

int cudaMemcpyFromArrayAsync(void *to, struct cu_array *from, size_t x, size_t y, size_t bytes, int kind,
                             struct cu_stream *stream)
{
    BEGIN;
    return rt_last(along(from, x, y, to, bytes, kind, 0, stream));
}

int cudaMemcpyFromArray(void *to, struct cu_array *from, size_t x, size_t y, size_t bytes, int kind)
{
    return cudaMemcpyFromArrayAsync(to, from, x, y, bytes, kind, NULL);
}
