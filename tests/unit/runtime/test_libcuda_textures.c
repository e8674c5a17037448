/* Arrays, texture and surface objects by the calls of the driver. */
#include <string.h>

#include "unit/check.h"
#include "unit/runtime/libcuda_calls.h"

enum { FLOATS = 0x20, HALVES = 0x10, BYTES = 1 };                            /* CUarray_format */
enum { LAYERED = 1, SURFACES = 2, CUBE = 4 };                                /* CUDA_ARRAY3D_* */
enum { OF_ARRAY, OF_MIPMAPS, OF_LINE, OF_PITCH };                            /* CUresourcetype */
enum { WRAP, CLAMP, AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16, LINEAR = 1 }; /* of texture descriptions */

/* fetch(t, x): x[tid] = tex1D(t, x[tid]) of the coordinate that stands there. */
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry fetch(.param .u64 t, .param .u64 x)\n"
                          "{\n"
                          "    .reg .b64 %rd<4>; .reg .b32 %r; .reg .f32 %f<4>;\n"
                          "    ld.param.u64 %rd0, [t];\n    ld.param.u64 %rd1, [x];\n    mov.u32 %r, %tid.x;\n"
                          "    mul.wide.u32 %rd2, %r, 4;\n    add.s64 %rd3, %rd1, %rd2;\n"
                          "    ld.global.f32 %f0, [%rd3];\n"
                          "    tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f0}];\n"
                          "    st.global.f32 [%rd3], %f0;\n    ret;\n"
                          "}\n";

static size_t left_free(void)
{
    size_t free_bytes, total;
    assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
    return free_bytes;
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

static void lines(void **state)
{
    struct cu_array *a, *b;
    uint64_t memory;
    float x[8], back[8];
    size_t before = left_free();
    const struct cu_array_2d line = {.width = 8, .format = FLOATS, .channels = 1};
    struct cu_array_2d flat;
    struct cu_array_3d deep;
    (void)state;
    for (int i = 0; i < 8; i++)
        x[i] = (float)i;
    assert_int_equal(cuArrayCreate_v2(&a, &line), CUDA_SUCCESS);
    assert_int_equal(cuArrayCreate_v2(&b, &line), CUDA_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&memory, sizeof x), CUDA_SUCCESS);
    assert_int_equal(cuArrayGetDescriptor_v2(&flat, a), CUDA_SUCCESS);
    assert_memory_equal(&flat, &line, sizeof line);
    assert_int_equal(cuArray3DGetDescriptor_v2(&deep, a), CUDA_SUCCESS);
    assert_int_equal(deep.depth, 0);
    assert_int_equal(cuMemcpyHtoA_v2(a, 0, x, sizeof x), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyAtoA_v2(b, 4, a, 0, 28), CUDA_SUCCESS); /* one further */
    assert_int_equal(cuMemcpyHtoAAsync_v2(b, 0, &x[7], 4, NULL), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyAtoD_v2(memory, b, 8, 16), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoA_v2(a, 16, memory, 16), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyAtoH_v2(back, a, 0, sizeof back), CUDA_SUCCESS);
    const float wanted[] = {0, 1, 2, 3, 1, 2, 3, 4};
    assert_memory_equal(back, wanted, sizeof back);
    assert_int_equal(cuMemcpyAtoHAsync_v2(back, b, 0, 4, NULL), CUDA_SUCCESS);
    assert_true(back[0] == 7);
    assert_int_equal(cuArrayDestroy(a), CUDA_SUCCESS);
    assert_int_equal(cuArrayDestroy(b), CUDA_SUCCESS);
    assert_int_equal(cuArrayDestroy(b), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuMemFree_v2(memory), CUDA_SUCCESS);
    assert_int_equal(left_free(), before);
}

/* A box of a volume of layers, from one array to another. */
static void boxes(void **state)
{
    enum { X = 5, Y = 4, Z = 3 };
    unsigned char from[Z][Y][X][2], back[Z][Y][X][2];
    struct cu_array *a, *b;
    (void)state;
    for (int i = 0; i < (int)sizeof from; i++)
        (&from[0][0][0][0])[i] = (unsigned char)i;
    memset(back, 0, sizeof back);
    const struct cu_array_3d is = {
        .width = X, .height = Y, .depth = Z, .format = BYTES, .channels = 2, .flags = LAYERED};
    assert_int_equal(cuArray3DCreate_v2(&a, &is), CUDA_SUCCESS);
    assert_int_equal(cuArray3DCreate_v2(&b, &is), CUDA_SUCCESS);
    struct cu_copy_3d copy = {.from = {.type = 1, .host = from, .pitch = 2 * X, .height = Y},
                              .to = {.type = 3, .array = a},
                              .width = 2 * X,
                              .height = Y,
                              .depth = Z};
    assert_int_equal(cuMemcpy3D_v2(&copy), CUDA_SUCCESS);
    copy.from = (struct cu_side_3d){.type = 3, .array = a};
    copy.to = (struct cu_side_3d){.type = 3, .array = b};
    assert_int_equal(cuMemcpy3D_v2(&copy), CUDA_SUCCESS);
    copy = (struct cu_copy_3d){.from = {.x = 2, .y = 1, .z = 2, .type = 3, .array = a},
                               .to = {.x = 4, .z = 1, .type = 3, .array = b},
                               .width = 4,
                               .height = 3,
                               .depth = 1};
    assert_int_equal(cuMemcpy3D_v2(&copy), CUDA_SUCCESS);
    copy = (struct cu_copy_3d){.from = {.type = 3, .array = b},
                               .to = {.type = 1, .host = back, .pitch = 2 * X, .height = Y},
                               .width = 2 * X,
                               .height = Y,
                               .depth = Z};
    assert_int_equal(cuMemcpy3D_v2(&copy), CUDA_SUCCESS);
    for (int z = 0; z < Z; z++)
        for (int y = 0; y < Y; y++)
            for (int x = 0; x < X; x++) {
                int moved = z == 1 && y < 3 && x >= 2 && x < 4;
                assert_memory_equal(back[z][y][x], moved ? from[2][y + 1][x - 1] : from[z][y][x], 2);
            }
    const struct cu_copy_2d rows = {.from_type = 3,
                                    .from_array = a,
                                    .from_x = 2,
                                    .from_y = 3,
                                    .to_type = 1,
                                    .to_host = back,
                                    .to_pitch = 8,
                                    .width = 8,
                                    .height = 1};
    assert_int_equal(cuMemcpy2D_v2(&rows), CUDA_SUCCESS);
    assert_memory_equal(back, from[0][3][1], 8);
    assert_int_equal(cuArrayDestroy(a), CUDA_SUCCESS);
    assert_int_equal(cuArrayDestroy(b), CUDA_SUCCESS);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static void textures(void **state)
{
    struct cu_array *array;
    struct cu_module *loaded;
    struct cu_function *fetch;
    uint64_t object, x;
    unsigned char texels[4] = {0, 51, 102, 255};
    float at[N], got[N];
    (void)state;
    const struct cu_array_2d line = {.width = 4, .format = BYTES, .channels = 1};
    assert_int_equal(cuArrayCreate_v2(&array, &line), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyHtoA_v2(array, 0, texels, sizeof texels), CUDA_SUCCESS);
    const struct cu_resource resource = {.type = OF_ARRAY, .of.array = array};
    const struct cu_texture_desc texture = {.addressing = {WRAP, CLAMP, CLAMP}, .filter = LINEAR, .flags = NORMALIZED};
    struct cu_resource resource_back;
    struct cu_texture_desc texture_back;
    assert_int_equal(cuTexObjectCreate(&object, &resource, &texture, NULL), CUDA_SUCCESS);
    assert_int_equal(cuTexObjectGetResourceDesc(&resource_back, object), CUDA_SUCCESS);
    assert_ptr_equal(resource_back.of.array, array);
    assert_int_equal(cuTexObjectGetTextureDesc(&texture_back, object), CUDA_SUCCESS);
    assert_memory_equal(&texture_back, &texture, sizeof texture);
    assert_int_equal(cuModuleLoadData(&loaded, ptx), CUDA_SUCCESS);
    assert_int_equal(cuModuleGetFunction(&fetch, loaded, "fetch"), CUDA_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&x, sizeof at), CUDA_SUCCESS);
    for (int i = 0; i < N; i++)
        at[i] = (float)i / 16;
    assert_int_equal(cuMemcpyHtoD_v2(x, at, sizeof at), CUDA_SUCCESS);
    void *arguments[] = {&object, &x};
    assert_int_equal(launch(fetch, NULL, arguments), CUDA_SUCCESS);
    assert_int_equal(cuMemcpyDtoH_v2(got, x, sizeof got), CUDA_SUCCESS);
    for (int i = 0; i < N; i++) { /* x_B = i / 4 - 1/2 of 4 texels that come again */
        int low = (i + 14) / 4 % 4, alpha = (i + 14) % 4;
        float wanted = ((float)((4 - alpha) * texels[low]) + (float)(alpha * texels[(low + 1) % 4])) / 1020;
        assert_true(got[i] - wanted < 1e-6f && wanted - got[i] < 1e-6f);
    }
    assert_int_equal(cuSurfObjectDestroy(object), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuTexObjectDestroy(object), CUDA_SUCCESS);
    assert_int_equal(cuTexObjectDestroy(object), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuTexObjectGetResourceDesc(&resource_back, object), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuModuleUnload(loaded), CUDA_SUCCESS);
    assert_int_equal(cuArrayDestroy(array), CUDA_SUCCESS);
    assert_int_equal(cuMemFree_v2(x), CUDA_SUCCESS);
}

/* ---- What is refused --------------------------------------------------------------------------------------------- */

static struct cu_array_3d wanted_array;
static int run_array(void)
{
    struct cu_array *array;
    return cuArray3DCreate_v2(&array, &wanted_array);
}

static void arrays_refused(void **state)
{
    static const struct {
        struct cu_array_3d is;
        int result;
        const char *words;
    } cases[] = {
        {{.width = 4, .height = 4, .depth = 6, .format = FLOATS, .channels = 1, .flags = CUBE | LAYERED},
         CUDA_ERROR_NOT_SUPPORTED,
         "cube maps, depths and sparse memory are not emulated"},
        {{.width = 4, .format = FLOATS, .channels = 3}, CUDA_ERROR_INVALID_VALUE, "3 channels: 1, 2 and 4 are there"},
        {{.width = 4, .format = 0xb0, .channels = 1}, CUDA_ERROR_NOT_SUPPORTED, "the format 0xb0 is not emulated"},
        {{.width = 0, .format = FLOATS, .channels = 1}, CUDA_ERROR_INVALID_VALUE, "an array of 0 x 0 x 0"},
        {{.width = 4, .depth = 2, .format = FLOATS, .channels = 1}, CUDA_ERROR_INVALID_VALUE, "an array of 4 x 0 x 2"},
        {{.width = 4, .format = FLOATS, .channels = 1, .flags = LAYERED}, CUDA_ERROR_INVALID_VALUE, "4 x 0 x 0"},
        {{.width = 131072, .height = 131072, .depth = 16384, .format = FLOATS, .channels = 4},
         CUDA_ERROR_OUT_OF_MEMORY,
         "an array of 16384 slices"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wanted_array = cases[i].is;
        assert_int_equal(quiet(run_array), cases[i].result);
        if (!strstr(said, cases[i].words))
            fail_msg("case %zu: %s", i, said);
    }
}

static struct cu_resource wanted_resource;
static struct cu_texture_desc wanted_texture;
static const void *wanted_view;
static int run_texture(void)
{
    uint64_t object;
    return cuTexObjectCreate(&object, &wanted_resource, &wanted_texture, wanted_view);
}
static int run_surface(void)
{
    uint64_t object;
    return cuSurfObjectCreate(&object, &wanted_resource);
}

static void refuses(int (*run)(void), int result, const char *words)
{
    assert_int_equal(quiet(run), result);
    if (!strstr(said, words))
        fail_msg("'%s' is not in: %s", words, said);
}

static void objects_refused(void **state)
{
    struct cu_array *array;
    uint64_t memory;
    const struct cu_array_2d line = {.width = 8, .format = HALVES, .channels = 1};
    (void)state;
    assert_int_equal(cuArrayCreate_v2(&array, &line), CUDA_SUCCESS);
    assert_int_equal(cuMemAlloc_v2(&memory, 4096), CUDA_SUCCESS);
    wanted_resource = (struct cu_resource){.type = OF_ARRAY, .of.array = array};
    refuses(run_surface, CUDA_ERROR_INVALID_VALUE, "the array was not made for surfaces");
    wanted_texture.flags = SRGB;
    refuses(run_texture, CUDA_ERROR_NOT_SUPPORTED, "sRGB textures are not emulated");
    wanted_texture.flags = 0;
    wanted_texture.anisotropy = 4;
    refuses(run_texture, CUDA_ERROR_NOT_SUPPORTED, "anisotropic filters are not emulated");
    wanted_texture.anisotropy = 0;
    wanted_texture.addressing[1] = 4;
    refuses(run_texture, CUDA_ERROR_INVALID_VALUE, "there is no addressing mode 4");
    wanted_texture.addressing[1] = CLAMP;
    wanted_view = &line;
    refuses(run_texture, CUDA_ERROR_NOT_SUPPORTED, "views of resources are not emulated");
    wanted_view = NULL;
    wanted_resource.type = OF_MIPMAPS;
    refuses(run_texture, CUDA_ERROR_NOT_SUPPORTED, "mipmaps are not emulated");
    wanted_resource = (struct cu_resource){
        .type = OF_LINE, .of.line = {.address = memory + 64, .format = FLOATS, .channels = 1, .bytes = 64}};
    refuses(run_texture, CUDA_ERROR_INVALID_VALUE, "which is no multiple of 512");
    wanted_resource.of.line.address = memory;
    wanted_resource.of.line.bytes = 8192;
    refuses(run_texture, CUDA_ERROR_INVALID_VALUE, "not all allocated");
    refuses(run_surface, CUDA_ERROR_INVALID_VALUE, "a surface object is of an array");
    wanted_resource = (struct cu_resource){
        .type = OF_PITCH,
        .of.pitched = {.address = memory, .format = BYTES, .channels = 1, .width = 40, .height = 4, .pitch = 48}};
    refuses(run_texture, CUDA_ERROR_INVALID_VALUE, "a row in 48 bytes");
    wanted_resource.of.pitched.pitch = 64;
    wanted_texture.filter = LINEAR;
    wanted_texture.flags = AS_INTEGER;
    refuses(run_texture, CUDA_ERROR_INVALID_VALUE, "a linear filter of integers");
    wanted_texture.border[0] = 1;
    refuses(run_texture, CUDA_ERROR_NOT_SUPPORTED, "a border of integers that is not 0");
    assert_int_equal(cuArrayDestroy(array), CUDA_SUCCESS);
    wanted_resource = (struct cu_resource){.type = OF_ARRAY, .of.array = array};
    refuses(run_texture, CUDA_ERROR_INVALID_HANDLE, "an array that is none, or was destroyed");
    assert_int_equal(cuMemFree_v2(memory), CUDA_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(boxes), cmocka_unit_test(textures),
                                       cmocka_unit_test(arrays_refused), cmocka_unit_test(objects_refused)};
    return cmocka_run_group_tests(tests, libcuda_opens, libcuda_closes);
}
