/* Programs with dots on architectures with TMA, mbarriers and wgmma: a producer warpgroup fills rings by bulk copies,
 * one to three consumer warpgroups multiply, each its own rows of the item's tiles.
 *
 * Here the machine's numbers are decided (shapes, layouts in shared memory, stages, budgets); the order of steps is the
 * derivation's (derive.h).
 */
#include <stdio.h>
#include <string.h>

#include "family/family.h"
#include "program/derive.h"

enum {
    WARPGROUP = 128,
    MMA_M = 64,
    MMA_K_BYTES = 32,
    MOST_STAGES = 8,
    MOST_CONSUMERS = 3,
    MOST_BOX = 256, /* elements of a tensor map's box along one dim */
    MOST_COLUMNS = 256,
    PRODUCER_REGISTERS = 40,
    STAGE_BARRIERS = 16,  /* bytes of a stage's two mbarriers */
    OTHER_REGISTERS = 24, /* of a consumer beside its places: addresses, descriptors, results under way */
    BUFFERS = 2,          /* of results, a consumer; 1 where tiles leave no more room */
};

struct pipeline {
    struct derive d;
    const struct program_lowering *l;
    const struct program *program;
    struct plan *plan;
    int stored; /* bytes of the largest chunk that is stored through shared memory; 0: none is */
    int buffers; /* such chunks that a consumer has under way */
    int cluster[SPEC_MAX_AXES]; /* by axis: neighbouring items whose blocks make a cluster; 1: none */
    int blocks;                 /* of a cluster */
};

static const struct spec_value *field(const struct pipeline *x, const char *path)
{
    static const struct spec_value none = {0};
    for (int i = 0; i < SPEC_FIELD_COUNT; i++)
        if (strcmp(spec_rows[i].path, path) == 0 && x->l->fields.value[i].set)
            return &x->l->fields.value[i];
    return &none;
}

/* The field's integer where the spec sets it, else `fallback`, recorded with the reason. */
static int choose(struct pipeline *x, const char *path, int fallback, const char *reason)
{
    const struct spec_value *v = field(x, path);
    char value[40];
    int chosen = v->set ? (int)v->integer : fallback;
    snprintf(value, sizeof value, "%d", chosen);
    family_reason(x->plan, path, value, "%s", v->set ? "the spec says so" : reason);
    return chosen;
}

/* ---- consumers and instructions ---------------------------------------------------------------------------------- */

static int choose_consumers(struct pipeline *x)
{
    int rows = x->d.rows, fallback = rows / MMA_M;
    while (fallback > 1 && (fallback > MOST_CONSUMERS || (rows / MMA_M) % fallback))
        fallback--;
    if (fallback == 3 && rows / MMA_M > 3)
        fallback = 2;
    int consumers = choose(x, "pipeline.consumers", fallback < 1 ? 1 : fallback, "each multiplies its 64 rows or more");
    if (rows % (MMA_M * consumers) == 0) {
        x->d.consumers = consumers;
        x->d.blocks = rows / MMA_M / consumers;
        return 0;
    }
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].kind == PROGRAM_DOT)
            return program_refuse(x->l, x->program->op[i].loc, "WGMMA-SHAPE",
                                  "the dot has %d rows, and %d consumer%s a multiple of %d on %s; write tiles of %d rows",
                                  rows, consumers, consumers == 1 ? " takes" : "s share", MMA_M * consumers,
                                  x->l->arch->name, (rows / (MMA_M * consumers) + 1) * MMA_M * consumers);
    return 1;
}

static const char *dot_name(struct pipeline *x, int op)
{
    const char *name = x->program->op[op].name;
    int number = 0;
    for (int i = 0; i < op; i++)
        number += x->program->op[i].kind == PROGRAM_DOT;
    return name ? plan_text(x->plan, "%s", name) : plan_text(x->plan, number ? "dot%d" : "dot", number);
}

/* The accumulator's place, shared by everything that is the same carried sum. */
static int accumulator(struct pipeline *x, int op, const char *name)
{
    const struct program_op *o = &x->program->op[op];
    int loop = x->d.work.op[op].parent;
    int place = plan_add_place(x->plan, (struct plan_place){.name = plan_text(x->plan, "%s_sum", name),
                                                            .kind = PLAN_PLACE_ACCUMULATOR,
                                                            .dtype = TW_FP32,
                                                            .rows = MMA_M * x->d.blocks,
                                                            .cols = o->tile.columns,
                                                            .registers = x->d.blocks * o->tile.columns / 2,
                                                            .shared = -1});
    if (!place)
        return 3;
    x->d.dot[op].place = place;
    int status = derive_home(&x->d, x->d.work.op[op].leaf, place);
    for (int i = 0; loop >= 0 && i < x->program->op[loop].carried && !status; i++) {
        if (x->d.work.op[x->program->op[loop].end].value[i] != x->d.work.op[op].leaf)
            continue;
        for (int k = 0; k < x->program->op_count && !status; k++) {
            const struct program_op *other = &x->program->op[k];
            if ((other->kind == PROGRAM_PARAM || other->kind == PROGRAM_RESULT) && other->loop == loop &&
                other->which == i)
                status = derive_home(&x->d, x->d.work.op[k].leaf, place);
        }
    }
    return status;
}

static int dot(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    struct derive_dot *k = &x->d.dot[op];
    enum tw_dtype dtype = o->arg[1].dtype;
    int columns = o->tile.columns, depth = o->arg[0].columns, bytes = (int)tw_dtype_bytes(dtype), status = 0;
    if ((dtype != TW_BF16 && dtype != TW_FP16) || o->arg[0].dtype != dtype)
        return program_refuse(x->l, o->loc, "DTYPE", "%s and %s are not multiplied; write bf16 or fp16 for both",
                              tw_dtype_name(o->arg[0].dtype), tw_dtype_name(dtype));
    if (columns % 8 || columns > MOST_COLUMNS)
        return program_refuse(x->l, o->loc, "WGMMA-SHAPE",
                              "wgmma computes a multiple of 8 columns up to 256, not %d; write a tile of %d", columns,
                              columns > MOST_COLUMNS ? MOST_COLUMNS : columns / 8 * 8 + 8);
    if (depth * bytes % MMA_K_BYTES)
        return program_refuse(x->l, o->loc, "WGMMA-SHAPE",
                              "wgmma sums over %d %s at a time, and %d is no multiple; write %d", MMA_K_BYTES / bytes,
                              tw_dtype_name(dtype), depth, (depth * bytes / MMA_K_BYTES + 1) * MMA_K_BYTES / bytes);
    const char *name = dot_name(x, op);
    struct plan_mma *mma = name ? family_add_mma(x->plan, name, "wgmma") : NULL;
    if (!mma)
        return 3;
    k->mma = x->plan->mma_count - 1;
    mma->m = MMA_M;
    mma->n = columns;
    mma->k = MMA_K_BYTES / bytes;
    mma->input = dtype;
    mma->accumulator = TW_FP32;
    mma->blocks_m = x->d.blocks;
    mma->blocks_n = 1;
    mma->k_steps = depth / mma->k;
    mma->operand[0].tensor = mma->operand[1].tensor = -1;
    status = accumulator(x, op, name);
    if (status || k->load[0] >= 0)
        return status;
    k->operand = plan_add_place(x->plan, (struct plan_place){.name = plan_text(x->plan, "%s_operand", name),
                                                             .kind = PLAN_PLACE_OPERAND,
                                                             .dtype = dtype,
                                                             .rows = MMA_M * x->d.blocks,
                                                             .cols = depth,
                                                             .registers = x->d.blocks * depth / 4,
                                                             .shared = -1});
    return k->operand ? 0 : 3;
}

/* Carried values that no dot writes: rows. */
static int carried_rows(struct pipeline *x)
{
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        int leaf = x->d.work.op[i].leaf;
        if (o->kind != PROGRAM_PARAM || (leaf < x->d.home_count && x->d.home[leaf] > 0))
            continue;
        if (o->tile.columns != 1)
            return program_refuse(x->l, x->program->op[o->loop].loc, "PROGRAM-LOWER",
                                  "carried value %d is a tile that no dot gives; carry sums of dots, and values of rows",
                                  o->which + 1);
        int place = plan_add_place(
            x->plan, (struct plan_place){.name = o->name ? plan_text(x->plan, "%s_row", o->name)
                                                         : plan_text(x->plan, "carried%d", x->plan->place_count),
                                         .kind = PLAN_PLACE_ROWS,
                                         .dtype = TW_FP32,
                                         .rows = MMA_M * x->d.blocks,
                                         .cols = 1,
                                         .registers = 2 * x->d.blocks,
                                         .shared = -1});
        if (!place || derive_home(&x->d, leaf, place))
            return 3;
        for (int k = i; k < x->program->op_count; k++)
            if (x->program->op[k].kind == PROGRAM_RESULT && x->program->op[k].loop == o->loop &&
                x->program->op[k].which == o->which && derive_home(&x->d, x->d.work.op[k].leaf, place))
                return 3;
    }
    return 0;
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

static bool reads_axis(const struct expr_graph *g, int node, int axis)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_AT && n->integer == axis)
        return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && reads_axis(g, n->arg[i], axis))
            return true;
    return false;
}

/* Items along the axis load the same tile. */
static bool is_shared_along(const struct pipeline *x, const struct program_op *load, int axis)
{
    for (int k = 0; k < x->plan->tensor[load->tensor].rank; k++)
        if (reads_axis(x->program->graph, load->at[k].start, axis))
            return false;
    return true;
}

/* A loop makes other turns for items along the axis. */
static const struct program_op *uneven_loop(const struct pipeline *x, int axis)
{
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind == PROGRAM_LOOP &&
            (reads_axis(x->program->graph, o->from, axis) || reads_axis(x->program->graph, o->to, axis)))
            return o;
    }
    return NULL;
}

/* The operation is a load of a ring, in tiles that `blocks` can load in slices of whole groups of 8 rows. */
static bool is_sliced(const struct pipeline *x, int op, int blocks)
{
    const struct program_op *o = &x->program->op[op];
    bool ring = false;
    int spans = 0;
    for (int i = 0; i < x->program->op_count; i++)
        ring = ring || (x->program->op[i].kind == PROGRAM_DOT &&
                        (x->d.dot[i].load[0] == op || x->d.dot[i].load[1] == op));
    for (int k = 0; ring && k + 1 < x->plan->tensor[o->tensor].rank; k++)
        spans += o->at[k].length > 1;
    return ring && spans == 1 && o->tile.rows % (8 * blocks) == 0;
}

/* Blocks that share each tile by multicast: where the spec says so; else two along the first of two axes with tiles. */
static int choose_cluster(struct pipeline *x)
{
    int tiled = 0, first = -1, status = 0;
    x->blocks = 1;
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        x->cluster[i] = 1;
    for (int i = 0; i < x->program->axis_count; i++) {
        const struct program_axis *a = &x->program->axis[i];
        if (a->extent < 0)
            continue;
        first = first < 0 ? i : first;
        tiled += a->tile > 0 ? 1 : 3;
    }
    for (int i = 0; i < x->program->axis_count; i++) {
        const struct program_axis *a = &x->program->axis[i];
        const struct program_op *uneven = uneven_loop(x, i);
        bool shares = false;
        for (int o = 0; o < x->program->op_count && a->extent >= 0; o++)
            shares = shares || (x->program->op[o].kind == PROGRAM_LOAD && is_sliced(x, o, a->cluster > 1 ? a->cluster : 2) &&
                                is_shared_along(x, &x->program->op[o], i));
        if (a->extent >= 0 && a->cluster > 1 && uneven)
            status |= program_refuse(x->l, uneven->loc, "CLUSTER",
                                     "blocks of a cluster along %s make different numbers of turns of this loop, and "
                                     "wait for each other's tiles; write cluster = { %s = 1 }",
                                     a->name, a->name);
        bool chosen = a->cluster == 0 && tiled == 2 && i == first && shares && !uneven;
        x->cluster[i] = a->extent < 0 ? 1 : chosen ? 2 : a->cluster > 1 ? a->cluster : 1;
        x->blocks *= x->cluster[i];
        if (chosen || a->cluster > 1)
            family_reason(x->plan, plan_text(x->plan, "cluster.%s", a->name), plan_text(x->plan, "%d", x->cluster[i]),
                          chosen ? "two blocks share a tile by multicast" : "the spec says so");
    }
    if (x->blocks > x->l->arch->max_cluster)
        status |= program_refuse(x->l, x->program->loc, "CLUSTER-SIZE", "%d blocks, more than the %d of a cluster on %s",
                                 x->blocks, x->l->arch->max_cluster, x->l->arch->name);
    return status;
}

/* How far apart the ranks of neighbours along the axis are. */
static int stride_of(const struct pipeline *x, int axis)
{
    int stride = 1;
    for (int i = 0; i < axis; i++)
        stride *= x->cluster[i];
    return stride;
}

/* Each block loads its slice of a tile that its neighbours along an axis of the cluster share. 0 or 3. */
static int share(struct pipeline *x, int op)
{
    int apart = 1;
    const struct program_op *o = &x->program->op[op];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    for (int i = 0; i < x->program->axis_count; i++) {
        if (x->cluster[i] == 1 || t->multicast > 1 || !is_shared_along(x, o, i) || !is_sliced(x, op, x->cluster[i]))
            continue;
        t->multicast = x->cluster[i];
        for (int k = 0; k + 1 < t->rank; k++)
            if (t->box[k] > 1)
                t->box[k] /= t->multicast;
        apart = stride_of(x, i);
    }
    return family_add_value(x->plan, plan_text(x->plan, "share.%s", t->name), apart);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* The tile of rows and columns in shared memory: whole columns of boxes as wide as the swizzle. `width` 0: of the
 * tile's own width. */
static int layout(struct pipeline *x, const struct program_op *o, int rows, int columns, bool one_box)
{
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    const struct spec_tensor *declared = &x->l->kernel->tensor[o->tensor];
    int size = (int)tw_dtype_bytes(t->dtype), row_bytes = columns * size, span = 16;
    enum tw_swizzle swizzle = TW_SWIZZLE_NONE;
    if (declared->swizzle_set) {
        swizzle = declared->swizzle;
        span = tw_swizzles[swizzle].span ? (int)tw_swizzles[swizzle].span : 16;
    } else {
        for (int s = 0; s < TW_SWIZZLE_COUNT; s++)
            if (tw_swizzles[s].span && row_bytes % (int)tw_swizzles[s].span == 0 && (int)tw_swizzles[s].span > span) {
                swizzle = (enum tw_swizzle)s;
                span = (int)tw_swizzles[s].span;
            }
        char name[80];
        snprintf(name, sizeof name, "%s.swizzle", t->name);
        family_reason(x->plan, name, tw_swizzles[swizzle].name, "the widest whose span divides the tile's %d-byte rows",
                      row_bytes);
    }
    if (row_bytes % span)
        return program_refuse(x->l, o->loc, "TMA-SPAN",
                              "%d %s of %s are %d bytes, no multiple of the %d that a box is made of; write %d", columns,
                              tw_dtype_name(t->dtype), t->name, row_bytes, span,
                              (row_bytes + span - 1) / span * span / size);
    t->access = PLAN_ACCESS_TMA;
    t->align = 16;
    t->swizzle = swizzle;
    for (int d = 0; d < t->rank; d++) {
        t->tile[d] = t->box[d] = o->at[d].length > 0 ? o->at[d].length : 1;
        if (d + 1 < t->rank && t->box[d] > 1 && o->kind == PROGRAM_STORE)
            t->tile[d] = t->box[d] = rows;
    }
    int last = t->rank - 1;
    t->box[last] = span / size;
    t->tile[last] = one_box ? t->box[last] : columns;
    t->boxes = one_box ? 1 : row_bytes / span;
    t->box_bytes = rows * span;
    t->tile_bytes = t->boxes * t->box_bytes;
    return 0;
}

/* The tile's columns run along the innermost dim, and its rows are all rows of the spans. */
static int check_spans(struct pipeline *x, const struct program_op *o, int rows, int columns, bool one_span)
{
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    int product = 1, spans = 0;
    for (int d = 0; d + 1 < t->rank; d++) {
        product *= o->at[d].length > 0 ? o->at[d].length : 1;
        spans += o->at[d].length > 1;
        if (o->at[d].limit >= 0)
            return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                                  "a limit below the extent of a dim is not lowered for tiles of dots; mask instead");
    }
    if (o->at[t->rank - 1].length == columns && product == rows && (!one_span || spans <= 1))
        return 0;
    return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                          "columns of %s's tile do not run along its innermost dim, which bulk copies ask for; write a "
                          "span there",
                          t->name);
}

/* An operand's tile in one stage, and how wgmma reads it. */
static int operand(struct pipeline *x, int op, int which)
{
    const struct derive_dot *k = &x->d.dot[op];
    const struct program_op *o = &x->program->op[k->load[which]];
    struct plan_mma *mma = &x->plan->mma[k->mma];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    int rows = o->tile.rows, columns = o->tile.columns;
    bool known = t->access == PLAN_ACCESS_TMA;
    const struct plan_tensor before = *t;
    if (t->out)
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "%s is written by this kernel too; read another tensor",
                              t->name);
    int status = check_spans(x, o, rows, columns, false);
    status = status ? status : layout(x, o, rows, columns, false);
    if (status)
        return status;
    t->multicast = 1;
    if (share(x, k->load[which]))
        return 3;
    for (int d = 0; d + 1 < t->rank; d++)
        if (t->box[d] > MOST_BOX)
            return program_refuse(x->l, o->loc, "TMA-BOX", "%d rows of %s in one box, which takes up to %d on %s",
                                  t->box[d], t->name, MOST_BOX, x->l->arch->name);
    if (known && memcmp(before.box, t->box, sizeof before.box) != 0)
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "%s is loaded in tiles of two shapes; write one", t->name);
    /* A: rows m, columns k as it lies. B: rows k, columns n, so that as it lies its columns are n. */
    bool mn_major = which == 0 ? k->transposed[0] : !k->transposed[1];
    int span = t->box_bytes / rows;
    bool plain = t->swizzle == TW_SWIZZLE_NONE;
    mma->operand[which].tensor = o->tensor;
    mma->operand[which].mn_major = mn_major;
    if (mn_major) {
        /* Groups of 8 k rows lie 8 spans apart; the next span along m or n is the next box. */
        mma->operand[which].leading_bytes = plain ? 8 * span : t->box_bytes;
        mma->operand[which].stride_bytes = plain ? t->box_bytes : 8 * span;
        mma->operand[which].k_bytes = mma->k * span;
        mma->operand[which].block_bytes = MMA_M * (int)tw_dtype_bytes(t->dtype) / span * t->box_bytes;
    } else {
        /* Groups of 8 rows lie 8 spans apart. Without a swizzle the second 16 bytes along k are the next box. */
        mma->operand[which].leading_bytes = plain ? t->box_bytes : 16;
        mma->operand[which].stride_bytes = 8 * span;
        mma->operand[which].k_bytes = MMA_K_BYTES;
        mma->operand[which].block_bytes = MMA_M * span;
    }
    if (mn_major && MMA_M * (int)tw_dtype_bytes(t->dtype) % span)
        return program_refuse(x->l, o->loc, "WGMMA-SHAPE", "64 rows of wgmma are narrower than the %d-byte span", span);
    return 0;
}

/* What one step of a store takes: 64 rows and as many columns as a box holds. */
static int output(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    t->out = true;
    if (o->arg[0].columns == 1 || x->l->variant == 1)
        return 0;
    if (t->dtype != TW_BF16 && t->dtype != TW_FP16 && t->dtype != TW_FP32)
        return program_refuse(x->l, o->loc, "DTYPE", "%s results are not written; write bf16, fp16 or fp32",
                              tw_dtype_name(t->dtype));
    int status = check_spans(x, o, o->arg[0].rows, o->arg[0].columns, true);
    status = status ? status : layout(x, o, MMA_M, o->arg[0].columns, true);
    t->whole_rows = true;
    if (!status && t->tile_bytes > x->stored)
        x->stored = t->tile_bytes;
    return status;
}

static int tensors(struct pipeline *x)
{
    int status = 0;
    for (int i = 0; i < x->program->op_count; i++) {
        for (int o = 0; o < 2 && x->program->op[i].kind == PROGRAM_DOT; o++)
            if (x->d.dot[i].load[o] >= 0)
                status |= operand(x, i, o);
        if (x->program->op[i].kind == PROGRAM_STORE)
            status |= output(x, i);
    }
    if (status)
        return status;
    const struct spec_value *promotion = field(x, "l2_promotion");
    int l2 = promotion->set ? (int)promotion->integer : 2;
    for (int i = 0; i < x->plan->tensor_count; i++)
        if (x->plan->tensor[i].access == PLAN_ACCESS_TMA &&
            !family_add_map(x->plan, i, x->plan->tensor[i].out ? 0 : l2))
            return 3;
    return 0;
}

/* ---- shared memory and roles ------------------------------------------------------------------------------------- */

static int stage_bytes(const struct pipeline *x, const struct derive_ring *ring)
{
    int bytes = 0;
    for (int i = 0; i < ring->load_count; i++)
        bytes += x->plan->tensor[x->program->op[ring->load[i]].tensor].tile_bytes;
    return bytes;
}

/* Rings that are refilled once an item have one stage, the others share what is left. */
static int choose_stages(struct pipeline *x, int *stages)
{
    int each = 0, limit = x->l->arch->shared_limit;
    int chunk = (x->stored + 1023) / 1024 * 1024 * x->d.consumers, fixed = chunk * BUFFERS;
    for (int r = 0; r < x->d.ring_count; r++) {
        int bytes = stage_bytes(x, &x->d.ring[r]) + STAGE_BARRIERS;
        if (x->d.ring[r].parent < 0)
            fixed += bytes;
        else
            each += bytes;
    }
    x->buffers = BUFFERS;
    if (each && (limit - fixed) / each < 2 && x->stored) {
        x->buffers = 1;
        fixed -= chunk * (BUFFERS - 1);
    }
    int fit = each ? (limit - fixed) / each : 1;
    *stages = choose(x, "pipeline.stages", fit > MOST_STAGES ? MOST_STAGES : fit, "as many as shared memory holds");
    if (*stages >= 1 && *stages <= fit && (fit >= 2 || !each))
        return 0;
    return program_refuse(x->l, x->program->loc, "SMEM",
                          "%d stages of %d bytes beside %d are %d bytes of shared memory, but a block of %s has %d; "
                          "write %s",
                          *stages < 2 ? 2 : *stages, each, fixed, (*stages < 2 ? 2 : *stages) * each + fixed,
                          x->l->arch->name, limit, fit >= 2 ? "fewer stages" : "smaller tiles");
}

/* Blocks that read what a block loads into the ring: its neighbours along the axes that tiles are shared along. */
static int readers(const struct pipeline *x, const struct derive_ring *ring)
{
    int blocks = 1, known[2] = {0}, count = 0;
    for (int i = 0; i < ring->load_count; i++) {
        const struct program_op *o = &x->program->op[ring->load[i]];
        const struct plan_tensor *t = &x->plan->tensor[o->tensor];
        for (int a = 0; a < x->program->axis_count && t->multicast > 1; a++) {
            if (x->cluster[a] == 1 || !is_shared_along(x, o, a))
                continue;
            bool seen = (count > 0 && known[0] == a) || (count > 1 && known[1] == a);
            if (!seen && count < 2) {
                known[count++] = a;
                blocks += x->cluster[a] - 1;
            }
            break;
        }
    }
    return blocks;
}

static int add_ring(struct pipeline *x, struct derive_ring *ring, int stages)
{
    char name[128];
    struct plan_ring *r = family_add_ring(x->plan, ring->name, stages, PLAN_FILL_BULK);
    if (!r)
        return 3;
    ring->number = x->plan->ring_count - 1;
    r->full_arrivals = 1;
    r->tx_bytes = stage_bytes(x, ring);
    r->empty_arrivals = 4 * x->d.consumers * readers(x, ring);
    r->tensor_count = ring->load_count;
    for (int i = 0; i < ring->load_count; i++) {
        int tensor = x->program->op[ring->load[i]].tensor;
        const struct plan_tensor *t = &x->plan->tensor[tensor];
        r->tensor[i] = tensor;
        snprintf(name, sizeof name, "%s.%s", ring->name, t->name);
        if (!family_add_shared(x->plan, name, stages * t->tile_bytes, (int)tw_swizzles[t->swizzle].align, stages))
            return 3;
    }
    return 0;
}

static int add_barriers(struct pipeline *x, const struct derive_ring *ring)
{
    char full[128], empty[128];
    struct plan_ring *r = &x->plan->ring[ring->number];
    snprintf(full, sizeof full, "%s.full", ring->name);
    snprintf(empty, sizeof empty, "%s.empty", ring->name);
    r->full_shared = x->plan->shared_count;
    r->empty_shared = x->plan->shared_count + 1;
    return family_add_shared(x->plan, full, 8 * r->stages, 8, r->stages) &&
                   family_add_shared(x->plan, empty, 8 * r->stages, 8, r->stages)
               ? 0
               : 3;
}

static int results(struct pipeline *x)
{
    struct plan *p = x->plan;
    int align = 128, bytes = (x->stored + 1023) / 1024 * 1024 * x->buffers * x->d.consumers;
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].out && (int)tw_swizzles[p->tensor[i].swizzle].align > align)
            align = (int)tw_swizzles[p->tensor[i].swizzle].align;
    struct plan_ring *d = family_add_ring(p, "d", x->buffers, PLAN_FILL_THREADS);
    if (!d || !family_add_shared(p, "d", bytes, align, x->buffers * x->d.consumers))
        return 3;
    for (int i = 0; i < p->tensor_count; i++)
        if (p->tensor[i].out && p->tensor[i].access == PLAN_ACCESS_TMA)
            d->tensor[d->tensor_count++] = i;
    return family_add_barrier(p, "d_barrier", 1, WARPGROUP);
}

static int memory_and_roles(struct pipeline *x)
{
    struct plan *p = x->plan;
    int stages, status = choose_stages(x, &stages);
    for (int r = 0; r < x->d.ring_count && !status; r++)
        status = add_ring(x, &x->d.ring[r], x->d.ring[r].parent < 0 ? 1 : stages);
    if (!status && x->stored)
        status = results(x);
    for (int r = 0; r < x->d.ring_count && !status; r++)
        status = add_barriers(x, &x->d.ring[r]);
    if (status)
        return status;
    int consumers = x->d.consumers;
    const struct spec_value *turns = field(x, "pipeline.turns");
    if (turns->set && turns->integer && consumers > 1) {
        if (x->l->kernel->ahead_count == 0)
            return program_refuse(x->l, turns->loc, "PROGRAM-TURNS",
                                  "consumers pass the tensor cores on around a dot that is issued a turn ahead; write "
                                  "ahead = { NAME = { turns = 1 } }, or turns = false");
        if (family_add_barrier(p, "turn", 1 + consumers, 2 * WARPGROUP))
            return 3;
        p->barrier[p->barrier_count - 1].turns = true;
        x->d.turns = p->barrier_count;
    }
    if (!family_add_role(p, "producer", 1, 0, 4, PRODUCER_REGISTERS) ||
        !family_add_role(p, "consumer", consumers, 4, 4 * consumers, consumers == 3 ? 152 : 232))
        return 3;
    x->d.producer = &p->role[p->role_count - 2];
    x->d.consumer = &p->role[p->role_count - 1];
    return derive_steps(&x->d);
}

/* ---- the Plan ---------------------------------------------------------------------------------------------------- */

/* The variable of each loop. Its range is said where the loop is walked. */
static int loops(struct pipeline *x)
{
    struct plan *p = x->plan;
    x->d.loop = plan_alloc(p, sizeof *x->d.loop * (size_t)(x->program->op_count + 1));
    p->loop = plan_alloc(p, sizeof *p->loop * (size_t)(x->program->op_count + 1));
    if (!x->d.loop || !p->loop)
        return 3;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        int64_t step;
        if (o->kind != PROGRAM_LOOP)
            continue;
        if (o->list >= 0 || !expr_is_int(x->program->graph, o->step, &step))
            return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "a loop over a list is not lowered; write a range");
        x->d.loop[i] = p->loop_count;
        const char *name = plan_text(p, "at_%s", o->name ? o->name : "loop");
        for (int k = 0; k < x->program->axis_count && o->name; k++)
            if (strcmp(x->program->axis[k].name, o->name) == 0 && x->program->axis[k].extent >= 0)
                name = plan_text(p, "loop_%s", o->name);
        for (int k = 0; k < p->loop_count && name; k++)
            if (strcmp(p->loop[k].name, name) == 0)
                name = plan_text(p, "%s%d", name, i);
        if (!name)
            return 3;
        p->loop[p->loop_count++] = (struct plan_loop){.name = name, .step = (int)step};
    }
    return 0;
}

/* The node of the program said in plan.fused, with `end` in place of where the item begins along `axis`. -1: out of
 * memory, or it holds what is no such number. */
static int at_end(struct pipeline *x, int node, int axis, int end)
{
    struct expr_graph *g = &x->plan->fused;
    if (node < 0)
        return -1;
    struct expr_node n = x->program->graph->node[node];
    if (n.op == EXPR_AT && n.integer == axis)
        return end;
    if (n.op == EXPR_TENSOR || n.op == EXPR_TILE || n.op == EXPR_LOOP || n.op == EXPR_INDEX)
        return -1;
    for (int i = 0; i < 3; i++)
        if (n.arg[i] >= 0 && (n.arg[i] = at_end(x, n.arg[i], axis, end)) < 0)
            return -1;
    return expr_add(g, &n);
}

enum { CACHED = 32 << 20 /* bytes of the L2 that items side by side may share */ };

/* Items whose loop is longer the further they stand along an axis: the longest first, and side by side as many of the
 * others as read what the L2 holds together. Its length in turns at the far end is said in plan.fused. 0, 1: there is no
 * such axis, 3. */
static int longest_first(struct pipeline *x)
{
    const struct expr_graph *g = x->program->graph;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind != PROGRAM_LOOP || o->depth > 0)
            continue;
        for (int k = 0; k < x->plan->item_count; k++) {
            const struct plan_item *item = &x->plan->item[k];
            if (!reads_axis(g, o->to, item->axis))
                continue;
            int to = at_end(x, o->to, item->axis, item->extent), bytes = 0;
            for (int r = 0; r < x->d.ring_count; r++)
                bytes += x->d.ring[r].parent == i ? stage_bytes(x, &x->d.ring[r]) : 0;
            int step = x->plan->loop[x->d.loop[i]].step;
            if (to < 0 || bytes == 0)
                return 1;
            return family_add_word(x->plan, "schedule.longest", x->plan->axis[item->axis]) ||
                           family_add_value(x->plan, "schedule.length", to) ||
                           family_add_value(x->plan, "schedule.cached", (int64_t)CACHED / bytes * step)
                       ? 3
                       : 0;
        }
    }
    return 1;
}

/* Items in order, one a multiprocessor at a time: of two axes that both have tiles, bands of rows of items, so that
 * neighbours share both operands in the L2; else the last axis fastest. */
static int items(struct pipeline *x)
{
    struct plan *p = x->plan;
    struct expr_graph *g = &p->graph;
    int total = expr_int(g, 1), two = 0;
    p->item = plan_alloc(p, sizeof *p->item * (size_t)(x->program->axis_count + 1));
    if (!p->item)
        return 3;
    for (int i = 0; i < x->program->axis_count; i++) {
        const struct program_axis *a = &x->program->axis[i];
        if (a->extent < 0)
            continue;
        struct plan_item *item = &p->item[p->item_count++];
        *item = (struct plan_item){.axis = i, .tile = a->tile > 0 ? a->tile : 1};
        item->extent = expr_import(&p->fused, x->program->graph, a->extent);
        int extent = expr_import(g, x->program->graph, a->extent);
        total = expr_binary(g, EXPR_MUL, total, expr_ceil_div(g, extent, expr_int(g, item->tile * x->cluster[i])));
        if (family_add_value(p, plan_text(p, "cluster.%s", a->name), x->cluster[i]))
            return 3;
        two += a->tile > 0 ? 1 : 3;
        if (item->extent < 0 || total < 0)
            return 3;
    }
    const struct spec_value *order = field(x, "schedule.order");
    const char *way = order->set ? order->text : two == 2 ? "grouped" : "row", *why = "neighbours share tiles in the L2";
    int longest = order->set ? 1 : longest_first(x);
    if (longest == 3)
        return 3;
    if (longest == 0) {
        way = "longest";
        why = "items differ in length, and those that begin last are the shortest";
    }
    int group = choose(x, "schedule.group", 8, "bands of 8 items keep their tiles in the L2");
    if (family_reason(p, "schedule.order", way, "%s", order->set ? "the spec says so" : why) ||
        family_add_word(p, "schedule.order", way) || family_add_value(p, "schedule.group", group))
        return 3;
    const struct spec_value *persistent = field(x, "schedule.persistent");
    if (!persistent->set || persistent->integer)
        total = expr_binary(
            g, EXPR_MIN, total,
            expr_binary(g, EXPR_FLOORDIV, expr_symbol(g, p->symbol_count - 1), expr_int(g, x->blocks)));
    p->launch.grid[0] = total = expr_binary(g, EXPR_MUL, total, expr_int(g, x->blocks));
    p->launch.cluster[0] = x->blocks;
    return total < 0 ? 3 : 0;
}

/* The extents of tensors whose elements are read one by one, as nodes of plan.fused: extent.NAME.d0, ... */
static int element_extents(struct plan *p)
{
    for (int i = 0; i < p->fused.count; i++) {
        const struct expr_node *n = &p->fused.node[i];
        int tensor = (int)n->integer;
        bool known = n->op != EXPR_TENSOR;
        for (int k = 0; k < i && !known; k++)
            known = p->fused.node[k].op == EXPR_TENSOR && p->fused.node[k].integer == tensor;
        for (int d = 0; !known && d < p->tensor[tensor].rank; d++) {
            int node = expr_import(&p->fused, &p->graph, p->tensor[tensor].dim[d]);
            if (node < 0 || family_add_value(p, plan_text(p, "extent.%s.d%d", p->tensor[tensor].name, d), node))
                return 3;
        }
    }
    return 0;
}

static int bytes_moved(struct plan *p)
{
    struct expr_graph *e = &p->graph;
    int bytes = expr_int(e, 0);
    for (int i = 0; i < p->tensor_count; i++) {
        int elements = expr_int(e, (int64_t)tw_dtype_bytes(p->tensor[i].dtype));
        for (int d = 0; d < p->tensor[i].rank; d++)
            elements = expr_binary(e, EXPR_MUL, elements, p->tensor[i].dim[d]);
        bytes = expr_binary(e, EXPR_ADD, bytes, elements);
    }
    p->bytes_moved = bytes;
    return bytes < 0 ? 3 : 0;
}

static int registers(struct pipeline *x)
{
    struct plan *p = x->plan;
    int sum = OTHER_REGISTERS;
    for (int i = 0; i < p->place_count; i++)
        if (p->place[i].kind == PLAN_PLACE_ACCUMULATOR || p->place[i].kind == PLAN_PLACE_FRAGMENT ||
            p->place[i].kind == PLAN_PLACE_OPERAND)
            sum += p->place[i].registers;
    p->registers_estimate = sum;
    const struct spec_value *most = field(x, "max_registers"), *spills = field(x, "allow_spills");
    p->register_limit = most->set ? (int)most->integer : 0;
    p->allow_spills = spills->set && spills->integer;
    return 0;
}

static int decide(struct pipeline *x)
{
    struct plan *p = x->plan;
    int status = derive_open(&x->d, x->l);
    status = status ? status : choose_consumers(x);
    for (int i = 0; i < x->program->op_count && !status; i++)
        if (x->program->op[i].kind == PROGRAM_DOT)
            status = dot(x, i);
    status = status ? status : carried_rows(x);
    status = status ? status : choose_cluster(x);
    status = status ? status : tensors(x);
    if (status)
        return status;
    expr_free(&p->fused); /* the program's own nodes: those of the steps take their place */
    p->launch.block = WARPGROUP * (x->d.consumers + 1);
    p->launch.min_blocks = 1;
    p->blocks_per_sm = 1;
    status = loops(x);
    status = status ? status : items(x);
    status = status ? status : memory_and_roles(x);
    status = status ? status : element_extents(p);
    status = status ? status : registers(x);
    status = status ? status : bytes_moved(p);
    if (status)
        return status;
    family_place_shared(p);
    return family_pack_params(p);
}

static bool takes(const struct program *program)
{
    return program_holds(program, PROGRAM_DOT);
}

static int variants(const struct spec *spec, const struct spec_kernel *kernel, const struct arch *arch)
{
    (void)spec;
    (void)kernel;
    (void)arch;
    return 1;
}

static int lower(const struct program_lowering *l)
{
    for (int i = 0; i < l->kernel->program->op_count && !l->arch->wgmma; i++)
        if (l->kernel->program->op[i].kind == PROGRAM_DOT)
            return program_refuse(l, l->kernel->program->op[i].loc, "PROGRAM-LOWER",
                                  "%s has no lowering of dot in programs; write arch = { sm_90a = {} }", l->arch->name);
    struct pipeline x = {.l = l, .program = l->kernel->program, .plan = l->plan};
    l->plan->variant = "";
    l->plan->entry = l->plan->kernel;
    l->plan->template_name = "program.sm_90a.cu";
    l->plan->derived = true;
    int status = decide(&x);
    derive_close(&x.d);
    return status;
}

const struct program_lowerer program_lower_pipeline = {"pipeline", takes, variants, lower};
