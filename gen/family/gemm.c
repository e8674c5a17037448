/* The family gemm: D[m, n] = epilogue(alpha sum over k of A[m, k] B[n, k] + beta C[m, n]). */
#include "family/gemm.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct spec_family_tensor tensors[] = {
    {"A", "m k", true, false},  {"B", "n k", true, false},  {"D", "m n", true, true},
    {"C", "m n", false, false}, {NULL, NULL, false, false},
};
static const char *const scalars[] = {"alpha", "beta", NULL};
static const char *const scalar_tensors[] = {NULL, "C"};
static const char *const architectures[] = {"sm_80", "sm_90a", NULL};

/* ---- reading the spec -------------------------------------------------------------------------------------------- */

int gemm_fault(struct gemm *g, enum spec_field field, const char *rule, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const struct spec_value *v = &g->fields.value[field];
    diag_report(g->diags, DIAG_ERROR, v->set ? v->loc : g->kernel->loc, g->kernel->name, spec_rows[field].path, rule,
                "%s", text);
    return 1;
}

int gemm_choose(struct gemm *g, enum spec_field field, int fallback, const char *format, ...)
{
    const struct spec_value *v = &g->fields.value[field];
    char reason[512], value[40];
    if (v->set) {
        snprintf(value, sizeof value, "%lld", (long long)v->integer);
        family_reason(g->plan, spec_rows[field].path, value, "the spec says so");
        return (int)v->integer;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    snprintf(value, sizeof value, "%d", fallback);
    family_reason(g->plan, spec_rows[field].path, value, "%s", reason);
    return fallback;
}

static int find_tensor(const struct plan *p, const char *name)
{
    for (int i = 0; i < p->tensor_count; i++)
        if (strcmp(p->tensor[i].name, name) == 0)
            return i;
    return -1;
}

static int find_axis(const struct plan_tensor *t, const char *axis)
{
    for (int i = 0; i < t->rank; i++)
        if (t->axis[i] && strcmp(t->axis[i], axis) == 0)
            return i;
    return -1;
}

/* Tensors that the epilogue returns; D alone where it returns one value or there is none. */
static int find_outputs(struct gemm *g)
{
    struct plan *p = g->plan;
    if (p->epilogue.set && p->epilogue.result < 0) {
        for (int i = 0; i < p->epilogue.output_count; i++)
            g->output[g->output_count++] = p->epilogue.output[i].tensor;
    } else {
        g->output[g->output_count++] = g->d;
        if (p->epilogue.set) {
            p->epilogue.output[0].tensor = g->d;
            p->epilogue.output[0].node = p->epilogue.result;
            p->epilogue.output_count = 1;
        }
    }
    int status = 0;
    for (int i = 0; i < g->output_count; i++) {
        struct plan_tensor *t = &p->tensor[g->output[i]];
        t->out = true;
        if (t->rank != 2 || find_axis(t, "m") < 0 || find_axis(t, "n") < 0) {
            diag_report(g->diags, DIAG_ERROR, g->kernel->tensor[g->output[i]].loc, g->kernel->name, t->name, "OUTPUT",
                        "an epilogue writes whole tiles: the tensor's axes must be m and n; write axes = \"m n\" or "
                        "\"n m\"");
            status = 1;
        }
        if (t->dtype != TW_BF16 && t->dtype != TW_FP16 && t->dtype != TW_FP32) {
            diag_report(g->diags, DIAG_ERROR, g->kernel->tensor[g->output[i]].loc, g->kernel->name, t->name, "DTYPE",
                        "%s results are not written; write bf16, fp16 or fp32", tw_dtype_name(t->dtype));
            status = 1;
        }
    }
    return status;
}

/* Operands of the epilogue are read as fp32. */
static int check_operands(struct gemm *g)
{
    struct plan *p = g->plan;
    int status = 0;
    for (int i = 0; i < p->tensor_count; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (i == g->a || i == g->b || t->out)
            continue;
        if (t->dtype != TW_BF16 && t->dtype != TW_FP16 && t->dtype != TW_FP32) {
            diag_report(g->diags, DIAG_ERROR, g->kernel->tensor[i].loc, g->kernel->name, t->name, "DTYPE",
                        "an epilogue reads no %s; write bf16, fp16 or fp32", tw_dtype_name(t->dtype));
            status = 1;
        }
    }
    const struct plan_tensor *a = &p->tensor[g->a], *b = &p->tensor[g->b];
    if (a->dtype != TW_BF16 && a->dtype != TW_FP16) {
        diag_report(g->diags, DIAG_ERROR, g->kernel->tensor[g->a].loc, g->kernel->name, "A", "DTYPE",
                    "%s is not multiplied; write bf16 or fp16", tw_dtype_name(a->dtype));
        status = 1;
    } else if (a->dtype != b->dtype) {
        diag_report(g->diags, DIAG_ERROR, g->kernel->tensor[g->b].loc, g->kernel->name, "B", "DTYPE",
                    "A holds %s and B %s; write the same dtype for both", tw_dtype_name(a->dtype),
                    tw_dtype_name(b->dtype));
        status = 1;
    }
    for (int i = 0; i < p->scalar_count; i++)
        if (p->scalar[i].dtype != TW_FP32) {
            diag_report(g->diags, DIAG_ERROR, p->scalar[i].loc, g->kernel->name, p->scalar[i].name, "DTYPE",
                        "scalars of an epilogue are fp32; write scalar \"fp32\"");
            status = 1;
        }
    return status;
}

static int64_t constant_extent(const struct plan *p, int node)
{
    int64_t value;
    return expr_is_int(&p->graph, node, &value) ? value : -1;
}

int gemm_begin(struct gemm *g)
{
    struct plan *p = g->plan;
    spec_merge(g->kernel, g->arch->name, &g->fields);
    int status = family_copy_spec(g->spec, g->kernel, p);
    if (status)
        return status;
    p->arch = g->arch->name;
    g->a = find_tensor(p, "A");
    g->b = find_tensor(p, "B");
    g->d = find_tensor(p, "D");
    g->c = find_tensor(p, "C");
    if (g->a < 0 || g->b < 0 || g->d < 0)
        return 1; /* the reader has said so */
    const struct plan_tensor *a = &p->tensor[g->a], *b = &p->tensor[g->b];
    g->a_mn_major = find_axis(a, "k") == 0;
    g->b_mn_major = find_axis(b, "k") == 0;
    g->m_node = a->dim[find_axis(a, "m")];
    g->k_node = a->dim[find_axis(a, "k")];
    g->n_node = b->dim[find_axis(b, "n")];
    g->m = constant_extent(p, g->m_node);
    g->n = constant_extent(p, g->n_node);
    g->k = constant_extent(p, g->k_node);
    int faults = find_outputs(g);
    return check_operands(g) | faults;
}

/* ---- what all architectures share -------------------------------------------------------------------------------- */

int gemm_tile_layout(struct gemm *g, int tensor, int rows, int extent, enum spec_field field)
{
    struct plan_tensor *t = &g->plan->tensor[tensor];
    const struct spec_tensor *declared = &g->kernel->tensor[tensor];
    int size = (int)tw_dtype_bytes(t->dtype), row_bytes = extent * size, span = 16;
    if (declared->swizzle_set) {
        span = tw_swizzles[declared->swizzle].span ? (int)tw_swizzles[declared->swizzle].span : 16;
        if (row_bytes % span) {
            int low = row_bytes / span * span / size, high = low + span / size;
            char nearest[40]; /* both neighbours, where the schema admits them */
            if (low < spec_rows[field].low || high > spec_rows[field].high)
                snprintf(nearest, sizeof nearest, "%d", high > spec_rows[field].high ? low : high);
            else
                snprintf(nearest, sizeof nearest, "%d or %d", low, high);
            return gemm_fault(g, field, "TMA-SPAN",
                              "%d %s are %d bytes, no multiple of the %d-byte span of swizzle %s; write %s", extent,
                              tw_dtype_name(t->dtype), row_bytes, span, tw_swizzles[declared->swizzle].name, nearest);
        }
        t->swizzle = declared->swizzle;
    } else {
        t->swizzle = TW_SWIZZLE_NONE;
        for (int s = 0; s < TW_SWIZZLE_COUNT; s++)
            if (tw_swizzles[s].span && row_bytes % (int)tw_swizzles[s].span == 0 && (int)tw_swizzles[s].span > span) {
                t->swizzle = (enum tw_swizzle)s;
                span = (int)tw_swizzles[s].span;
            }
        char name[80];
        snprintf(name, sizeof name, "%s.swizzle", t->name);
        family_reason(g->plan, name, tw_swizzles[t->swizzle].name,
                      "the widest whose span divides the tile's %d-byte rows", row_bytes);
        if (row_bytes % 16)
            return gemm_fault(g, field, "TMA-INNER16", "%d %s of %s are %d bytes, no multiple of 16; write %d", extent,
                              tw_dtype_name(t->dtype), t->name, row_bytes, (row_bytes + 15) / 16 * 16 / size);
    }
    t->tile[0] = rows;
    t->tile[1] = extent;
    t->box[0] = rows;
    t->box[1] = span / size;
    t->boxes = row_bytes / span;
    t->box_bytes = rows * span;
    t->tile_bytes = t->boxes * t->box_bytes;
    return 0;
}

int gemm_check_stages(struct gemm *g)
{
    const struct spec_value *v = &g->fields.value[FIELD_STAGES];
    if (!v->set || v->integer > 1)
        return 0;
    return gemm_fault(g, FIELD_STAGES, "STAGES", "one stage is read while the next is filled; write 2 or more");
}

int gemm_stage_fault(struct gemm *g, int results, int room)
{
    const struct plan_tensor *a = &g->plan->tensor[g->a], *b = &g->plan->tensor[g->b];
    int stage = a->tile_bytes + b->tile_bytes, span = 128 / (int)tw_dtype_bytes(a->dtype);
    int depth = room / (stage / g->tile_k);
    while (span > 16 && span > depth)
        span /= 2;
    char beside[60] = "";
    if (results)
        snprintf(beside, sizeof beside, " and %d bytes of results", results);
    return gemm_fault(
        g, g->fields.value[FIELD_TILE_K].set ? FIELD_TILE_K : FIELD_TILE_M, "SMEM",
        "two stages of %d bytes (A %d, B %d)%s are more than the %d bytes of shared memory of a block of %s; "
        "write tile.k = %d or a smaller tile",
        stage, a->tile_bytes, b->tile_bytes, beside, g->arch->shared_limit, g->arch->name, depth / span * span);
}

/* The extent of an axis as CUDA text of 64 bits: a constant, or an expression of the arguments' dims. */
static int add_extent(struct gemm *g, const char *name, int node)
{
    struct plan *p = g->plan;
    int64_t constant;
    if (expr_is_int(&p->graph, node, &constant)) {
        const char *folded = plan_text(p, "(i64)%lld", (long long)constant);
        return folded ? family_add_word(p, name, folded) : 3;
    }
    const char **dim = plan_alloc(p, sizeof *dim * (size_t)p->symbol_count);
    if (!dim)
        return 3;
    for (int i = 0; i < p->symbol_count; i++)
        if (!(dim[i] = plan_text(p, "(i64)args.%s", p->symbol[i])))
            return 3;
    size_t length = expr_print_c(&p->graph, node, dim, NULL, 0);
    char *text = plan_alloc(p, length + 1);
    if (!text)
        return 3;
    expr_print_c(&p->graph, node, dim, text, length + 1);
    return family_add_word(p, name, text);
}

static int product(struct expr_graph *g, int a, int b)
{
    return expr_binary(g, EXPR_MUL, a, b);
}

int gemm_end(struct gemm *g, bool persistent, int blocks_per_sm)
{
    struct plan *p = g->plan;
    struct expr_graph *e = &p->graph;
    const struct spec_value *order = &g->fields.value[FIELD_ORDER];
    int group = gemm_choose(g, FIELD_GROUP, 8, "bands of 8 clusters of tiles keep their B tiles in the L2");
    const char *way = order->set ? order->text : "grouped";
    if (family_reason(p, "schedule.order", way,
                      order->set ? "the spec says so" : "neighbouring blocks share tiles of A and B in the L2") ||
        family_add_value(p, "tile.m", g->tile_m) || family_add_value(p, "tile.n", g->tile_n) ||
        family_add_value(p, "tile.k", g->tile_k) || family_add_value(p, "cluster.m", g->cluster_m) ||
        family_add_value(p, "cluster.n", g->cluster_n) || family_add_word(p, "schedule.order", way) ||
        family_add_value(p, "schedule.group", group) || add_extent(g, "extent.m", g->m_node) ||
        add_extent(g, "extent.n", g->n_node) || add_extent(g, "extent.k", g->k_node))
        return 3;

    int cluster = g->cluster_m * g->cluster_n;
    int tiles = product(e, expr_ceil_div(e, g->m_node, expr_int(e, (int64_t)g->tile_m * g->cluster_m)),
                        expr_ceil_div(e, g->n_node, expr_int(e, (int64_t)g->tile_n * g->cluster_n)));
    if (persistent) {
        int slots = product(e, expr_symbol(e, p->symbol_count - 1), expr_int(e, blocks_per_sm));
        tiles = expr_binary(e, EXPR_MIN, tiles, expr_binary(e, EXPR_FLOORDIV, slots, expr_int(e, cluster)));
    }
    p->launch.grid[0] = product(e, tiles, expr_int(e, cluster));
    p->launch.cluster[0] = cluster;
    p->blocks_per_sm = blocks_per_sm;

    p->flops = product(e, product(e, expr_int(e, 2), g->m_node), product(e, g->n_node, g->k_node));
    int bytes = expr_int(e, 0);
    for (int i = 0; i < p->tensor_count; i++) {
        int elements = expr_int(e, 1);
        for (int d = 0; d < p->tensor[i].rank; d++)
            elements = product(e, elements, p->tensor[i].dim[d]);
        bytes = expr_binary(e, EXPR_ADD, bytes,
                            product(e, elements, expr_int(e, (int64_t)tw_dtype_bytes(p->tensor[i].dtype))));
    }
    p->bytes_moved = bytes;
    if (p->launch.grid[0] < 0 || p->flops < 0 || bytes < 0)
        return 3;
    family_place_shared(p);
    return family_pack_params(p);
}

/* ---- the family -------------------------------------------------------------------------------------------------- */

/* Constant rows of 16-byte chunks, and symbols, which the launch looks at. */
static bool whole_rows(const struct spec_kernel *kernel, const struct spec_tensor *t)
{
    int64_t inner, stride, bytes = (int64_t)tw_dtype_bytes(t->dtype);
    if (t->rank != 2)
        return true;
    if (expr_is_int(&kernel->shape, t->dim[1], &inner) && inner * bytes % 16)
        return false;
    return t->stride[0] < 0 || !expr_is_int(&kernel->shape, t->stride[0], &stride) || stride * bytes % 16 == 0;
}

bool gemm_stores_whole_rows(const struct spec_kernel *kernel)
{
    for (int i = 0; i < kernel->tensor_count; i++)
        if ((kernel->tensor[i].out || strcmp(kernel->tensor[i].name, "D") == 0) &&
            !whole_rows(kernel, &kernel->tensor[i]))
            return false;
    return true;
}

/* 0: results by bulk stores or whole words; 1: element by element, for rows that are no multiple of 16 bytes. Where
 * that is known of the results, bulk stores are never possible: the one variant of wgmma is then the second. */
static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)spec;
    return arch->wgmma && !gemm_stores_whole_rows(kernel) ? 1 : 2;
}

static int resolve(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch, int variant,
                   struct plan *plan, struct diag_set *diags)
{
    return arch->wgmma ? gemm_resolve_wgmma(spec, kernel, arch, variant, plan, diags)
                       : gemm_resolve_mma_sync(spec, kernel, arch, variant, plan, diags);
}

static int64_t axis_extent(const struct plan *p, const char *tensor, const char *axis, const int64_t *dims)
{
    const struct plan_tensor *t = &p->tensor[find_tensor(p, tensor)];
    int64_t value = 0;
    expr_eval_int(&p->graph, t->dim[find_axis(t, axis)], dims, &value);
    return value;
}

/* Sums of k products stay under 2^24 with integers up to the scale; random values of deviation 1 grow with sqrt(k). */
static double input_scale(const struct plan *p, int tensor, const int64_t *dims, enum family_inputs kind)
{
    if (kind == FAMILY_NORMAL)
        return 1.0;
    (void)tensor;
    int64_t k = axis_extent(p, "A", "k", dims);
    double largest = 8.0;
    while (largest > 1.0 && largest * largest * (double)(k ? k : 1) >= 4194304.0)
        largest /= 2.0;
    return largest;
}

static bool power_of_two(double x)
{
    int exponent;
    return frexp(x, &exponent) == 0.5;
}

/* Integer inputs give integers as long as the epilogue adds, compares and selects them, multiplies by powers of two. */
static bool exact(const struct plan *p)
{
    for (int i = 0; i < p->scalar_count; i++)
        if (p->scalar[i].value != 0.0 && !power_of_two(fabs(p->scalar[i].value)))
            return false;
    if (!p->epilogue.set)
        return true;
    const struct expr_graph *g = &p->fused;
    for (int i = 0; i < g->count; i++) {
        const struct expr_node *n = &g->node[i];
        if (n->type != EXPR_REAL)
            continue;
        if (n->op == EXPR_CONST_REAL && n->real != 0.0 && !power_of_two(fabs(n->real)) && n->real != floor(n->real))
            return false;
        if (n->op == EXPR_MUL) {
            bool scaled = false;
            for (int a = 0; a < 2; a++) {
                const struct expr_node *o = &g->node[n->arg[a]];
                scaled |= o->op == EXPR_SCALAR || (o->op == EXPR_CONST_REAL && power_of_two(fabs(o->real)));
            }
            if (!scaled)
                return false;
        }
        if (n->op == EXPR_DIV || n->op == EXPR_CAST ||
            (n->op >= EXPR_EXP && n->op <= EXPR_GELU_TANH && n->op != EXPR_RELU))
            return false;
    }
    return true;
}

struct reference_context {
    const struct plan *plan;
    const struct family_data *data;
    const double *scalar;
};

static double load_element(const struct plan *p, const struct family_data *data, int tensor, const int64_t *at)
{
    const struct plan_tensor *t = &p->tensor[tensor];
    int64_t offset = 0;
    for (int i = 0; i < t->rank; i++) {
        if (at[i] < 0 || at[i] >= data[tensor].extent[i])
            return 0.0;
        offset += at[i] * data[tensor].stride[i];
    }
    return tw_dtype_load(t->dtype, (const char *)data[tensor].bytes + offset * (int64_t)tw_dtype_bytes(t->dtype));
}

static double reference_tensor(void *context, int tensor, int rank, const int64_t *at)
{
    (void)rank;
    const struct reference_context *c = context;
    return load_element(c->plan, c->data, tensor, at);
}

static double reference_scalar(void *context, int scalar)
{
    return ((const struct reference_context *)context)->scalar[scalar];
}

static double scalar_named(const struct plan *p, const double *scalar, const char *name)
{
    for (int i = 0; i < p->scalar_count; i++)
        if (strcmp(p->scalar[i].name, name) == 0)
            return scalar[i];
    return 1.0;
}

/* One operand as doubles, row by row along k, so that the inner loop runs over contiguous memory. */
static double *unpack(const struct plan *p, int tensor, const struct family_data *data, int64_t rows, int64_t k)
{
    double *out = malloc(sizeof *out * (size_t)(rows * k + 1));
    if (!out)
        return NULL;
    const struct plan_tensor *t = &p->tensor[tensor];
    bool mn_major = find_axis(t, "k") == 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < k; i++)
            out[r * k + i] = load_element(p, data, tensor, mn_major ? (int64_t[]){i, r} : (int64_t[]){r, i});
    return out;
}

/* The epilogue in double precision over the sums over k, m x n row-major. */
static int finish(const struct plan *p, const int64_t *dims, const struct family_data *data, const double *scalar,
                  const double *partial, double *const *out)
{
    int64_t m = axis_extent(p, "A", "m", dims), n = axis_extent(p, "B", "n", dims);
    int c = find_tensor(p, "C");
    double alpha = scalar_named(p, scalar, "alpha"), beta = c >= 0 ? scalar_named(p, scalar, "beta") : 0.0;
    struct reference_context context = {p, data, scalar};
    int outputs = p->epilogue.set ? p->epilogue.output_count : 1;
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            double sum = alpha * partial[row * n + column];
            if (c >= 0 && beta != 0.0) {
                bool by_row = find_axis(&p->tensor[c], "n") == 1;
                sum += beta * load_element(p, data, c, by_row ? (int64_t[]){row, column} : (int64_t[]){column, row});
            }
            for (int o = 0; o < outputs; o++) {
                int tensor = p->epilogue.set ? p->epilogue.output[o].tensor : find_tensor(p, "D");
                double value = sum;
                if (p->epilogue.set) {
                    struct expr_env env = {&context,        dims, (int64_t[]){row, column, 0}, sum, reference_tensor,
                                           reference_scalar};
                    value = expr_eval(&p->fused, p->epilogue.output[o].node, &env);
                }
                out[tensor][find_axis(&p->tensor[tensor], "n") == 1 ? row * n + column : column * m + row] = value;
            }
        }
    return 0;
}

static int64_t partial_count(const struct plan *p, const int64_t *dims)
{
    return axis_extent(p, "A", "m", dims) * axis_extent(p, "B", "n", dims);
}

static int reference(const struct plan *p, const int64_t *dims, const struct family_data *data, const double *scalar,
                     double *const *out)
{
    int64_t m = axis_extent(p, "A", "m", dims), n = axis_extent(p, "B", "n", dims), k = axis_extent(p, "A", "k", dims);
    double *a = unpack(p, find_tensor(p, "A"), data, m, k), *b = unpack(p, find_tensor(p, "B"), data, n, k);
    double *sums = malloc(sizeof *sums * (size_t)(m * n + 1));
    int status = a && b && sums ? 0 : 3;
    for (int64_t at = 0; status == 0 && at < m * n; at++) {
        const double *row = a + at / n * k, *column = b + at % n * k;
        double sum = 0.0;
        for (int64_t i = 0; i < k; i++)
            sum += row[i] * column[i];
        sums[at] = sum;
    }
    if (status == 0)
        status = finish(p, dims, data, scalar, sums, out);
    free(a);
    free(b);
    free(sums);
    return status;
}

/* The struct `arguments` of templates/reference/gemm_f64.cu. */
static size_t reference_params(const struct plan *p, const int64_t *dims, const uint64_t *address,
                               const struct family_data *data, uint64_t partial, void *params)
{
    int a = find_tensor(p, "A"), b = find_tensor(p, "B");
    uint64_t value[8] = {address[a],
                         address[b],
                         partial,
                         (uint64_t)data[a].stride[0],
                         (uint64_t)data[b].stride[0],
                         (uint64_t)axis_extent(p, "A", "m", dims),
                         (uint64_t)axis_extent(p, "B", "n", dims),
                         (uint64_t)axis_extent(p, "A", "k", dims)};
    memcpy(params, value, sizeof value);
    return sizeof value;
}

const struct family family_gemm = {
    .spec = {.name = "gemm", .axes = "m n k", .tensor = tensors, .scalar = scalars, .epilogue_axes = "m n",
             .scalar_tensor = scalar_tensors},
    .arch = architectures,
    .variants = variants,
    .resolve = resolve,
    .input_scale = input_scale,
    .exact = exact,
    .reference = reference,
    .reference_template = "reference/gemm_f64.cu",
    .partial_count = partial_count,
    .reference_params = reference_params,
    .finish = finish,
};
