/* What nvcc's host code registers before main: fat binaries, and the addresses in the program by which their kernels
   and variables are meant. A fat binary is loaded when something of it is first used. */
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart.h"

struct fatbin {
    const void *wrapper;
    struct cu_module *module; /* NULL: not loaded yet */
    int result;               /* of loading it, where that failed */
};

struct symbol {
    const void *host; /* first: the key */
    struct fatbin *fatbin;
    const char *name;
    int is_kernel, is_managed;
    struct cu_function *kernel; /* NULL: not looked up yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;    /* of the tree */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER; /* of what fat binaries and symbols have loaded */
static void *symbols;                                       /* a tree (search.h) */

static int compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct symbol *)a)->host, y = (uintptr_t)((const struct symbol *)b)->host;
    return (x > y) - (x < y);
}

static void add(struct symbol of)
{
    struct symbol *made = malloc(sizeof *made);
    if (!made)
        abort(); /* nobody could be told before main */
    *made = of;
    pthread_mutex_lock(&lock);
    struct symbol **at = tsearch(made, &symbols, compare);
    if (!at)
        abort();
    if (*at != made) {
        **at = of;
        free(made);
    }
    pthread_mutex_unlock(&lock);
}

static struct symbol *find(const void *host)
{
    const struct symbol key = {.host = host};
    pthread_mutex_lock(&lock);
    struct symbol **at = tfind(&key, &symbols, compare);
    pthread_mutex_unlock(&lock);
    return at ? *at : NULL;
}

static struct fatbin *fatbin_of(void **handle)
{
    return (struct fatbin *)(void *)handle;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct fatbin *made = calloc(1, sizeof *made);
    if (!made)
        abort();
    made->wrapper = wrapper;
    return (void **)(void *)made;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* Its symbols stay: the process ends. */
void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
                            void *block, void *block_dim, void *grid_dim, int *warp)
{
    (void)device, (void)limit, (void)thread, (void)block, (void)block_dim, (void)grid_dim, (void)warp;
    add((struct symbol){.host = host, .fatbin = fatbin_of(handle), .name = name, .is_kernel = 1});
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    add((struct symbol){.host = host, .fatbin = fatbin_of(handle), .name = name});
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
                              int constant, int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    add((struct symbol){.host = host, .fatbin = fatbin_of(handle), .name = name, .is_managed = 1});
    fprintf(stderr, "tilewright: __managed__ variable %s: not emulated; use cudaMallocManaged\n", name);
}

/* One thread loads the fat binary, and looks the kernel up; others wait for it. */
static int load(struct symbol *symbol)
{
    struct fatbin *fatbin = symbol->fatbin;
    pthread_mutex_lock(&loading);
    if (!fatbin->module && !fatbin->result)
        fatbin->result = cuLibraryLoadData(&fatbin->module, fatbin->wrapper, NULL, NULL, 0, NULL, NULL, 0);
    int result = fatbin->result;
    if (!result && symbol->is_kernel && !symbol->kernel)
        result = cuLibraryGetKernel(&symbol->kernel, fatbin->module, symbol->name);
    pthread_mutex_unlock(&loading);
    return result;
}

int rt_kernel(const void *host, struct cu_function **kernel)
{
    struct symbol *symbol = find(host);
    if (!symbol || !symbol->is_kernel) {
        *kernel = (struct cu_function *)(uintptr_t)host;
        return cuFuncIsKnown(*kernel) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
    }
    int result = load(symbol);
    *kernel = symbol->kernel;
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : result;
}

int rt_variable(const void *host, uint64_t *address, size_t *bytes)
{
    struct symbol *symbol = find(host);
    if (!symbol || symbol->is_kernel)
        return cudaErrorInvalidSymbol;
    int result = load(symbol);
    if (!result)
        result = cuLibraryGetGlobal(address, bytes, symbol->fatbin->module, symbol->name);
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : result;
}

int cudaGetKernel(struct cu_function **kernel, const void *host)
{
    BEGIN;
    return rt_last(rt_kernel(host, kernel));
}

int __cudaGetKernel(struct cu_function **kernel, const void *host)
{
    return cudaGetKernel(kernel, host);
}

int cudaGetFuncBySymbol(struct cu_function **function, const void *host)
{
    return cudaGetKernel(function, host);
}

int cudaGetSymbolAddress(void **address, const void *symbol)
{
    BEGIN;
    uint64_t at = 0;
    size_t bytes;
    int result = rt_variable(symbol, &at, &bytes);
    *address = (void *)(uintptr_t)at;
    return rt_last(result);
}

int cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    BEGIN;
    uint64_t at;
    return rt_last(rt_variable(symbol, &at, bytes));
}
