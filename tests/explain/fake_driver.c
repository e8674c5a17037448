// A libcuda.so.1 for machines without one: it loads CUDA_INJECTION64_PATH in cuInit as the driver does, shows every
// encode call to the CUPTI beside it (fake_cupti.c), and answers what fake_answer was told.
//   FAKE_CC=10.0      the current device's compute capability; unset: no context is current
//   FAKE_CLOSE=1      the injected library is closed again
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/cupti_abi.h"
#include "fake.h"

// Set by fake_cupti.c when somebody subscribes.
void (*fake_hook)(int site, uint32_t cbid, const char *name, const void *parameters, int *result);

static _Thread_local int answer;

void fake_answer(int result)
{
    answer = result;
}

int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    void *address = library ? dlsym(library, "InitializeInjection") : NULL;
    int (*initialize)(void);
    (void)flags;
    if (path && !address)
        fprintf(stderr, "fake driver: %s\n", dlerror());
    memcpy(&initialize, &address, sizeof address);
    if (address && initialize() != 1)
        fprintf(stderr, "fake driver: InitializeInjection does not return 1\n");
    if (library && getenv("FAKE_CLOSE"))
        dlclose(library);
    return 0;
}

struct host_function {
    void (*function)(void *);
    void *user;
};

static void *work(void *user)
{
    struct host_function *host = user;
    host->function(host->user);
    return host;
}

// In a thread of the driver's, as on a GPU; done when it returns.
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user)
{
    struct host_function host = {function, user};
    pthread_t thread;
    (void)stream;
    if (pthread_create(&thread, NULL, work, &host))
        return 999;
    pthread_join(thread, NULL);
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuCtxGetDevice(int *device)
{
    *device = 3;
    return getenv("FAKE_CC") ? 0 : 201;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const char *cc = getenv("FAKE_CC"), *dot = cc ? strchr(cc, '.') : NULL;
    if (device != 3 || !dot || (attribute != 75 && attribute != 76))
        return 1;
    *value = atoi(attribute == 75 ? cc : dot + 1);
    return 0;
}

static int show(uint32_t cbid, const char *name, const void *parameters)
{
    int result = answer;
    if (fake_hook)
        fake_hook(0, cbid, name, parameters, &result);
    if (fake_hook)
        fake_hook(1, cbid, name, parameters, &result);
    return result;
}

int cuTensorMapEncodeTiled(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                           const uint64_t *stride, const uint32_t *box, const uint32_t *estride, int interleave,
                           int swizzle, int l2, int oob)
{
    struct cupti_tiled p = {map, dtype, rank, address, dim, stride, box, estride, interleave, swizzle, l2, oob};
    return show(697, __func__, &p);
}

int cuTensorMapEncodeIm2col(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                            const uint64_t *stride, const int *lower, const int *upper, uint32_t channels,
                            uint32_t pixels, const uint32_t *estride, int interleave, int swizzle, int l2, int oob)
{
    struct cupti_im2col p = {map,      dtype,  rank,    address,    dim,     stride, lower, upper,
                             channels, pixels, estride, interleave, swizzle, l2,     oob};
    return show(698, __func__, &p);
}

int cuTensorMapEncodeIm2colWide(void *map, int dtype, uint32_t rank, void *address, const uint64_t *dim,
                                const uint64_t *stride, int lower, int upper, uint32_t channels, uint32_t pixels,
                                const uint32_t *estride, int interleave, int mode, int swizzle, int l2, int oob)
{
    struct cupti_im2col_wide p = {map,      dtype,  rank,    address,    dim,  stride,  lower, upper,
                                  channels, pixels, estride, interleave, mode, swizzle, l2,    oob};
    return show(781, __func__, &p);
}
