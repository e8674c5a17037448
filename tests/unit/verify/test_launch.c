/* A Plan's formulas on real sizes: shapes, alignment, the parameter buffer byte by byte, grids, what is launched. */
#include "unit/check.h"

#include <stdlib.h>
#include <string.h>

#include "unit/plan/plan_launch.h"
#include "tensormap/tensormap.h"

static struct tw_error error;

enum { M, N, K, SM_COUNT };
enum { A, D, BIAS };

/* A GEMM's outlines: A through a map, D by plain stores of whole rows, a bias, a scalar. */
struct sample {
    struct plan plan;
    const char *symbol[4];
    int64_t multiple[4];
    struct plan_tensor tensor[3];
    struct plan_map map[1];
    struct spec_scalar scalar[1];
    struct plan_param param[9];
    struct shape shape[3];
    uint64_t address[3];
    double value[1];
    int64_t size[4];
    struct launch_arguments arguments;
};

static void matrix(struct sample *s, int number, const char *name, enum tw_dtype dtype, int rows, int columns)
{
    struct plan_tensor *t = &s->tensor[number];
    *t = (struct plan_tensor){.name = name, .dtype = dtype, .rank = 2, .align = 16, .map = -1};
    t->dim[1] = t->stride[0] = expr_symbol(&s->plan.graph, columns);
    t->dim[0] = expr_symbol(&s->plan.graph, rows);
    t->stride[1] = expr_int(&s->plan.graph, 1);
}

static void sample(struct sample *s, int64_t m, int64_t n, int64_t k)
{
    static const struct plan_param params[] = {
        {PLAN_PARAM_MAP, "A_map", "tensor_map", A, 0, 0, 128, 64},
        {PLAN_PARAM_POINTER, "D", "float *", D, -1, 128, 8, 8},
        {PLAN_PARAM_POINTER, "bias", "const float *", BIAS, -1, 136, 8, 8},
        {PLAN_PARAM_STRIDE, "D_stride0", "i64", D, 0, 144, 8, 8},
        {PLAN_PARAM_DIM, "M", "int", -1, M, 152, 4, 4},
        {PLAN_PARAM_DIM, "N", "int", -1, N, 156, 4, 4},
        {PLAN_PARAM_DIM, "K", "int", -1, K, 160, 4, 4},
        {PLAN_PARAM_SCALAR, "alpha", "float", -1, 0, 164, 4, 4},
    };
    struct plan *p = &s->plan;
    struct expr_graph *g = &p->graph;
    memset(s, 0, sizeof *s);
    memcpy(s->symbol, (const char *[]){"M", "N", "K", "sm_count"}, sizeof s->symbol);
    memcpy(s->multiple, (int64_t[]){1, 1, 1, 1}, sizeof s->multiple);
    p->symbol = s->symbol;
    p->symbol_multiple = s->multiple;
    p->symbol_count = 4;
    matrix(s, A, "A", TW_BF16, M, K);
    s->tensor[A].map = 0;
    matrix(s, D, "D", TW_FP32, M, N);
    s->tensor[D].out = s->tensor[D].whole_rows = true;
    s->tensor[BIAS] = (struct plan_tensor){.name = "bias", .dtype = TW_FP32, .rank = 1, .align = 4, .map = -1};
    s->tensor[BIAS].dim[0] = expr_symbol(g, N);
    s->tensor[BIAS].stride[0] = expr_int(g, 1);
    p->tensor = s->tensor;
    p->tensor_count = 3;
    s->map[0] = (struct plan_map){.name = "A_map", .tensor = A, .rank = 2, .box = {64, 128},
                                  .swizzle = TW_SWIZZLE_128B, .l2_promotion = 2};
    p->map = s->map;
    p->map_count = 1;
    s->scalar[0] = (struct spec_scalar){.name = "alpha", .dtype = TW_FP32};
    p->scalar = s->scalar;
    p->scalar_count = 1;
    memcpy(s->param, params, sizeof params);
    p->param = s->param;
    p->param_count = sizeof params / sizeof *params;
    p->param_bytes = 192;
    /* min(ceil(M / 128) * ceil(N / 256), sm_count) blocks of 384 threads */
    int rows = expr_ceil_div(g, expr_symbol(g, M), expr_int(g, 128));
    int columns = expr_ceil_div(g, expr_symbol(g, N), expr_int(g, 256));
    p->launch.grid[0] = expr_binary(g, EXPR_MIN, expr_binary(g, EXPR_MUL, rows, columns), expr_symbol(g, SM_COUNT));
    p->launch.grid[1] = p->launch.grid[2] = expr_int(g, 1);
    p->launch.block = 384;
    p->launch.cluster[0] = p->launch.cluster[1] = p->launch.cluster[2] = 1;
    p->launch.shared_bytes = 1000;

    memcpy(s->size, (int64_t[]){m, n, k, 132}, sizeof s->size);
    s->value[0] = 0.5;
    for (int i = 0; i < 3; i++) {
        s->address[i] = UINT64_C(0x7f0000000000) + (uint64_t)i * 0x100000;
        assert_int_equal(layout_shape(p, i, s->size, &s->shape[i], &error), TW_OK);
    }
    s->arguments = (struct launch_arguments){s->size, s->address, s->shape, s->value, 0};
}

static void sample_free(struct sample *s)
{
    expr_free(&s->plan.graph);
}

static void shapes(void **state)
{
    struct sample s;
    bool used[4];
    (void)state;
    sample(&s, 257, 512, 192);
    assert_int_equal(s.shape[A].extent[0], 257);
    assert_int_equal(s.shape[A].extent[1], 192);
    assert_int_equal(s.shape[A].stride[0], 192);
    assert_int_equal(shape_span(&s.shape[D]), 257 * 512);
    layout_symbols(&s.plan, used);
    assert_true(used[M] && used[N] && used[K] && used[SM_COUNT]);
    assert_true(layout_strides_are_arguments(&s.plan, A));
    assert_true(layout_strides_are_arguments(&s.plan, D));
    s.size[M] = -1;
    assert_int_equal(layout_shape(&s.plan, A, s.size, &s.shape[A], &error), TW_ERROR_INVALID);
    s.size[M] = s.size[K] = INT64_C(1) << 40;
    assert_int_equal(layout_shape(&s.plan, A, s.size, &s.shape[A], &error), TW_ERROR_INVALID);
    sample_free(&s);
}

static void what_fits(void **state)
{
    struct sample s;
    (void)state;
    sample(&s, 257, 512, 72);
    assert_true(launch_fits(&s.plan, &s.arguments));
    s.address[A] += 8;
    assert_false(launch_fits(&s.plan, &s.arguments));
    sample_free(&s);

    sample(&s, 257, 512, 100);
    assert_false(launch_fits(&s.plan, &s.arguments));
    s.shape[A].stride[0] = 104;
    assert_true(launch_fits(&s.plan, &s.arguments));
    sample_free(&s);

    sample(&s, 1, 512, 100); /* a stride that is never stepped along */
    assert_true(launch_fits(&s.plan, &s.arguments));
    sample_free(&s);

    sample(&s, 257, 512, 64);
    s.multiple[M] = 8;
    assert_false(launch_fits(&s.plan, &s.arguments));
    sample_free(&s);

    sample(&s, 0, 7, 9); /* nothing in A and D: nothing to align */
    assert_true(launch_fits(&s.plan, &s.arguments));
    sample_free(&s);
}

static void whole_rows(void **state)
{
    struct sample s;
    (void)state;
    sample(&s, 64, 514, 64); /* rows of 2056 bytes */
    assert_false(launch_fits(&s.plan, &s.arguments));
    s.shape[D].stride[0] = 516; /* aligned rows whose ends are not whole chunks */
    assert_false(launch_fits(&s.plan, &s.arguments));
    s.tensor[D].whole_rows = false;
    assert_true(launch_fits(&s.plan, &s.arguments));
    sample_free(&s);
}

static void parameters(void **state)
{
    _Alignas(64) unsigned char params[192];
    struct tw_tensormap_call call;
    struct tw_tensormap_extra extra;
    struct sample s;
    uint64_t map[16], pointer;
    int64_t stride;
    int32_t dim[3];
    float alpha;
    (void)state;
    sample(&s, 257, 512, 72);
    s.shape[D].stride[0] = 520;
    assert_int_equal(launch_pack(&s.plan, &s.arguments, 90, params, &error), TW_OK);
    memcpy(map, params, 128);
    assert_int_equal(tw_tensormap_decode(map, &call, &extra), TW_OK);
    assert_int_equal(call.rank, 2);
    assert_true(call.addr == s.address[A]);
    assert_true(call.dim[0] == 72 && call.dim[1] == 257 && call.stride[0] == 144);
    assert_true(call.box[0] == 64 && call.box[1] == 128);
    assert_int_equal(call.swizzle, 3);
    assert_int_equal(call.l2, 2);
    assert_int_equal(call.dtype, tw_dtype_info(TW_BF16)->tensormap);
    memcpy(&pointer, params + 128, 8);
    assert_true(pointer == s.address[D]);
    memcpy(&pointer, params + 136, 8);
    assert_true(pointer == s.address[BIAS]);
    memcpy(&stride, params + 144, 8);
    assert_true(stride == 520);
    memcpy(dim, params + 152, 12);
    assert_true(dim[0] == 257 && dim[1] == 512 && dim[2] == 72);
    memcpy(&alpha, params + 164, 4);
    assert_true(alpha == 0.5f);
    for (int i = 168; i < 192; i++)
        assert_int_equal(params[i], 0);
    sample_free(&s);
}

static void parameters_of_nothing(void **state)
{
    _Alignas(64) unsigned char params[192];
    struct tw_tensormap_call call;
    struct sample s;
    uint64_t map[16];
    (void)state;
    sample(&s, 257, 512, 0); /* K = 0: the map is never read, and must still be one */
    assert_int_equal(launch_pack(&s.plan, &s.arguments, 90, params, &error), TW_OK);
    memcpy(map, params, 128);
    assert_int_equal(tw_tensormap_decode(map, &call, NULL), TW_OK);
    assert_true(call.dim[0] == 1 && call.dim[1] == 257);
    sample_free(&s);

    sample(&s, 257, 512, 64);
    s.size[N] = INT64_C(1) << 32;
    assert_int_equal(launch_pack(&s.plan, &s.arguments, 90, params, &error), TW_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "N is 4294967296"));
    s.size[N] = 512;
    s.map[0].box[0] = 128; /* past the span of the swizzle */
    assert_int_equal(launch_pack(&s.plan, &s.arguments, 90, params, &error), TW_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "TMA-SPAN"));
    s.map[0].box[0] = 64;
    assert_int_equal(launch_pack(&s.plan, &s.arguments, 80, params, &error), TW_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "TMA-CC"));
    sample_free(&s);
}

/* ---- launches on a device that only listens ---------------------------------------------------------------------- */

static int launches;
static struct tw_launch last;
static unsigned char last_params[256];

static int listen(struct tw_device *device, const struct tw_launch *launch, struct tw_error *e)
{
    (void)device;
    (void)e;
    launches++;
    last = *launch;
    memcpy(last_params, launch->params, launch->params_bytes);
    return TW_OK;
}

static const struct tw_device_ops ops = {.kind = "ears", .launch = listen};

static void launch(void **state)
{
    struct tw_device device = {.ops = &ops, .major = 9, .minor = 0, .sm_count = 132};
    struct tw_kernel kernel = {.device = &device};
    struct sample s;
    bool launched;
    uint32_t grid[3];
    (void)state;
    launches = 0;
    sample(&s, 257, 512, 64);
    s.plan.launch.cluster[0] = 2;
    assert_int_equal(launch_plan(&device, &kernel, &s.plan, &s.arguments, &launched, &error), TW_OK);
    assert_true(launched);
    assert_int_equal(launches, 1);
    assert_true(last.kernel == &kernel && last.grid[0] == 6 && last.grid[1] == 1 && last.block[0] == 384);
    assert_int_equal(last.cluster[0], 2);
    assert_int_equal(last.shared_bytes, 1000);
    assert_int_equal(last.params_bytes, 192);
    assert_memory_equal(last_params + 128, &s.address[D], 8);
    s.size[M] = 1 << 20; /* persistent: as many blocks as multiprocessors */
    assert_int_equal(launch_grid(&s.plan, &s.arguments, grid, &error), TW_OK);
    assert_int_equal(grid[0], 132);
    sample_free(&s);

    sample(&s, 257, 512, 0); /* the epilogue of nothing is something */
    assert_int_equal(launch_plan(&device, &kernel, &s.plan, &s.arguments, &launched, &error), TW_OK);
    assert_true(launched);
    sample_free(&s);

    launches = 0;
    sample(&s, 0, 512, 64);
    assert_int_equal(launch_plan(&device, &kernel, &s.plan, &s.arguments, &launched, &error), TW_OK);
    assert_false(launched);
    sample_free(&s);
    sample(&s, 5, 0, 64);
    assert_int_equal(launch_plan(&device, &kernel, &s.plan, &s.arguments, NULL, &error), TW_OK);
    assert_int_equal(launches, 0);
    sample_free(&s);
}

/* A kernel that wants zeros beside its tensors gets their address, and is not launched without. */
static void a_workspace(void **state)
{
    struct sample s;
    unsigned char params[1024] = {0};
    uint64_t given = 0;
    (void)state;
    sample(&s, 257, 512, 64);
    const struct plan_param last_of = s.param[s.plan.param_count - 1];
    int at = (last_of.offset + last_of.bytes + 7) / 8 * 8;
    struct plan_param with[10];
    memcpy(with, s.param, sizeof *with * (size_t)s.plan.param_count);
    with[s.plan.param_count++] = (struct plan_param){.kind = PLAN_PARAM_WORKSPACE,
                                                     .name = "workspace",
                                                     .tensor = -1,
                                                     .index = -1,
                                                     .offset = at,
                                                     .bytes = 8,
                                                     .align = 8};
    s.plan.param = with;
    s.plan.param_bytes = (at + 8 + 63) / 64 * 64;
    s.plan.workspace_bytes = 24;
    assert_true(s.plan.param_bytes <= (int)sizeof params);
    assert_int_equal(launch_pack(&s.plan, &s.arguments, 90, params, &error), TW_ERROR_INVALID);
    assert_string_equal(error.text, "no workspace is given, and the kernel takes 24 bytes");
    s.arguments.workspace = UINT64_C(0x7f0000300000);
    assert_int_equal(launch_pack(&s.plan, &s.arguments, 90, params, &error), TW_OK);
    memcpy(&given, params + at, 8);
    assert_int_equal(given, UINT64_C(0x7f0000300000));
    sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),     cmocka_unit_test(what_fits),             cmocka_unit_test(whole_rows),
        cmocka_unit_test(parameters), cmocka_unit_test(parameters_of_nothing), cmocka_unit_test(launch),
        cmocka_unit_test(a_workspace),
    };
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
