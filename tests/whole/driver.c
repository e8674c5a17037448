/* A program that opens the driver by itself, as one without CUDA's headers does, and launches PTX that it holds. It
   says what it found; its status is 0 where that is right. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry square(.param .u64 x)\n"
                          "{\n"
                          "    .reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
                          "    ld.param.u64 %rd0, [x];\n    mov.u32 %r0, %tid.x;\n    mul.wide.u32 %rd1, %r0, 4;\n"
                          "    add.s64 %rd2, %rd0, %rd1;\n    ld.global.u32 %r1, [%rd2];\n"
                          "    mul.lo.u32 %r2, %r1, %r1;\n    st.global.u32 [%rd2], %r2;\n    ret;\n"
                          "}\n";

static const char machine_code[64] = "\177ELF"; /* which no module can be made of here */

#define POINTERS                                                                                                       \
    POINTER(cuInit, (unsigned flags))                                                                                  \
    POINTER(cuDeviceGetAttribute, (int *value, int attribute, int device))                                             \
    POINTER(cuCtxCreate_v2, (void **context, unsigned flags, int device))                                              \
    POINTER(cuModuleLoadData, (void **module, const void *image))                                                      \
    POINTER(cuModuleGetFunction, (void **function, void *module, const char *name))                                    \
    POINTER(cuMemAlloc_v2, (uint64_t * address, size_t bytes))                                                         \
    POINTER(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                                            \
    POINTER(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                                  \
    POINTER(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,          \
                             unsigned bz, unsigned shared, void *stream, void **arguments, void **extra))              \
    POINTER(cuMipmappedArrayCreate, (void *array, const void *descriptor, unsigned levels))

#define POINTER(name, arguments) static int(*name) arguments;
POINTERS
#undef POINTER

static void *open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return NULL;
#define POINTER(name, arguments)                                                                                       \
    if (!(*(void **)&name = dlsym(library, #name)))                                                                    \
        return NULL;
    POINTERS
#undef POINTER
    return library;
}

int main(int argc, char **argv)
{
    uint32_t x[32];
    uint64_t address;
    void *context, *module, *square, *arguments[] = {&address};
    int major, minor, wrong = 0;
    if (!open_driver()) {
        puts("no driver");
        return 1;
    }
    for (uint32_t i = 0; i < 32; i++)
        x[i] = i;
    int refused = argc > 1 && strncmp(argv[1], "refused", 7) == 0;
    if (cuInit(0) || cuDeviceGetAttribute(&major, 75, 0) || cuDeviceGetAttribute(&minor, 76, 0) ||
        cuCtxCreate_v2(&context, 0, 0) || (refused && cuModuleLoadData(&module, machine_code) != 209)) {
        puts("a call failed");
        return 1;
    }
    if (refused && strcmp(argv[1], "refused-alone") == 0)
        return 0;
    if (cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&square, module, "square") ||
        cuMemAlloc_v2(&address, sizeof x) || cuMemcpyHtoD_v2(address, x, sizeof x) ||
        cuLaunchKernel(square, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL) || cuMemcpyDtoH_v2(x, address, sizeof x)) {
        puts("a call failed");
        return 1;
    }
    for (uint32_t i = 0; i < 32; i++)
        wrong += x[i] != i * i;
    printf("%d.%d, %d wrong, mipmaps %d\n", major, minor, wrong, cuMipmappedArrayCreate(NULL, NULL, 1));
    if (argc > 1 && strcmp(argv[1], "abort") == 0)
        return *(volatile int *)0;
    return argc > 1 && !refused ? argv[1][0] - '0' : wrong != 0;
}
