/* The emulated device, and contexts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "internal.h"

enum { VERSION = 13000, DEPTH = 64 };

/* Contexts that the thread has pushed; the last is current. */
static _Thread_local struct cu_context *pushed[DEPTH];
static _Thread_local int depth;

struct cu_context *cu_context_current(void)
{
    return depth ? pushed[depth - 1] : NULL;
}

/* CUresult of a handle. */
static int check(const struct cu_context *context)
{
    if (context == &cu.primary)
        return CUDA_SUCCESS;
    for (const struct cu_context *c = cu.contexts; c; c = c->next)
        if (c == context)
            return c->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
    return CUDA_ERROR_INVALID_CONTEXT;
}

/* The same, NULL being the current context. */
static int check_or_current(const struct cu_context *context)
{
    return check(context ? context : cu_context_current());
}

/* ---- The device -------------------------------------------------------------------------------------------------- */

int cuInit(unsigned flags)
{
    ENTER_FIRST(cuInit);
    struct emu_options options = {0};
    struct tw_error error;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (cu.device)
        return CUDA_SUCCESS;
    int result = cu_options(&options);
    if (result)
        return result;
    if (tw_runtime_init(&cu.rt, &error))
        return cu_refuse(CUDA_ERROR_NOT_INITIALIZED, "%s", error.text);
    if (tw_device_open_emu(&cu.rt, &options, &cu.device, &error))
        return cu_refuse(CUDA_ERROR_NO_DEVICE, "%s", error.text);
    cu_record_start();
    return CUDA_SUCCESS;
}

int cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = VERSION;
    return CUDA_SUCCESS;
}

int cuDeviceGetCount(int *count)
{
    ENTER_ANY(cuDeviceGetCount);
    *count = 1;
    return CUDA_SUCCESS;
}

int cuDeviceGet(int *device, int ordinal)
{
    ENTER_ANY(cuDeviceGet);
    *device = 0;
    return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    ENTER_ANY(cuDeviceGetName);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, bytes > 0 ? (size_t)bytes : 0, "Tilewright %s", cu.device->name);
    return CUDA_SUCCESS;
}

int cuDeviceGetUuid(cu_uuid *uuid, int device)
{
    ENTER_ANY(cuDeviceGetUuid);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, "tilewright-emu-0", sizeof uuid->bytes);
    return CUDA_SUCCESS;
}

int cuDeviceGetUuid_v2(cu_uuid *uuid, int device)
{
    return cuDeviceGetUuid(uuid, device);
}

int cuDeviceGetLuid(char *luid, unsigned *mask, int device)
{
    (void)luid, (void)mask, (void)device;
    return CUDA_ERROR_NOT_SUPPORTED; /* as on Linux */
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER_ANY(cuDeviceTotalMem_v2);
    *bytes = cu.device->memory_bytes;
    return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    ENTER_ANY(cuDeviceGetAttribute);
    const struct tw_device *d = cu.device;
    const struct tw_architecture *arch = tw_architecture_find(d->arch);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!value || attribute < 1)
        return CUDA_ERROR_INVALID_VALUE;
    const struct {
        int number, value;
    } rows[] = {
#define ATTRIBUTE(number, value) {number, value},
#include "attributes.def"
#undef ATTRIBUTE
    };
    *value = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == attribute)
            *value = rows[i].value;
    return CUDA_SUCCESS;
}

int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    ENTER_ANY(cuDeviceComputeCapability);
    *major = cu.device->major;
    *minor = cu.device->minor;
    return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuDeviceGetPCIBusId(char *text, int bytes, int device)
{
    ENTER_ANY(cuDeviceGetPCIBusId);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(text, bytes > 0 ? (size_t)bytes : 0, "0000:01:00.0");
    return CUDA_SUCCESS;
}

int cuDeviceGetByPCIBusId(int *device, const char *text)
{
    ENTER_ANY(cuDeviceGetByPCIBusId);
    *device = 0;
    return strstr(text, "01:00.0") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    ENTER_ANY(cuDeviceCanAccessPeer);
    *can = 0;
    return device || peer ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
    (void)attribute;
    return cuDeviceCanAccessPeer(value, device, peer);
}

/* ---- Primary contexts -------------------------------------------------------------------------------------------- */

int cuDevicePrimaryCtxRetain(struct cu_context **context, int device)
{
    ENTER_ANY(cuDevicePrimaryCtxRetain);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    cu.primary.retained++;
    *context = &cu.primary;
    return CUDA_SUCCESS;
}

/* What was allocated stays until the process ends. */
int cuDevicePrimaryCtxRelease_v2(int device)
{
    ENTER_ANY(cuDevicePrimaryCtxRelease_v2);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!cu.primary.retained)
        return CUDA_ERROR_INVALID_CONTEXT;
    cu.primary.retained--;
    return CUDA_SUCCESS;
}

int cuDevicePrimaryCtxRelease(int device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

/* A context that a kernel broke works again. */
int cuDevicePrimaryCtxReset_v2(int device)
{
    ENTER_ANY(cuDevicePrimaryCtxReset_v2);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    cu.broken = 0;
    return CUDA_SUCCESS;
}

int cuDevicePrimaryCtxReset(int device)
{
    return cuDevicePrimaryCtxReset_v2(device);
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    ENTER_ANY(cuDevicePrimaryCtxSetFlags_v2);
    cu.primary.flags = flags;
    return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

int cuDevicePrimaryCtxSetFlags(int device, unsigned flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ENTER_ANY(cuDevicePrimaryCtxGetState);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = cu.primary.flags;
    *active = cu.primary.retained > 0;
    return CUDA_SUCCESS;
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

static int room(void)
{
    return depth == DEPTH ? cu_refuse(CUDA_ERROR_INVALID_VALUE, "more than %d contexts are pushed", DEPTH)
                          : CUDA_SUCCESS;
}

/* Contexts have one device and its memory in common. */
int cuCtxCreate_v2(struct cu_context **context, unsigned flags, int device)
{
    ENTER_ANY(cuCtxCreate_v2);
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    int result = room();
    if (result)
        return result;
    struct cu_context *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->flags = flags;
    made->retained = 1;
    made->next = cu.contexts;
    cu.contexts = pushed[depth++] = *context = made;
    return CUDA_SUCCESS;
}

int cuCtxCreate_v3(struct cu_context **context, void *affinity, int count, unsigned flags, int device)
{
    (void)affinity;
    return count ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : cuCtxCreate_v2(context, flags, device);
}

int cuCtxCreate_v4(struct cu_context **context, void *params, unsigned flags, int device)
{
    return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

/* Where it is pushed below the current context, or in another thread, it stays so: calls there say that it was
   destroyed. */
int cuCtxDestroy_v2(struct cu_context *context)
{
    ENTER_ANY(cuCtxDestroy_v2);
    int result = context == &cu.primary ? CUDA_ERROR_INVALID_CONTEXT : check(context);
    if (result)
        return result;
    if (cu_context_current() == context)
        depth--;
    context->destroyed = 1;
    return CUDA_SUCCESS;
}

int cuCtxPushCurrent_v2(struct cu_context *context)
{
    ENTER_ANY(cuCtxPushCurrent_v2);
    int result = check(context);
    if (!result && !(result = room()))
        pushed[depth++] = context;
    return result;
}

int cuCtxPopCurrent_v2(struct cu_context **context)
{
    ENTER_ANY(cuCtxPopCurrent_v2);
    if (!depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (context)
        *context = pushed[depth];
    return CUDA_SUCCESS;
}

int cuCtxSetCurrent(struct cu_context *context)
{
    ENTER_ANY(cuCtxSetCurrent);
    int result = context ? check(context) : CUDA_SUCCESS;
    if (result)
        return result;
    depth -= depth > 0;
    if (context)
        pushed[depth++] = context;
    return CUDA_SUCCESS;
}

int cuCtxGetCurrent(struct cu_context **context)
{
    ENTER_ANY(cuCtxGetCurrent);
    *context = cu_context_current();
    return CUDA_SUCCESS;
}

int cuCtxGetDevice(int *device)
{
    ENTER_ANY(cuCtxGetDevice);
    *device = 0;
    return check(cu_context_current());
}

int cuCtxGetDevice_v2(int *device, struct cu_context *context)
{
    ENTER_ANY(cuCtxGetDevice_v2);
    *device = 0;
    return check_or_current(context);
}

int cuCtxGetFlags(unsigned *flags)
{
    ENTER(cuCtxGetFlags);
    *flags = cu_context_current()->flags;
    return CUDA_SUCCESS;
}

int cuCtxSetFlags(unsigned flags)
{
    ENTER(cuCtxSetFlags);
    cu_context_current()->flags = flags;
    return CUDA_SUCCESS;
}

int cuCtxGetId(struct cu_context *context, uint64_t *number)
{
    ENTER_ANY(cuCtxGetId);
    *number = (uint64_t)(uintptr_t)(context ? context : cu_context_current());
    return check_or_current(context);
}

int cuCtxGetApiVersion(struct cu_context *context, unsigned *version)
{
    ENTER_ANY(cuCtxGetApiVersion);
    *version = 3020;
    return check_or_current(context);
}

int cuCtxSynchronize(void)
{
    ENTER(cuCtxSynchronize);
    return CUDA_SUCCESS;
}

int cuCtxSynchronize_v2(struct cu_context *context)
{
    ENTER_ANY(cuCtxSynchronize_v2);
    int result = check_or_current(context);
    return result ? result : cu.broken;
}

/* ---- What a context has for tuning ------------------------------------------------------------------------------- */

/* CUlimit, of which the emulator has the heap of kernels' malloc; its stacks are as deep as any kernel may ask for. */
enum { LIMIT_HEAP = 2, LIMITS = 16 };
static size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

int cuCtxSetLimit(int limit, size_t value)
{
    ENTER(cuCtxSetLimit);
    if (limit < 0 || limit >= LIMITS)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    limits[limit] = value;
    if (limit == LIMIT_HEAP)
        emu_device_set_heap(cu.device, value);
    return CUDA_SUCCESS;
}

int cuCtxGetLimit(size_t *value, int limit)
{
    ENTER(cuCtxGetLimit);
    if (limit < 0 || limit >= LIMITS)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = limits[limit];
    return CUDA_SUCCESS;
}

int cuCtxGetCacheConfig(int *config)
{
    ENTER(cuCtxGetCacheConfig);
    *config = 0;
    return CUDA_SUCCESS;
}

int cuCtxSetCacheConfig(int config)
{
    ENTER(cuCtxSetCacheConfig);
    (void)config;
    return CUDA_SUCCESS;
}

int cuCtxGetSharedMemConfig(int *config)
{
    ENTER(cuCtxGetSharedMemConfig);
    *config = 1; /* banks of four bytes */
    return CUDA_SUCCESS;
}

int cuCtxSetSharedMemConfig(int config)
{
    ENTER(cuCtxSetSharedMemConfig);
    (void)config;
    return CUDA_SUCCESS;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER(cuCtxGetStreamPriorityRange);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

int cuCtxResetPersistingL2Cache(void)
{
    ENTER(cuCtxResetPersistingL2Cache);
    return CUDA_SUCCESS;
}

int cuCtxEnablePeerAccess(struct cu_context *peer, unsigned flags)
{
    ENTER(cuCtxEnablePeerAccess);
    (void)peer, (void)flags;
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; /* there is one device */
}

int cuCtxDisablePeerAccess(struct cu_context *peer)
{
    ENTER(cuCtxDisablePeerAccess);
    (void)peer;
    return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

int cuProfilerStart(void)
{
    ENTER(cuProfilerStart);
    return CUDA_SUCCESS;
}

int cuProfilerStop(void)
{
    ENTER(cuProfilerStop);
    return CUDA_SUCCESS;
}
