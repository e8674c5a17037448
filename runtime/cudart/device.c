/* Devices, errors, and what is missing. */
#include <stdio.h>
#include <string.h>

#include "cudart.h"

enum { VERSION = 13000 };

static _Thread_local int last;

int rt_last(int error)
{
    /* cudaErrorNotReady is an answer. */
    if (error && error != cudaErrorNotReady)
        last = error;
    return error;
}

int rt_begin(void)
{
    struct cu_context *context;
    int result = cuInit(0);
    if (!result)
        result = cuCtxGetCurrent(&context);
    if (result || context)
        return result;
    result = cuDevicePrimaryCtxRetain(&context, 0);
    return result ? result : cuCtxSetCurrent(context);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static const struct {
    int number;
    const char *name, *words;
} errors[] = {
#define ERROR(name, number, words) {number, #name, words},
#include "errors.def"
#undef ERROR
};

const char *cudaGetErrorName(int error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(int error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error && errors[i].words)
            return errors[i].words;
    return cudaGetErrorName(error);
}

int cudaPeekAtLastError(void)
{
    return last;
}

int cudaGetLastError(void)
{
    int error = last;
    last = 0;
    return error;
}

static int missing(const char *entry)
{
    fflush(stdout);
    fprintf(stderr, "tilewright: %s: the emulated runtime has no such entry point\n", entry);
    return rt_last(cudaErrorNotSupported);
}

#define CALL(result, entry, arguments)
#define MISSING(entry)                                                                                                 \
    __attribute__((visibility("default"))) int entry(void);                                                            \
    int entry(void)                                                                                                    \
    {                                                                                                                  \
        return missing(#entry);                                                                                        \
    }
#include "calls.def"
#undef CALL
#undef MISSING

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

int cudaRuntimeGetVersion(int *version)
{
    *version = VERSION;
    return cudaSuccess;
}

int cudaDriverGetVersion(int *version)
{
    return rt_last(cuDriverGetVersion(version));
}

int cudaGetDeviceCount(int *count)
{
    BEGIN;
    return rt_last(cuDeviceGetCount(count));
}

int cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

int cudaSetDevice(int device)
{
    BEGIN;
    return rt_last(device ? cudaErrorInvalidDevice : cudaSuccess);
}

int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return cudaSetDevice(device);
}

int cudaChooseDevice(int *device, const void *properties)
{
    (void)properties;
    return cudaGetDevice(device);
}

struct properties {
    char name[256];
    cu_uuid uuid;
    char luid[8];
    unsigned luid_mask;
#define PROPERTY(type, field, first) type field;
#define PROPERTIES(field, count, first) int field[count];
#include "properties.def"
#undef PROPERTY
#undef PROPERTIES
    int more[55];
};

static int attribute(int number)
{
    int value = 0;
    if (number)
        cuDeviceGetAttribute(&value, number, 0);
    return value;
}

int cudaGetDeviceProperties(void *properties, int device)
{
    BEGIN;
    struct properties *p = properties;
    if (device)
        return rt_last(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
#define PROPERTY(type, field, first) p->field = (type)attribute(first);
#define PROPERTIES(field, count, first)                                                                                \
    for (int i = 0; i < count; i++)                                                                                    \
        p->field[i] = attribute(first + i);
#include "properties.def"
#undef PROPERTY
#undef PROPERTIES
    cuDeviceGetName(p->name, sizeof p->name, 0);
    cuDeviceGetUuid(&p->uuid, 0);
    return rt_last(cuDeviceTotalMem_v2(&p->total_memory, 0));
}

int cudaDeviceGetAttribute(int *value, int number, int device)
{
    BEGIN;
    return rt_last(cuDeviceGetAttribute(value, number, device)); /* cudaDeviceAttr has the driver's numbers */
}

int cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    BEGIN;
    return rt_last(cuDeviceGetPCIBusId(text, bytes, device));
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    BEGIN;
    return rt_last(cuDeviceCanAccessPeer(can, device, peer));
}

int cudaDeviceSynchronize(void)
{
    BEGIN;
    return rt_last(cuCtxSynchronize());
}

int cudaDeviceReset(void)
{
    BEGIN;
    last = 0;
    return rt_last(cuDevicePrimaryCtxReset_v2(0));
}

int cudaSetDeviceFlags(unsigned flags)
{
    BEGIN;
    return rt_last(cuDevicePrimaryCtxSetFlags_v2(0, flags));
}

int cudaGetDeviceFlags(unsigned *flags)
{
    BEGIN;
    return rt_last(cuCtxGetFlags(flags));
}

int cudaDeviceSetLimit(int limit, size_t value)
{
    BEGIN;
    return rt_last(cuCtxSetLimit(limit, value));
}

int cudaDeviceGetLimit(size_t *value, int limit)
{
    BEGIN;
    return rt_last(cuCtxGetLimit(value, limit));
}

int cudaDeviceSetCacheConfig(int config)
{
    BEGIN;
    return rt_last(cuCtxSetCacheConfig(config));
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    BEGIN;
    return rt_last(cuCtxGetStreamPriorityRange(least, greatest));
}

int cudaCtxResetPersistingL2Cache(void)
{
    BEGIN;
    return rt_last(cuCtxResetPersistingL2Cache());
}

int cudaProfilerStart(void)
{
    BEGIN;
    return rt_last(cuProfilerStart());
}

int cudaProfilerStop(void)
{
    BEGIN;
    return rt_last(cuProfilerStop());
}

int cudaGetDriverEntryPointByVersion(const char *name, void **entry, unsigned version, unsigned long long flags,
                                     int *status)
{
    BEGIN;
    int found = 0;
    int result = cuGetProcAddress_v2(name, entry, (int)version, flags, &found);
    if (status)
        *status = found;
    return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : rt_last(result); /* status tells */
}

int cudaGetDriverEntryPoint(const char *name, void **entry, unsigned long long flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(name, entry, VERSION, flags, status);
}
