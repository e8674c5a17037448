// A program over fake_driver.c, which knows nothing of the library that records it.
//   program data FILE     scale three times, of an image in memory
//   program file FILE     the same, of an image that the driver reads
//   program library FILE  the same, by a library's kernel, launched with attributes
//   program buffer FILE   scale with its parameters as one buffer
//   program tile FILE     a tensor map
//   program pinned FILE   scale of memory of the host's
//   program capture FILE  scale into a stream that is captured
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "record/fake.h"

enum { N = 600 };

static char *read_file(const char *path)
{
    static char text[1 << 22];
    FILE *file = fopen(path, "rb");
    size_t count = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    char *copy = malloc(count + 1); // of which the program forgets all after the module was loaded
    memcpy(copy, text, count);
    copy[count] = '\0';
    return copy;
}

static void *load(const char *what, const char *path, const char *name)
{
    void *module, *function;
    char *image = read_file(path);
    if (strcmp(what, "file") == 0)
        cuModuleLoad(&module, path);
    else if (strcmp(what, "library") == 0)
        cuLibraryLoadData(&module, image);
    else
        cuModuleLoadData(&module, image);
    memset(image, 0, strlen(image));
    free(image);
    if (strcmp(what, "library") == 0)
        cuLibraryGetKernel(&function, module, name);
    else
        cuModuleGetFunction(&function, module, name);
    return function;
}

static void scale(const char *what, void *function, float *x)
{
    float by = 1.5f;
    int count = N - 5;
    void *arguments[] = {&x, &by, &count};
    if (strcmp(what, "library") == 0) {
        struct tw_launch_attribute attribute = {.id = TW_CUDA_LAUNCH_PROGRAMMATIC, .value.flag = 1};
        struct tw_launch_config config = {
            .grid = {5, 1, 1}, .block = {128, 1, 1}, .attributes = &attribute, .attribute_count = 1};
        cuLaunchKernelEx(&config, function, arguments, NULL);
    } else if (strcmp(what, "buffer") == 0) {
        struct {
            float *x;
            float by;
            int count;
        } all = {x, by, count};
        size_t bytes = sizeof all;
        void *extra[] = {(void *)1, &all, (void *)2, &bytes, NULL};
        cuLaunchKernel(function, 5, 1, 1, 128, 1, 1, 0, NULL, NULL, extra);
    } else {
        void *stream = strcmp(what, "capture") == 0 ? FAKE_CAPTURING : NULL;
        cuLaunchKernel(function, 5, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
    }
}

static void tile(void *function, float *x)
{
    _Alignas(64) uint64_t map[16];
    static const uint64_t dim[] = {64, 64}, stride[] = {256};
    static const uint32_t box[] = {16, 16}, one[] = {1, 1};
    uint64_t out;
    void *arguments[] = {map, &out};
    cuMemAlloc_v2(&out, 4 * 1024);
    memset((void *)(uintptr_t)out, 0, 4 * 1024);
    printf("%d\n", cuTensorMapEncodeTiled(map, 7, 2, x, dim, stride, box, one, 0, 0, 0, 0));
    cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL);
}

int main(int count, char **words)
{
    const char *what = count > 2 ? words[1] : "";
    uint64_t address;
    void *pinned;
    cuInit(0);
    cuMemAlloc_v2(&address, 64 * 64 * 4);
    float *x = (float *)(uintptr_t)address;
    if (strcmp(what, "pinned") == 0) {
        cuMemAllocHost_v2(&pinned, 64 * 64 * 4);
        x = pinned;
    }
    for (int i = 0; i < 64 * 64; i++)
        x[i] = (float)i;
    if (strcmp(what, "tile") == 0)
        tile(load(what, words[2], "tile"), x);
    else
        for (int i = 0; i < 3; i++)
            scale(what, load(what, words[2], "scale"), x);
    int mode = 2; // of whoever waits while another stream is captured
    cuThreadExchangeStreamCaptureMode(&mode);
    printf("%d %d %.6g\n", mode, cuCtxSynchronize(), (double)x[7]);
    return 0;
}
