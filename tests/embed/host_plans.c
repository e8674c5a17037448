#include "host_plans.h"

#include <string.h>

static struct plan_tensor *add_tensor(struct plan *p, const char *name, enum tw_dtype dtype, int rank, const int *dim,
                                      bool out)
{
    struct plan_tensor *t = &p->tensor[p->tensor_count++];
    int stride = expr_int(&p->graph, 1);
    t->name = name;
    t->dtype = dtype;
    t->rank = rank;
    t->out = out;
    t->access = PLAN_ACCESS_GLOBAL;
    t->align = (int)tw_dtype_bytes(dtype);
    t->map = -1;
    for (int d = rank - 1; d >= 0; d--) {
        t->dim[d] = dim[d];
        t->stride[d] = stride;
        stride = expr_binary(&p->graph, EXPR_MUL, stride, dim[d]);
    }
    return t;
}

static void add_map(struct plan *p, const char *name, int tensor, const int *box, enum tw_swizzle swizzle)
{
    struct plan_map *m = &p->map[p->map_count];
    struct plan_tensor *t = &p->tensor[tensor];
    m->name = name;
    m->tensor = tensor;
    m->rank = t->rank;
    for (int d = 0; d < t->rank; d++)
        m->box[d] = box[d];
    m->swizzle = swizzle;
    m->l2_promotion = 2;
    t->access = PLAN_ACCESS_TMA;
    t->map = p->map_count++;
    t->align = 16;
}

static void add_param(struct plan *p, enum plan_param_kind kind, const char *name, int tensor, int index, int bytes)
{
    int align = kind == PLAN_PARAM_MAP ? 64 : bytes;
    int offset = (p->param_bytes + align - 1) / align * align;
    p->param[p->param_count++] = (struct plan_param){kind, name, "", tensor, index, offset, bytes, align};
    p->param_bytes = offset + bytes;
}

static void begin(struct plan *p, const char *kernel, const char *entry, const char *variant, const char *arch,
                  const char *const *symbol, int symbols)
{
    memset(p, 0, sizeof *p);
    p->kernel = kernel;
    p->entry = entry;
    p->variant = variant;
    p->arch = arch;
    p->symbol_count = symbols;
    p->symbol = plan_alloc(p, sizeof *p->symbol * (size_t)symbols);
    p->symbol_multiple = plan_alloc(p, sizeof *p->symbol_multiple * (size_t)symbols);
    for (int i = 0; i < symbols; i++) {
        p->symbol[i] = symbol[i];
        p->symbol_multiple[i] = 1;
    }
    p->tensor = plan_alloc(p, 8 * sizeof *p->tensor);
    p->map = plan_alloc(p, 8 * sizeof *p->map);
    p->scalar = plan_alloc(p, 8 * sizeof *p->scalar);
    p->param = plan_alloc(p, 32 * sizeof *p->param);
    p->ring = plan_alloc(p, 8 * sizeof *p->ring);
    p->launch.grid[1] = p->launch.grid[2] = -1;
    p->blocks_per_sm = 1;
}

void host_plan_gemm(struct plan *p, enum host_plan which)
{
    static const char *const symbol[] = {"M", "N", "K", "sm_count"};
    static const char *const entry[] = {"gemm_test", "gemm_test__unaligned", "gemm_test"};
    bool hopper = which != HOST_PLAN_SM_80;
    begin(p, "gemm_test", entry[which], which == HOST_PLAN_SM_90A_UNALIGNED ? "unaligned" : "",
          hopper ? "sm_90a" : "sm_80", symbol, 4);
    struct expr_graph *g = &p->graph;
    int m = expr_symbol(g, 0), n = expr_symbol(g, 1), k = expr_symbol(g, 2);
    p->symbol_multiple[2] = 8;
    add_tensor(p, "A", TW_BF16, 2, (int[]){m, k}, false);
    add_tensor(p, "B", TW_BF16, 2, (int[]){n, k}, false);
    struct plan_tensor *d = add_tensor(p, "D", TW_BF16, 2, (int[]){m, n}, true);
    add_tensor(p, "bias", TW_BF16, 1, (int[]){n}, false);
    p->scalar[p->scalar_count++] = (struct spec_scalar){.name = "alpha", .dtype = TW_FP32, .value = 1.0};
    if (hopper) {
        add_map(p, "A_map", 0, (int[]){64, 128}, TW_SWIZZLE_128B);
        add_map(p, "B_map", 1, (int[]){64, 128}, TW_SWIZZLE_128B);
    } else {
        p->tensor[0].align = p->tensor[1].align = 16;
        p->tensor[0].access = p->tensor[1].access = PLAN_ACCESS_CP_ASYNC;
    }
    if (which == HOST_PLAN_SM_90A) {
        add_map(p, "D_map", 2, (int[]){64, 64}, TW_SWIZZLE_128B);
        d->whole_rows = true;
    }
    for (int i = 0; i < p->map_count; i++)
        add_param(p, PLAN_PARAM_MAP, p->map[i].name, p->map[i].tensor, i, 128);
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].map < 0)
            add_param(p, PLAN_PARAM_POINTER, p->tensor[i].name, i, -1, 8);
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].map < 0 && p->tensor[i].rank == 2)
            add_param(p, PLAN_PARAM_STRIDE, "stride", i, 0, 8);
    for (int i = 0; i < 3; i++)
        add_param(p, PLAN_PARAM_DIM, symbol[i], -1, i, 4);
    add_param(p, PLAN_PARAM_SCALAR, "alpha", -1, 0, 4);
    p->param_bytes = (p->param_bytes + 63) / 64 * 64;

    int cluster = hopper ? 2 : 1;
    int tiles = expr_binary(g, EXPR_MUL, expr_ceil_div(g, m, expr_int(g, 128 * cluster)),
                            expr_ceil_div(g, n, expr_int(g, 256)));
    int slots = expr_binary(g, EXPR_FLOORDIV, expr_symbol(g, 3), expr_int(g, cluster));
    p->launch.grid[0] = expr_binary(g, EXPR_MUL, expr_binary(g, EXPR_MIN, tiles, slots), expr_int(g, cluster));
    p->launch.block = hopper ? 384 : 256;
    p->launch.cluster[0] = cluster;
    p->launch.shared_bytes = hopper ? 197632 : 98304;
    p->ring[p->ring_count++] = (struct plan_ring){.name = "ab", .stages = hopper ? 4 : 3};
}

void host_plan_batch(struct plan *p)
{
    static const char *const symbol[] = {"B", "H", "G", "S", "sm_count"};
    begin(p, "batch_test", "batch_test", "", "sm_100a", symbol, 5);
    struct expr_graph *g = &p->graph;
    int heads = expr_binary(g, EXPR_FLOORDIV, expr_symbol(g, 1), expr_symbol(g, 2)), s = expr_symbol(g, 3);
    add_tensor(p, "X", TW_FP16, 4, (int[]){expr_symbol(g, 0), heads, s, expr_int(g, 64)}, false);
    add_tensor(p, "y", TW_FP32, 1, (int[]){expr_binary(g, EXPR_MUL, s, expr_int(g, 4))}, true);
    add_map(p, "X_map", 0, (int[]){64, 32, 1, 1}, TW_SWIZZLE_128B);
    add_param(p, PLAN_PARAM_MAP, "X_map", 0, 0, 128);
    add_param(p, PLAN_PARAM_POINTER, "y", 1, -1, 8);
    for (int i = 0; i < 4; i++)
        add_param(p, PLAN_PARAM_DIM, symbol[i], -1, i, i == 2 ? 4 : 8); /* a gap follows G */
    p->workspace_bytes = 24;
    add_param(p, PLAN_PARAM_WORKSPACE, "workspace", -1, -1, 8);
    p->param_bytes = (p->param_bytes + 63) / 64 * 64;
    p->launch.grid[0] = expr_ceil_div(g, s, expr_int(g, 32));
    p->launch.grid[1] = heads;
    p->launch.grid[2] = expr_symbol(g, 0);
    p->launch.block = 128;
}

void host_plan_fixed(struct plan *p)
{
    static const char *const symbol[] = {"M", "sm_count"};
    begin(p, "fixed_test", "fixed_test", "", "sm_90a", symbol, 2);
    struct expr_graph *g = &p->graph;
    add_tensor(p, "X", TW_FP16, 2, (int[]){expr_symbol(g, 0), expr_int(g, 1024)}, false);
    add_tensor(p, "Y", TW_BF16, 3, (int[]){expr_int(g, 4), expr_int(g, 8), expr_int(g, 256)}, true);
    add_map(p, "X_map", 0, (int[]){64, 32}, TW_SWIZZLE_128B);
    add_map(p, "Y_map", 1, (int[]){32, 8, 1}, TW_SWIZZLE_64B);
    add_param(p, PLAN_PARAM_MAP, "X_map", 0, 0, 128);
    add_param(p, PLAN_PARAM_MAP, "Y_map", 1, 1, 128);
    p->launch.grid[0] = expr_ceil_div(g, expr_symbol(g, 0), expr_int(g, 32));
    p->launch.block = 128;
}

void host_plan_windows(struct plan *p)
{
    static const char *const symbol[] = {"N", "H", "W", "sm_count"};
    begin(p, "windows_test", "windows_test", "", "sm_90a", symbol, 4);
    struct expr_graph *g = &p->graph;
    int n = expr_symbol(g, 0);
    add_tensor(p, "X", TW_BF16, 4, (int[]){n, expr_symbol(g, 1), expr_symbol(g, 2), expr_int(g, 64)}, false);
    add_tensor(p, "y", TW_FP32, 1, &n, true);
    p->tensor[0].window = (struct spec_window){.dims = 2,
                                               .taps = {3, 2},
                                               .step = {2, 1},
                                               .dilation = {1, 1},
                                               .before = {1, 0},
                                               .after = {1, 0}};
    add_map(p, "X_map", 0, (int[]){64, 1, 1, 32}, TW_SWIZZLE_128B);
    add_param(p, PLAN_PARAM_MAP, "X_map", 0, 0, 128);
    add_param(p, PLAN_PARAM_POINTER, "y", 1, -1, 8);
    p->launch.grid[0] = n;
    p->launch.block = 128;
}

void host_plan_copy(struct plan *p)
{
    static const char *const symbol[] = {"N", "sm_count"};
    begin(p, "copy_test", "copy_test", "", "sm_80", symbol, 2);
    struct expr_graph *g = &p->graph;
    int n = expr_symbol(g, 0);
    add_tensor(p, "x", TW_FP32, 1, &n, false);
    add_tensor(p, "y", TW_FP32, 1, &n, true);
    add_param(p, PLAN_PARAM_POINTER, "x", 0, -1, 8);
    add_param(p, PLAN_PARAM_POINTER, "y", 1, -1, 8);
    add_param(p, PLAN_PARAM_DIM, "N", -1, 0, 8);
    p->launch.grid[0] = expr_ceil_div(g, n, expr_int(g, 1024));
    p->launch.block = 256;
}
