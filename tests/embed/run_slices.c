/* tile_copy_192 of specs/tile_copy.lua on slices that lie anywhere, each in memory of its own, forwards and backwards.
 * Through libcuda alone, which is opened here: a GPU's, or the emulator's by `tilewright run-program`. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile_copy_192.h"

enum { SLICES = 96, ROWS = 70, COLUMNS = 72, ELEMENTS = ROWS * COLUMNS };

#define CALLS                                                                                                          \
    CALL(cuInit, cuInit, (unsigned flags))                                                                             \
    CALL(context_retain, cuDevicePrimaryCtxRetain, (void **context, int device))                                       \
    CALL(context_set, cuCtxSetCurrent, (void *context))                                                                \
    CALL(allocate, cuMemAlloc_v2, (uint64_t * address, size_t bytes))                                                  \
    CALL(upload, cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                                       \
    CALL(download, cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))

static struct {
#define CALL(name, entry, arguments) int(*name) arguments;
    CALLS
#undef CALL
} cuda;

static struct tile_copy_192 kernel;

static void must(int result, const char *what)
{
    if (result) {
        printf("%s: %d\n", what, result);
        exit(1);
    }
}

static uint16_t element(int slice, int i)
{
    return (uint16_t)(slice * 211 + i * 7);
}

int main(void)
{
    static uint16_t host[ELEMENTS];
    static const void *from[SLICES];
    static void *to[SLICES];
    struct tile_copy_192_error error;
    struct tile_copy_192_args args;
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    uint64_t address;
    int s, i, wrong = 0;
    must(!library, "libcuda.so.1 is not there");
#define CALL(name, entry, arguments)                                                                                   \
    *(void **)&cuda.name = dlsym(library, #entry);                                                                     \
    must(!cuda.name, #entry);
    CALLS
#undef CALL
    must(cuda.cuInit(0), "cuInit");
    must(cuda.context_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(cuda.context_set(context), "cuCtxSetCurrent");
    for (s = 0; s < SLICES; s++) {
        must(cuda.allocate(&address, sizeof host), "cuMemAlloc");
        from[s] = (const void *)(uintptr_t)address;
        for (i = 0; i < ELEMENTS; i++)
            host[i] = element(s, i);
        must(cuda.upload(address, host, sizeof host), "cuMemcpyHtoD");
        must(cuda.allocate(&address, sizeof host), "cuMemAlloc");
        to[SLICES - 1 - s] = (void *)(uintptr_t)address;
    }
    memset(&args, 0, sizeof args);
    args.X_slices = from, args.Y_slices = to, args.H = ROWS, args.W = COLUMNS;
    must(tile_copy_192_load(&kernel, NULL, &error), "load");
    if (tile_copy_192_launch(&kernel, &args, NULL, &error)) {
        printf("launch: %s\n", error.text);
        return 1;
    }
    for (s = 0; s < SLICES; s++) {
        must(cuda.download(host, (uint64_t)(uintptr_t)to[s], sizeof host), "cuMemcpyDtoH");
        for (i = 0; i < ELEMENTS; i++)
            wrong += host[i] != element(s, i);
    }
    must(tile_copy_192_unload(&kernel, &error), "unload");
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
