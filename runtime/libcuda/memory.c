/* Memory: the device's, the host's that the device reaches, pools. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* CUmemorytype, and what a piece of memory that the library gave or was told of is. */
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2 };
enum origin { FROM_HOST, REGISTERED, MANAGED };

/* Memory of the host's that the device reaches. */
struct mapped {
    struct mapped *next;
    void *memory;
    size_t bytes;
    uint64_t address;
    unsigned flags;
    enum origin origin;
};
static struct mapped *all_mapped;
static size_t host_bytes; /* of it that the library gave */

static struct mapped **find_mapped(uint64_t address)
{
    for (struct mapped **at = &all_mapped; *at; at = &(*at)->next)
        if (address - (uint64_t)(uintptr_t)(*at)->memory < (*at)->bytes || address - (*at)->address < (*at)->bytes)
            return at;
    return NULL;
}

static int map(void *memory, size_t bytes, unsigned flags, enum origin origin, struct mapped **made)
{
    struct tw_error error;
    struct mapped *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int status = emu_device_map(cu.device, memory, bytes, &m->address, &error);
    if (status) {
        free(m);
        return cu_result(status, &error);
    }
    m->memory = memory;
    m->bytes = bytes;
    m->flags = flags;
    m->origin = origin;
    m->next = all_mapped;
    all_mapped = m;
    *made = m;
    return CUDA_SUCCESS;
}

static void unmap(struct mapped **at)
{
    struct mapped *m = *at;
    *at = m->next;
    tw_device_free(cu.device, m->address);
    if (m->origin != REGISTERED) {
        host_bytes -= m->bytes;
        free(m->memory);
    }
    free(m);
}

/* Pages of their own: no other memory of the program's lies beside them. All together are no more than the device
   has. */
static int host_alloc(size_t bytes, unsigned flags, enum origin origin, struct mapped **made)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > cu.device->memory_bytes - host_bytes)
        return cu_refuse(CUDA_ERROR_OUT_OF_MEMORY,
                         "%zu bytes of the host's memory: %zu are left, of as many as the "
                         "device has (run-program --memory)",
                         bytes, cu.device->memory_bytes - host_bytes);
    if (posix_memalign(&memory, page, (bytes + page - 1) / page * page))
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(memory, 0, bytes);
    int result = map(memory, bytes, flags, origin, made);
    if (result)
        free(memory);
    else
        host_bytes += bytes;
    return result;
}

/* ---- The device's ------------------------------------------------------------------------------------------------ */

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    ENTER(cuMemGetInfo_v2);
    *free_bytes = cu.device->memory_bytes - emu_device_allocated(cu.device);
    *total = cu.device->memory_bytes;
    return CUDA_SUCCESS;
}

static int alloc(uint64_t *address, size_t bytes)
{
    struct tw_error error;
    if (!address || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    int status = tw_device_alloc(cu.device, bytes, address, &error);
    return status == TW_ERROR_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : cu_result(status, &error);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    ENTER(cuMemAlloc_v2);
    return alloc(address, bytes);
}

int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
    ENTER(cuMemAllocPitch_v2);
    enum { UNIT = 512 };
    (void)element;
    if (!pitch || !width || !height)
        return CUDA_ERROR_INVALID_VALUE;
    if (width > SIZE_MAX - UNIT || (width + UNIT - 1) / UNIT * UNIT > SIZE_MAX / height)
        return cu_refuse(CUDA_ERROR_OUT_OF_MEMORY, "%zu rows of %zu bytes", height, width);
    *pitch = (width + UNIT - 1) / UNIT * UNIT;
    return alloc(address, *pitch * height);
}

static int release(uint64_t address)
{
    uint64_t base;
    size_t bytes;
    struct mapped **mapped = find_mapped(address);
    if (!address)
        return CUDA_SUCCESS;
    if (mapped && (*mapped)->origin == MANAGED && (*mapped)->address == address) {
        unmap(mapped);
        return CUDA_SUCCESS;
    }
    if (mapped || emu_device_range(cu.device, address, &base, &bytes) || base != address)
        return cu_refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx was not allocated, or was freed before",
                         (unsigned long long)address);
    tw_device_free(cu.device, address);
    return emu_device_range(cu.device, address, &base, &bytes)
               ? CUDA_SUCCESS
               : cu_refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is a variable of a module", (unsigned long long)address);
}

int cuMemFree_v2(uint64_t address)
{
    ENTER(cuMemFree_v2);
    return release(address);
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address)
{
    ENTER(cuMemGetAddressRange_v2);
    uint64_t first;
    size_t count;
    if (emu_device_range(cu.device, address, &first, &count))
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = first;
    if (bytes)
        *bytes = count;
    return CUDA_SUCCESS;
}

/* ---- The host's -------------------------------------------------------------------------------------------------- */

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    ENTER(cuMemHostAlloc);
    struct mapped *made;
    int result = host_alloc(bytes, flags, FROM_HOST, &made);
    if (!result)
        *memory = made->memory;
    return result;
}

int cuMemAllocHost_v2(void **memory, size_t bytes)
{
    return cuMemHostAlloc(memory, bytes, 0);
}

int cuMemFreeHost(void *memory)
{
    ENTER(cuMemFreeHost);
    struct mapped **at = memory ? find_mapped((uint64_t)(uintptr_t)memory) : NULL;
    if (!memory)
        return CUDA_SUCCESS;
    if (!at || (*at)->memory != memory || (*at)->origin != FROM_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    unmap(at);
    return CUDA_SUCCESS;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    ENTER(cuMemHostGetDevicePointer_v2);
    struct mapped **at = find_mapped((uint64_t)(uintptr_t)memory);
    (void)flags;
    if (!at)
        return CUDA_ERROR_INVALID_VALUE;
    *address = (*at)->address + (uint64_t)((unsigned char *)memory - (unsigned char *)(*at)->memory);
    return CUDA_SUCCESS;
}

int cuMemHostGetFlags(unsigned *flags, void *memory)
{
    ENTER(cuMemHostGetFlags);
    struct mapped **at = find_mapped((uint64_t)(uintptr_t)memory);
    if (!at)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = (*at)->flags;
    return CUDA_SUCCESS;
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    ENTER(cuMemHostRegister_v2);
    struct mapped *made;
    if (!memory || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (find_mapped((uint64_t)(uintptr_t)memory))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    return map(memory, bytes, flags, REGISTERED, &made);
}

int cuMemHostUnregister(void *memory)
{
    ENTER(cuMemHostUnregister);
    struct mapped **at = find_mapped((uint64_t)(uintptr_t)memory);
    if (!at || (*at)->origin != REGISTERED)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    unmap(at);
    return CUDA_SUCCESS;
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    ENTER(cuMemAllocManaged);
    struct mapped *made;
    int result = host_alloc(bytes, flags, MANAGED, &made);
    if (result)
        return result;
    if (made->address != (uint64_t)(uintptr_t)made->memory) {
        unmap(find_mapped(made->address));
        return cu_refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host's memory lies where the device has none of its own");
    }
    *address = made->address;
    return CUDA_SUCCESS;
}

/* Managed memory is the host's; where it would lie better makes no difference. */
int cuMemAdvise(uint64_t address, size_t bytes, int advice, int device)
{
    ENTER(cuMemAdvise);
    (void)address, (void)bytes, (void)advice, (void)device;
    return CUDA_SUCCESS;
}

int cuMemAdvise_v2(uint64_t address, size_t bytes, int advice, struct cu_memory_location where)
{
    return cuMemAdvise(address, bytes, advice, where.id);
}

int cuMemPrefetchAsync(uint64_t address, size_t bytes, int device, struct cu_stream *stream)
{
    ENTER(cuMemPrefetchAsync);
    (void)address, (void)bytes, (void)device, (void)stream;
    return CUDA_SUCCESS;
}

int cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, struct cu_memory_location where, unsigned flags,
                          struct cu_stream *stream)
{
    (void)flags;
    return cuMemPrefetchAsync(address, bytes, where.id, stream);
}

int cuStreamAttachMemAsync(struct cu_stream *stream, uint64_t address, size_t bytes, unsigned flags)
{
    ENTER(cuStreamAttachMemAsync);
    (void)stream, (void)address, (void)bytes, (void)flags;
    return CUDA_SUCCESS;
}

/* ---- Pools: all allocate and free at once ------------------------------------------------------------------------ */

struct cu_memory_pool {
    uint64_t attributes[16]; /* CUmemPool_attribute */
};
static struct cu_memory_pool default_pool, *current_pool = &default_pool;

/* An allocation in a graph would need an address before it is launched. */
static int captures(struct cu_stream *stream)
{
    return cu_stream_of(stream)->capture
               ? cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "memory is not allocated or freed by graphs here")
               : CUDA_SUCCESS;
}

int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, struct cu_memory_pool *pool, struct cu_stream *stream)
{
    ENTER(cuMemAllocFromPoolAsync);
    (void)pool;
    int result = captures(stream);
    return result ? result : alloc(address, bytes);
}

int cuMemAllocAsync(uint64_t *address, size_t bytes, struct cu_stream *stream)
{
    return cuMemAllocFromPoolAsync(address, bytes, current_pool, stream);
}

int cuMemFreeAsync(uint64_t address, struct cu_stream *stream)
{
    ENTER(cuMemFreeAsync);
    int result = captures(stream);
    return result ? result : release(address);
}

int cuDeviceGetDefaultMemPool(struct cu_memory_pool **pool, int device)
{
    ENTER_ANY(cuDeviceGetDefaultMemPool);
    *pool = &default_pool;
    return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuDeviceGetMemPool(struct cu_memory_pool **pool, int device)
{
    ENTER_ANY(cuDeviceGetMemPool);
    *pool = current_pool;
    return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuDeviceSetMemPool(int device, struct cu_memory_pool *pool)
{
    ENTER_ANY(cuDeviceSetMemPool);
    current_pool = pool ? pool : &default_pool;
    return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuMemPoolCreate(struct cu_memory_pool **pool, const void *properties)
{
    ENTER(cuMemPoolCreate);
    (void)properties;
    *pool = calloc(1, sizeof **pool);
    return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

int cuMemPoolDestroy(struct cu_memory_pool *pool)
{
    ENTER(cuMemPoolDestroy);
    if (!pool || pool == &default_pool)
        return CUDA_ERROR_INVALID_VALUE;
    if (pool == current_pool)
        current_pool = &default_pool;
    free(pool);
    return CUDA_SUCCESS;
}

int cuMemPoolTrimTo(struct cu_memory_pool *pool, size_t keep)
{
    ENTER(cuMemPoolTrimTo);
    (void)pool, (void)keep;
    return CUDA_SUCCESS;
}

/* The first three attributes are ints, the others 64 bits wide. */
int cuMemPoolSetAttribute(struct cu_memory_pool *pool, int attribute, void *value)
{
    ENTER(cuMemPoolSetAttribute);
    if (attribute < 1 || attribute >= 16)
        return CUDA_ERROR_INVALID_VALUE;
    pool->attributes[attribute] = 0;
    memcpy(&pool->attributes[attribute], value, attribute <= 3 ? sizeof(int) : sizeof(uint64_t));
    return CUDA_SUCCESS;
}

int cuMemPoolGetAttribute(struct cu_memory_pool *pool, int attribute, void *value)
{
    ENTER(cuMemPoolGetAttribute);
    if (attribute < 1 || attribute >= 16)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(value, &pool->attributes[attribute], attribute <= 3 ? sizeof(int) : sizeof(uint64_t));
    return CUDA_SUCCESS;
}

int cuMemPoolSetAccess(struct cu_memory_pool *pool, const void *access, size_t count)
{
    ENTER(cuMemPoolSetAccess);
    (void)pool, (void)access, (void)count;
    return CUDA_SUCCESS;
}

/* ---- What an address is ------------------------------------------------------------------------------------------ */

/* CUpointer_attribute */
enum {
    OF_CONTEXT = 1,
    OF_TYPE = 2,
    OF_DEVICE_POINTER = 3,
    OF_HOST_POINTER = 4,
    OF_BUFFER = 7,
    OF_MANAGED = 8,
    OF_ORDINAL = 9,
    OF_START = 11,
    OF_BYTES = 12,
    OF_MAPPED = 13,
    OF_ALLOWED_HANDLES = 14,
};

struct address_info {
    int known, type, managed;
    uint64_t device, host, start;
    size_t bytes;
};

static struct address_info look(uint64_t address)
{
    struct address_info info = {0};
    struct mapped **at = find_mapped(address);
    info.known = at || !emu_device_range(cu.device, address, &info.start, &info.bytes);
    if (!info.known)
        return info;
    info.type = MEMORY_DEVICE;
    info.device = address;
    if (at) {
        const struct mapped *m = *at;
        uint64_t own = (uint64_t)(uintptr_t)m->memory;
        uint64_t offset = address - own < m->bytes ? address - own : address - m->address;
        info.managed = m->origin == MANAGED;
        info.type = info.managed ? MEMORY_DEVICE : MEMORY_HOST;
        info.device = m->address + offset;
        info.host = own + offset;
        info.start = m->address;
        info.bytes = m->bytes;
    }
    return info;
}

/* 1: an attribute that is not known here. */
static int tell(const struct address_info *info, void *value, int attribute)
{
    switch (attribute) {
    case OF_CONTEXT:
        *(void **)value = info->known ? cu_context_current() : NULL;
        return 0;
    case OF_TYPE:
        *(int *)value = info->type;
        return 0;
    case OF_DEVICE_POINTER:
        *(uint64_t *)value = info->device;
        return 0;
    case OF_HOST_POINTER:
        *(uint64_t *)value = info->host;
        return 0;
    case OF_BUFFER:
    case OF_START:
        *(uint64_t *)value = info->start;
        return 0;
    case OF_MANAGED:
        *(unsigned char *)value = (unsigned char)info->managed;
        return 0;
    case OF_ORDINAL:
        *(int *)value = info->known ? 0 : -2; /* of no device */
        return 0;
    case OF_BYTES:
        *(size_t *)value = info->bytes;
        return 0;
    case OF_MAPPED:
        *(unsigned char *)value = (unsigned char)info->known;
        return 0;
    case OF_ALLOWED_HANDLES:
        *(uint64_t *)value = 0;
        return 0;
    default:
        return 1;
    }
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    ENTER(cuPointerGetAttribute);
    struct address_info info = look(address);
    if (!info.known)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == OF_HOST_POINTER && !info.host)
        return CUDA_ERROR_INVALID_VALUE;
    return tell(&info, value, attribute) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

/* Of an address that nobody knows all of them are 0, and it is no error. */
int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uint64_t address)
{
    ENTER(cuPointerGetAttributes);
    struct address_info info = look(address);
    for (unsigned i = 0; i < count; i++)
        if (tell(&info, values[i], attributes[i]))
            return cu_refuse(CUDA_ERROR_NOT_SUPPORTED, "attribute %d of an address", attributes[i]);
    return CUDA_SUCCESS;
}
