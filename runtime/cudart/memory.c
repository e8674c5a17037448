/* Memory, copies and fills. */
#include <string.h>

#include "cudart.h"

static uint64_t number(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

/* The driver's uint64_t into the program's pointer. */
static int give(int result, void **address, const uint64_t *at)
{
    if (!result)
        *address = (void *)(uintptr_t)*at;
    return rt_last(result);
}

/* The runtime allocates nothing for 0 bytes, and that is no error. */
int cudaMalloc(void **address, size_t bytes)
{
    BEGIN;
    uint64_t at = 0;
    return give(bytes ? cuMemAlloc_v2(&at, bytes) : cudaSuccess, address, &at);
}

int cudaFree(void *address)
{
    BEGIN;
    return rt_last(cuMemFree_v2(number(address)));
}

int cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    BEGIN;
    uint64_t at = 0;
    return give(cuMemAllocPitch_v2(&at, pitch, width, height, 4), address, &at);
}

int cudaMalloc3D(struct pitched *memory, struct extent extent)
{
    if (extent.depth && extent.height > SIZE_MAX / extent.depth)
        return rt_last(cudaErrorMemoryAllocation);
    memory->width = extent.width;
    memory->height = extent.height;
    return cudaMallocPitch(&memory->memory, &memory->pitch, extent.width, extent.height * extent.depth);
}

int cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
    BEGIN;
    uint64_t at = 0;
    return give(cuMemAllocManaged(&at, bytes, flags), address, &at);
}

int cudaMallocHost(void **memory, size_t bytes)
{
    return cudaHostAlloc(memory, bytes, 0);
}

int cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    BEGIN;
    return rt_last(cuMemHostAlloc(memory, bytes, flags));
}

int cudaFreeHost(void *memory)
{
    BEGIN;
    return rt_last(cuMemFreeHost(memory));
}

int cudaHostRegister(void *memory, size_t bytes, unsigned flags)
{
    BEGIN;
    return rt_last(cuMemHostRegister_v2(memory, bytes, flags));
}

int cudaHostUnregister(void *memory)
{
    BEGIN;
    return rt_last(cuMemHostUnregister(memory));
}

int cudaHostGetDevicePointer(void **address, void *memory, unsigned flags)
{
    BEGIN;
    uint64_t at = 0;
    return give(cuMemHostGetDevicePointer_v2(&at, memory, flags), address, &at);
}

int cudaHostGetFlags(unsigned *flags, void *memory)
{
    BEGIN;
    return rt_last(cuMemHostGetFlags(flags, memory));
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    BEGIN;
    return rt_last(cuMemGetInfo_v2(free_bytes, total));
}

int cudaMallocAsync(void **address, size_t bytes, struct cu_stream *stream)
{
    BEGIN;
    uint64_t at = 0;
    return give(bytes ? cuMemAllocAsync(&at, bytes, stream) : cudaSuccess, address, &at);
}

int cudaMallocFromPoolAsync(void **address, size_t bytes, struct cu_memory_pool *pool, struct cu_stream *stream)
{
    BEGIN;
    uint64_t at = 0;
    return give(bytes ? cuMemAllocFromPoolAsync(&at, bytes, pool, stream) : cudaSuccess, address, &at);
}

int cudaFreeAsync(void *address, struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuMemFreeAsync(number(address), stream));
}

int cudaDeviceGetDefaultMemPool(struct cu_memory_pool **pool, int device)
{
    BEGIN;
    return rt_last(cuDeviceGetDefaultMemPool(pool, device));
}

int cudaDeviceGetMemPool(struct cu_memory_pool **pool, int device)
{
    BEGIN;
    return rt_last(cuDeviceGetMemPool(pool, device));
}

int cudaDeviceSetMemPool(int device, struct cu_memory_pool *pool)
{
    BEGIN;
    return rt_last(cuDeviceSetMemPool(device, pool));
}

int cudaMemPoolCreate(struct cu_memory_pool **pool, const void *properties)
{
    BEGIN;
    return rt_last(cuMemPoolCreate(pool, properties));
}

int cudaMemPoolDestroy(struct cu_memory_pool *pool)
{
    BEGIN;
    return rt_last(cuMemPoolDestroy(pool));
}

int cudaMemPoolSetAttribute(struct cu_memory_pool *pool, int attribute, void *value)
{
    BEGIN;
    return rt_last(cuMemPoolSetAttribute(pool, attribute, value));
}

int cudaMemPoolGetAttribute(struct cu_memory_pool *pool, int attribute, void *value)
{
    BEGIN;
    return rt_last(cuMemPoolGetAttribute(pool, attribute, value));
}

int cudaMemPoolTrimTo(struct cu_memory_pool *pool, size_t keep)
{
    BEGIN;
    return rt_last(cuMemPoolTrimTo(pool, keep));
}

int cudaMemAdvise(const void *address, size_t bytes, int advice, struct cu_memory_location where)
{
    BEGIN;
    return rt_last(cuMemAdvise_v2(number(address), bytes, advice, where));
}

int cudaMemPrefetchAsync(const void *address, size_t bytes, struct cu_memory_location where, unsigned flags,
                         struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuMemPrefetchAsync_v2(number(address), bytes, where, flags, stream));
}

int cudaPointerGetAttributes(struct pointer_attributes *attributes, const void *address)
{
    BEGIN;
    enum { UNREGISTERED, HOST, DEVICE, MANAGED };
    const int wanted[] = {2, 3, 4, 8, 9}; /* CUpointer_attribute: type, device's, host's, managed, ordinal */
    int type = 0;
    unsigned char managed = 0;
    uint64_t on_device = 0, on_host = 0;
    void *values[] = {&type, &on_device, &on_host, &managed, &attributes->device};
    memset(attributes, 0, sizeof *attributes);
    int result = cuPointerGetAttributes(5, wanted, values, number(address));
    attributes->type = managed ? MANAGED : type;
    attributes->on_device = (void *)(uintptr_t)on_device;
    attributes->on_host = type ? (void *)(uintptr_t)on_host : (void *)(uintptr_t)address;
    return rt_last(result);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS }; /* cudaMemcpyKind */

int rt_copy(void *to, const void *from, size_t bytes, int kind, struct cu_stream *stream)
{
    switch (kind) {
    case HOST_TO_DEVICE:
        return cuMemcpyHtoDAsync_v2(number(to), from, bytes, stream);
    case DEVICE_TO_HOST:
        return cuMemcpyDtoHAsync_v2(to, number(from), bytes, stream);
    case DEVICE_TO_DEVICE:
        return cuMemcpyDtoDAsync_v2(number(to), number(from), bytes, stream);
    case HOST_TO_HOST:
    case BY_ADDRESS:
        return cuMemcpyAsync(number(to), number(from), bytes, stream);
    default:
        return cudaErrorInvalidMemcpyDirection;
    }
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, struct cu_stream *stream)
{
    BEGIN;
    return rt_last(rt_copy(to, from, bytes, kind, stream));
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    return cudaMemcpyAsync(to, from, bytes, kind, NULL);
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        struct cu_stream *stream)
{
    if (to_device || from_device)
        return rt_last(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, bytes, DEVICE_TO_DEVICE, stream);
}

int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    return cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, NULL);
}

/* One side of a copy as the driver has it. */
static struct cu_side_3d side_of(const struct pitched *memory, const struct extent *at, int on_device, int known)
{
    enum { HOST = 1, DEVICE = 2, UNIFIED = 4 };
    return (struct cu_side_3d){.x = at->width,
                               .y = at->height,
                               .z = at->depth,
                               .type = !known      ? UNIFIED
                                       : on_device ? DEVICE
                                                   : HOST,
                               .host = memory->memory,
                               .device = number(memory->memory),
                               .pitch = memory->pitch,
                               .height = memory->height};
}

int rt_copy_3d(const struct copy_3d *copy, struct cu_copy_3d *driver)
{
    int known = copy->kind != BY_ADDRESS;
    if (copy->kind < HOST_TO_HOST || copy->kind > BY_ADDRESS)
        return cudaErrorInvalidMemcpyDirection;
    driver->from = side_of(&copy->from, &copy->from_at, copy->kind & DEVICE_TO_HOST, known);
    driver->to = side_of(&copy->to, &copy->to_at, copy->kind & HOST_TO_DEVICE, known);
    driver->width = copy->extent.width;
    driver->height = copy->extent.height;
    driver->depth = copy->extent.depth;
    return rt_copy_arrays(copy, driver);
}

int cudaMemcpy3DAsync(const struct copy_3d *copy, struct cu_stream *stream)
{
    BEGIN;
    struct cu_copy_3d driver = {.width = 0};
    int result = rt_copy_3d(copy, &driver);
    return rt_last(result ? result : cuMemcpy3DAsync_v2(&driver, stream));
}

int cudaMemcpy3D(const struct copy_3d *copy)
{
    return cudaMemcpy3DAsync(copy, NULL);
}

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      int kind, struct cu_stream *stream)
{
    const struct copy_3d copy = {.from = {(void *)(uintptr_t)from, from_pitch, width, height},
                                 .to = {to, to_pitch, width, height},
                                 .extent = {width, height, 1},
                                 .kind = kind};
    if (width > to_pitch || width > from_pitch)
        return rt_last(cudaErrorInvalidPitchValue);
    return cudaMemcpy3DAsync(&copy, stream);
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind)
{
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL);
}

/* ---- Fills ------------------------------------------------------------------------------------------------------- */

int cudaMemsetAsync(void *address, int value, size_t bytes, struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuMemsetD8Async(number(address), (unsigned char)value, bytes, stream));
}

int cudaMemset(void *address, int value, size_t bytes)
{
    return cudaMemsetAsync(address, value, bytes, NULL);
}

int cudaMemset2DAsync(void *address, size_t pitch, int value, size_t width, size_t height, struct cu_stream *stream)
{
    BEGIN;
    return rt_last(cuMemsetD2D8Async(number(address), pitch, (unsigned char)value, width, height, stream));
}

int cudaMemset2D(void *address, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(address, pitch, value, width, height, NULL);
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

/* Where byte offset of a variable lies, of which bytes are touched. */
static int part_of(const void *symbol, size_t offset, size_t bytes, void **at)
{
    uint64_t address;
    size_t all;
    int result = rt_variable(symbol, &address, &all);
    if (result)
        return result;
    *at = (void *)(uintptr_t)(address + offset);
    return offset > all || bytes > all - offset ? cudaErrorInvalidValue : cudaSuccess;
}

int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
                            struct cu_stream *stream)
{
    BEGIN;
    void *to;
    int result = part_of(symbol, offset, bytes, &to);
    return rt_last(result ? result : rt_copy(to, from, bytes, kind, stream));
}

int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind)
{
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, NULL);
}

int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                              struct cu_stream *stream)
{
    BEGIN;
    void *from;
    int result = part_of(symbol, offset, bytes, &from);
    return rt_last(result ? result : rt_copy(to, from, bytes, kind, stream));
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind)
{
    return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, NULL);
}
