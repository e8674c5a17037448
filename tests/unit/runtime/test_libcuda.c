/* The emulated driver, called in this process as a program calls it, with PTX by hand: no compiler is needed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/check.h"
#include "unit/runtime/libcuda_calls.h"

/* What the driver takes, and one kernel of which cannot run: malloc of 3 MiB, again and again until there is no more;
 * a texture. */
static const char more_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b64 at) malloc(.param .b64 bytes);\n"
    ".visible .entry fill_heap(.param .u64 x)\n"
    "{\n"
    "    .reg .b64 %rd<3>; .reg .b32 %r; .reg .pred %p;\n"
    "    ld.param.u64 %rd0, [x];\n    mov.u32 %r, 0;\n"
    "again:\n"
    "    {\n"
    "        .param .b64 bytes;\n        .param .b64 at;\n"
    "        mov.u64 %rd1, 3145728;\n        st.param.b64 [bytes], %rd1;\n        call (at), malloc, (bytes);\n"
    "        ld.param.b64 %rd2, [at];\n"
    "    }\n"
    "    setp.eq.u64 %p, %rd2, 0;\n    @%p bra full;\n    add.u32 %r, %r, 1;\n    bra again;\n"
    "full:\n    st.global.u32 [%rd0], %r;\n    ret;\n"
    "}\n"
    ".visible .entry textured(.param .u64 x)\n"
    "{\n"
    "    .reg .b64 %rd0; .reg .b32 %r0; .reg .f32 %f<4>;\n"
    "    ld.param.u64 %rd0, [x];\n    mov.u32 %r0, 0;\n"
    "    tex.cube.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f0, %f1, %f2, %f3}];\n    ret;\n"
    "}\n";

static void variables_belong_to_the_module(void **state)
{
    uint32_t host[N], by = 3, runs = 0;
    uint64_t x, address;
    size_t bytes;
    void *arguments[] = {&x, &by};
    (void)state;
    for (uint32_t i = 0; i < N; i++)
        host[i] = i;
    assert_int_equal(cuMemAlloc_v2(&x, sizeof host), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyHtoD_v2(x, host, sizeof host), CUDA_SUCCESS);
    assert_int_equal(launch(scale, NULL, arguments), CUDA_SUCCESS);
    /* The parameters as a buffer. */
    struct {
        uint64_t x;
        uint32_t by;
    } buffer = {x, 5};
    size_t size = 12;
    void *extra[] = {(void *)1, &buffer, (void *)2, &size, NULL};
    assert_int_equal(cuLaunchKernel(scale, 1, 1, 1, N, 1, 1, 0, NULL, NULL, extra), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(host, x, sizeof host), CUDA_SUCCESS);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(host[i], 15 * i);
    assert_int_equal(launch(runs_of, NULL, arguments), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(host, x, 8), CUDA_SUCCESS);
    assert_int_equal(host[0], 5 + 2);
    assert_int_equal(host[1], 8);
    assert_int_equal(cuModuleGetGlobal_v2(&address, &bytes, module, "runs"), CUDA_SUCCESS);
    assert_int_equal(bytes, 4);
    assert_int_equal(cuMemcpyDtoH_v2(&runs, address, 4), CUDA_SUCCESS);
    assert_int_equal(runs, 7);
    assert_int_equal(cuModuleGetGlobal_v2(&address, &bytes, module, "run"), CUDA_ERROR_NOT_FOUND);
    runs = 5;
    assert_int_equal(cuMemcpyHtoD_v2(address, &runs, 4), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(x), CUDA_SUCCESS);
}

/* Host memory has one address on both sides, wherever it lies. */
static void memory_of_the_host(void **state)
{
    uint32_t *memory, *own = malloc(N * sizeof *own), by = 2;
    uint64_t x, at;
    size_t free_bytes, total, left;
    int type = 0;
    void *arguments[] = {&x, &by};
    (void)state;
    assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
    assert_int_equal(cuMemHostAlloc((void **)&memory, N * sizeof *memory, 0), CUDA_SUCCESS);
    for (uint32_t i = 0; i < N; i++)
        memory[i] = own[i] = i;
    x = (uint64_t)(uintptr_t)memory;
    assert_int_equal(launch(scale, NULL, arguments), CUDA_SUCCESS);
    assert_int_equal(memory[N - 1], 2 * (N - 1));
    assert_int_equal(cuPointerGetAttribute(&type, 2, x), CUDA_SUCCESS);
    assert_int_equal(type, 1);
    assert_int_equal(cuMemHostRegister_v2(own, N * sizeof *own, 0), CUDA_SUCCESS);
    assert_int_equal(cuMemHostRegister_v2(own, N * sizeof *own, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_int_equal(cuMemHostGetDevicePointer_v2(&x, own + 1, 0), CUDA_SUCCESS);
    x -= 4;
    assert_int_equal(launch(scale, NULL, arguments), CUDA_SUCCESS);
    assert_int_equal(own[N - 1], 2 * (N - 1));
    assert_int_equal(cuMemHostUnregister(own), CUDA_SUCCESS);
    assert_int_equal(cuPointerGetAttribute(&type, 2, (uint64_t)(uintptr_t)own), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAllocManaged(&at, 64, 1), CUDA_SUCCESS);
    *(uint32_t *)(uintptr_t)at = 9;
    assert_int_equal(cuMemsetD32_v2(at + 4, 11, 3), CUDA_SUCCESS);
    assert_int_equal(((uint32_t *)(uintptr_t)at)[3], 11);
    assert_int_equal(cuMemFree_v2(at), CUDA_SUCCESS);
    assert_int_equal(cuMemFreeHost(memory), CUDA_SUCCESS);
    assert_int_equal(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemGetInfo_v2(&left, &total), CUDA_SUCCESS);
    assert_int_equal(left, free_bytes);
    free(own);
}

/* A box in the middle of a volume, there and back. */
static void boxes(void **state)
{
    enum { X = 8, Y = 5, Z = 3 };
    unsigned char from[Z][Y][X], back[Z][Y][X];
    uint64_t volume;
    (void)state;
    for (int i = 0; i < X * Y * Z; i++)
        from[i / X / Y][i / X % Y][i % X] = (unsigned char)i;
    memset(back, 0, sizeof back);
    assert_int_equal(cuMemAlloc_v2(&volume, sizeof from), CUDA_SUCCESS);
    assert_int_equal(cuMemsetD8_v2(volume, 0xee, sizeof from), CUDA_SUCCESS);
    struct cu_copy_3d copy = {.from = {.x = 2, .y = 1, .z = 1, .type = 1, .host = from, .pitch = X, .height = Y},
                              .to = {.x = 1, .y = 2, .z = 0, .type = 2, .device = volume, .pitch = X, .height = Y},
                              .width = 4,
                              .height = 2,
                              .depth = 2};
    assert_int_equal(cuMemcpy3D_v2(&copy), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(back, volume, sizeof back), CUDA_SUCCESS);
    for (int z = 0; z < Z; z++)
        for (int y = 0; y < Y; y++)
            for (int x = 0; x < X; x++) {
                int inside = z < 2 && y >= 2 && y < 4 && x >= 1 && x < 5;
                assert_int_equal(back[z][y][x], inside ? from[z + 1][y - 1][x + 1] : 0xee);
            }
    const struct cu_copy_2d rows = {.from_y = 2,
                                    .from_type = 2,
                                    .from_device = volume,
                                    .from_pitch = X,
                                    .to_x = 1,
                                    .to_type = 1,
                                    .to_host = back,
                                    .to_pitch = 2 * X,
                                    .width = 5,
                                    .height = 2};
    assert_int_equal(cuMemcpy2D_v2(&rows), CUDA_SUCCESS);
    assert_int_equal(back[0][0][2], from[1][1][2]);
    assert_int_equal(back[0][2][2], from[1][2][2]);
    assert_int_equal(cuMemsetD2D16_v2(volume, X, 0x1234, 2, Y), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(back, volume, sizeof back), CUDA_SUCCESS);
    assert_int_equal(back[0][Y - 1][3], 0x12);
    assert_int_not_equal(back[1][0][0], 0x34);
    assert_int_equal(cuMemFree_v2(volume), CUDA_SUCCESS);
}

static uint64_t given;
static int run_race(void)
{
    void *arguments[] = {&given};
    return launch(race, NULL, arguments);
}

static int run_outside(void)
{
    uint32_t by = 2;
    void *arguments[] = {&given, &by};
    return launch(scale, NULL, arguments);
}

/* A hazard is told and breaks the context, until that is reset. */
static void hazards(void **state)
{
    (void)state;
    assert_int_equal(cuModuleGetFunction(&race, module, "race"), CUDA_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&given, 16), CUDA_SUCCESS);
    assert_int_equal(quiet(run_race), CUDA_ERROR_LAUNCH_FAILED);
    assert_non_null(strstr(said, "hazard "));
    assert_non_null(strstr(said, "in kernel race, launch "));
    assert_non_null(strstr(said, "  do: "));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuMemsetD8_v2(given, 0, 16), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    assert_int_equal(cuMemsetD8_v2(given, 0, 16), CUDA_SUCCESS);
    assert_int_equal(quiet(run_outside), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_non_null(strstr(said, "hazard BOUNDS"));
    assert_int_equal(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(given), CUDA_SUCCESS);
}

static int (*found)(void);
static int run_found(void)
{
    return found();
}

/* By name and CUDA version, and what is missing says so when it is called. */
static void entry_points(void **state)
{
    void *entry, *other;
    int status = -1, value = 0;
    (void)state;
    assert_int_equal(cuGetProcAddress_v2("cuCtxCreate", &entry, 12000, 0, &status), CUDA_SUCCESS);
    assert_int_equal(status, 0);
    assert_int_equal(cuGetProcAddress_v2("cuCtxCreate", &other, 13000, 0, &status), CUDA_SUCCESS);
    assert_ptr_not_equal(entry, other);
    assert_int_equal(cuGetProcAddress_v2("cuLaunchKernelEx", &entry, 11000, 0, &status), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, 2);
    assert_int_equal(cuGetProcAddress_v2("cuNothing", &entry, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, 1);
    assert_null(entry);
    assert_int_equal(cuGetProcAddress_v2("cuArrayGetPlane", &entry, 13000, 0, &status), CUDA_SUCCESS);
    memcpy(&found, &entry, sizeof found);
    assert_int_equal(quiet(run_found), CUDA_ERROR_NOT_SUPPORTED);
    assert_string_equal(said, "tilewright: cuArrayGetPlane: the emulated driver has no such entry point\n");
    assert_int_equal(cuDeviceGetAttribute(&value, TW_CUDA_MAJOR, 0), CUDA_SUCCESS);
    assert_int_equal(value, 9);
    const char *name;
    assert_int_equal(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name), CUDA_SUCCESS);
    assert_string_equal(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_int_equal(cuGetErrorName(12345, &name), CUDA_ERROR_INVALID_VALUE);
}

static const void *image;
static struct cu_module *loaded;
static int run_load(void)
{
    return cuModuleLoadData(&loaded, image);
}

static void images(void **state)
{
    static const char elf[64] = "\177ELF";
    (void)state;
    image = elf;
    assert_int_equal(quiet(run_load), CUDA_ERROR_NO_BINARY_FOR_GPU);
    image = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry x(\n";
    assert_int_equal(quiet(run_load), CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(said, "cuModuleLoadData: PTX line "));
    image = ".version 8.0\n.target sm_90\n.address_size 64\n.global .texref old;\n";
    assert_int_equal(quiet(run_load), CUDA_ERROR_INVALID_PTX);
    assert_non_null(strstr(said, ".texref: references to textures, surfaces and samplers are not supported"));
    image = libcuda_ptx;
    unsigned count = 0;
    struct cu_function *functions[3];
    assert_int_equal(quiet(run_load), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunctionCount(&count, loaded), CUDA_SUCCESS);
    assert_int_equal(count, 3);
    assert_int_equal(cuModuleEnumerateFunctions(functions, 3, loaded), CUDA_SUCCESS);
    size_t offset, bytes;
    assert_int_equal(cuFuncGetParamInfo(functions[0], 1, &offset, &bytes), CUDA_SUCCESS);
    assert_int_equal(offset, 8);
    assert_int_equal(bytes, 4);
    assert_int_equal(cuFuncGetParamInfo(functions[0], 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    int shared = 0, blocks = 0;
    assert_int_equal(cuFuncGetAttribute(&shared, TW_CUDA_FUNCTION_STATIC_SHARED, functions[2]), CUDA_SUCCESS);
    assert_int_equal(shared, 256);
    assert_int_equal(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, functions[2], 1024, 0), CUDA_SUCCESS);
    assert_int_equal(blocks, 2);
    assert_int_equal(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, functions[2], 64, 200 * 1024), CUDA_SUCCESS);
    assert_int_equal(blocks, 1);
    assert_int_equal(cuModuleUnload(loaded), CUDA_SUCCESS);
}

static struct cu_function *textured;
static int run_textured(void)
{
    return cuFuncLoad(textured);
}

/* What one kernel needs and is not there keeps none of the others from running. */
static void heap_and_textures(void **state)
{
    struct cu_function *fill_heap;
    uint32_t held = 0;
    uint64_t x;
    size_t limit = 0;
    void *arguments[] = {&x};
    (void)state;
    assert_int_equal(cuModuleLoadData(&loaded, more_ptx), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&fill_heap, loaded, "fill_heap"), CUDA_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&x, 4), CUDA_SUCCESS);
    assert_int_equal(cuLaunchKernel(fill_heap, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(&held, x, 4), CUDA_SUCCESS);
    assert_int_equal(held, 2); /* of 8 MiB */
    assert_int_equal(cuCtxSetLimit(2, 16 << 20), CUDA_SUCCESS);
    assert_int_equal(cuCtxGetLimit(&limit, 2), CUDA_SUCCESS);
    assert_int_equal(limit, 16 << 20);
    assert_int_equal(cuLaunchKernel(fill_heap, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(&held, x, 4), CUDA_SUCCESS);
    assert_int_equal(held, 3); /* beside the two that nobody freed */
    assert_int_equal(cuModuleGetFunction(&textured, loaded, "textured"), CUDA_SUCCESS);
    assert_int_equal(quiet(run_textured), CUDA_ERROR_NOT_SUPPORTED);
    assert_non_null(strstr(said, "cuFuncLoad: kernel textured: PTX line "));
    assert_non_null(strstr(said, ": 'tex.cube.v4.f32.f32': this form of tex (textures) is not supported"));
    assert_int_equal(cuMemFree_v2(x), CUDA_SUCCESS);
    assert_int_equal(cuModuleUnload(loaded), CUDA_SUCCESS);
}

static void *destroy(void *context)
{
    return cuCtxDestroy_v2(context) ? NULL : context;
}

static struct cu_context *one_too_many;
static int run_create(void)
{
    return cuCtxCreate_v2(&one_too_many, 0, 0);
}

/* What was destroyed below the current context, or by another thread, says so wherever it is used. */
static void contexts(void **state)
{
    struct cu_context *x, *y, *primary, *popped, nothing = {0};
    unsigned flags = 9;
    pthread_t thread;
    void *destroyed;
    int pushes = 0;
    (void)state;
    assert_int_equal(cuCtxGetCurrent(&primary), CUDA_SUCCESS);
    assert_int_equal(cuCtxCreate_v2(&x, 1, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxCreate_v2(&y, 2, 0), CUDA_SUCCESS);
    assert_int_equal(cuCtxDestroy_v2(x), CUDA_SUCCESS);
    assert_int_equal(cuCtxGetFlags(&flags), CUDA_SUCCESS);
    assert_int_equal(flags, 2);
    assert_int_equal(cuCtxDestroy_v2(y), CUDA_SUCCESS);
    assert_int_equal(cuCtxGetFlags(&flags), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuCtxSynchronize_v2(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
    assert_ptr_equal(popped, x);
    assert_int_equal(cuCtxPushCurrent_v2(y), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuCtxDestroy_v2(y), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuCtxSetCurrent(&nothing), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuCtxDestroy_v2(primary), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(cuCtxGetCurrent(&popped), CUDA_SUCCESS);
    assert_ptr_equal(popped, primary);
    assert_int_equal(cuCtxCreate_v2(&x, 0, 0), CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, destroy, x), 0);
    assert_int_equal(pthread_join(thread, &destroyed), 0);
    assert_ptr_equal(destroyed, x);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    while (pushes < 63) {
        assert_int_equal(cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
        pushes++;
    }
    assert_int_equal(quiet(run_create), CUDA_ERROR_INVALID_VALUE);
    assert_null(one_too_many);
    for (; pushes; pushes--)
        assert_int_equal(cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    assert_int_equal(cuCtxSynchronize(), CUDA_SUCCESS);
}

static uint64_t freed;
static int run_free(void)
{
    return cuMemFree_v2(freed);
}

static int run_host(void)
{
    void *memory = NULL;
    int result = cuMemHostAlloc(&memory, SIZE_MAX, 0);
    return result ? result : cuMemHostAlloc(&memory, (size_t)1 << 60, 0);
}

static int run_managed(void)
{
    uint64_t address;
    return cuMemAllocManaged(&address, (size_t)1 << 60, 1);
}

static int run_pitch(void)
{
    uint64_t address;
    size_t pitch;
    return cuMemAllocPitch_v2(&address, &pitch, (size_t)1 << 32, ((size_t)1 << 32) + 1, 4);
}

static int run_wide(void)
{
    uint64_t address;
    size_t pitch;
    return cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX - 5, 1, 4);
}

/* More than there is, and what is not the program's to free. */
static void requests(void **state)
{
    uint64_t address;
    size_t bytes, total;
    char expected[120];
    void *memory;
    (void)state;
    assert_int_equal(cuMemHostAlloc(&memory, 4096, 0), CUDA_SUCCESS);
    assert_int_equal(cuMemGetInfo_v2(&bytes, &total), CUDA_SUCCESS);
    for (int held = 1; held >= 0; held--) {
        snprintf(expected, sizeof expected, "cuMemHostAlloc: %zu bytes of the host's memory: %zu are left", SIZE_MAX,
                 total - (held ? 4096 : 0));
        assert_int_equal(quiet(run_host), CUDA_ERROR_OUT_OF_MEMORY);
        assert_non_null(strstr(said, expected));
        assert_int_equal(cuMemFreeHost(held ? memory : NULL), CUDA_SUCCESS);
    }
    assert_int_equal(quiet(run_managed), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(quiet(run_pitch), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(quiet(run_wide), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(cuMemAllocPitch_v2(&address, &bytes, 4, 0, 4), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuModuleGetGlobal_v2(&freed, &bytes, module, "runs"), CUDA_SUCCESS);
    assert_int_equal(quiet(run_free), CUDA_ERROR_INVALID_VALUE);
    assert_non_null(strstr(said, " is a variable of a module"));
}

static char image_path[] = "/tmp/tilewright-image-XXXXXX";
static int run_load_file(void)
{
    return cuModuleLoad(&loaded, image_path);
}

static int load_bytes(const void *bytes, size_t count)
{
    FILE *file = fopen(image_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return quiet(run_load_file);
}

/* Files are fat binaries or PTX, whole. */
static void files(void **state)
{
    static const unsigned char wrapper[24] = {0xb1, 0x43, 0x62, 0x46, 1, 0, 0, 0, 1};
    static const unsigned char empty[8] = {0x50, 0xed, 0x55, 0xba, 1};
    static const unsigned char fatbin[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 1};
    int handle = mkstemp(image_path);
    (void)state;
    assert_true(handle >= 0);
    close(handle);
    assert_int_equal(load_bytes(wrapper, sizeof wrapper), CUDA_ERROR_INVALID_IMAGE);
    assert_non_null(strstr(said, ": neither PTX nor a fat binary"));
    for (size_t count = 4; count <= sizeof fatbin; count++) {
        assert_int_equal(load_bytes(fatbin, count), CUDA_ERROR_INVALID_IMAGE);
        assert_non_null(strstr(said, ": the fat binary is cut off"));
    }
    assert_int_equal(load_bytes(empty, sizeof empty), CUDA_ERROR_INVALID_IMAGE);
    for (size_t count = 0; count < 4; count++)
        assert_int_equal(load_bytes(fatbin, count), CUDA_ERROR_INVALID_PTX);
    assert_int_equal(load_bytes(libcuda_ptx, strlen(libcuda_ptx)), CUDA_SUCCESS);
    assert_int_equal(cuModuleUnload(loaded), CUDA_SUCCESS);
    unlink(image_path);
}

static void no_handles(void **state)
{
    struct cu_module *of;
    const char *name;
    int value;
    unsigned count;
    (void)state;
    assert_int_equal(cuFuncGetModule(&of, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuFuncIsLoaded(&value, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuFuncGetName(&name, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuKernelGetName(&name, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuKernelGetLibrary(&of, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuModuleGetFunctionCount(&count, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuModuleLoad(&of, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(variables_belong_to_the_module),
                                       cmocka_unit_test(memory_of_the_host),
                                       cmocka_unit_test(boxes),
                                       cmocka_unit_test(hazards),
                                       cmocka_unit_test(entry_points),
                                       cmocka_unit_test(images),
                                       cmocka_unit_test(heap_and_textures),
                                       cmocka_unit_test(contexts),
                                       cmocka_unit_test(requests),
                                       cmocka_unit_test(files),
                                       cmocka_unit_test(no_handles)};
    return cmocka_run_group_tests(tests, libcuda_opens, libcuda_closes);
}
