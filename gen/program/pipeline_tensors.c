/* How tiles lie in shared memory and travel: boxes, swizzles, operands of wgmma, chunks of stores. */
#include <stdio.h>
#include <string.h>

#include "program/pipeline.h"

enum { MOST_BOX = 256 /* elements of a tensor map's box along one dim */ };

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
        return program_refuse(
            x->l, o->loc, "TMA-SPAN", "%d %s of %s are %d bytes, no multiple of the %d that a box is made of; write %d",
            columns, tw_dtype_name(t->dtype), t->name, row_bytes, span, (row_bytes + span - 1) / span * span / size);
    t->access = PLAN_ACCESS_TMA;
    t->align = 16;
    t->swizzle = swizzle;
    for (int d = 0; d < t->rank; d++) {
        t->tile[d] = t->box[d] = o->at[d].length > 0 ? o->at[d].length : 1;
        if (d + 1 < t->rank && t->box[d] > 1 && o->kind == PROGRAM_STORE)
            t->tile[d] = t->box[d] = rows;
    }
    if (o->kind == PROGRAM_GATHER) {
        t->gathered = plan_some(o->gathered);
        t->tile[o->gathered] = rows;
    }
    int last = t->rank - 1;
    t->box[last] = span / size;
    t->tile[last] = one_box ? t->box[last] : columns;
    t->boxes = one_box ? 1 : row_bytes / span;
    t->box_bytes = rows * span;
    t->tile_bytes = t->boxes * t->box_bytes;
    return 0;
}

/* Beyond a limit lies what copies bring all the same: rows and columns of the dot that are outside too. What a dot sums
 * must be zeros there: rows of such a tile come in parts where the limit is among them. */
static int check_limits(struct pipeline *x, int op, bool summed_columns)
{
    const struct program_op *o = &x->program->op[op];
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    for (int d = 0; d < t->rank; d++) {
        if (o->at[d].limit < 0 || o->at[d].column != summed_columns)
            continue;
        if (!x->d.work.op[op].summed)
            return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                                  "a dot sums along the span of %s that has a limit, and bulk copies bring what lies "
                                  "beyond it; write span(start, length), and zeros in memory from there on",
                                  t->name);
        if (family_add_value(x->plan, plan_text(x->plan, "limited.%s", t->name), 1))
            return 3;
    }
    return 0;
}

/* Copies of single rows begin at multiples of the 128 bytes that bulk copies ask for. */
static int check_row_bytes(const struct pipeline *x, const struct program_op *o, int rows)
{
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    if (t->box_bytes == 128 * rows)
        return 0;
    return program_refuse(x->l, o->loc, "TMA-SPAN",
                          "rows of %s come one by one, and the %d bytes of a box's row are less than the 128 that bulk "
                          "copies ask for; write a tile of multiples of %d columns, and swizzle = \"128B\"",
                          t->name, t->box_bytes / rows, 128 / (int)tw_dtype_bytes(t->dtype));
}

static bool is_limited(const struct pipeline *x, int tensor)
{
    const char *name = plan_text(x->plan, "limited.%s", x->plan->tensor[tensor].name);
    for (int i = 0; i < x->plan->value_count && name; i++)
        if (strcmp(x->plan->value[i].name, name) == 0)
            return true;
    return false;
}

/* The tile's columns run along the innermost dim, and its rows are all rows of the spans. */
static int check_spans(struct pipeline *x, const struct program_op *o, int rows, int columns, bool one_span)
{
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    int product = o->kind == PROGRAM_GATHER ? rows : 1, spans = 0;
    for (int d = 0; d + 1 < t->rank; d++) {
        product *= o->at[d].length > 0 ? o->at[d].length : 1;
        spans += o->at[d].length > 1;
    }
    if (o->at[t->rank - 1].length == columns && product == rows && (!one_span || spans <= 1))
        return 0;
    return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                          "columns of %s's tile do not run along its innermost dim, which bulk copies ask for; write a "
                          "span there",
                          t->name);
}

static bool is_copied(const struct pipeline *x, int load)
{
    for (int r = 0; r < x->d.ring_count; r++)
        for (int i = 0; i < x->d.ring[r].load_count; i++)
            if (x->d.ring[r].load[i] == load)
                return x->d.ring[r].copied;
    return false;
}

/* An operand's tile in one stage, and how wgmma reads it. */
static int operand(struct pipeline *x, int op, int which)
{
    const struct derive_dot *k = &x->d.dot[op];
    const struct program_op *o = &x->program->op[k->load[which]];
    struct plan_mma *mma = &x->plan->mma[k->mma];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    int rows = o->tile.rows, columns = o->tile.columns;
    bool known = t->access != PLAN_ACCESS_GLOBAL;
    const struct plan_tensor before = *t;
    if (t->out)
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "%s is written by this kernel too; read another tensor",
                              t->name);
    int status = check_limits(x, k->load[which], (which == 0) != k->transposed[which]);
    status = status ? status : check_spans(x, o, rows, columns, false);
    status = status ? status : layout(x, o, rows, columns, false);
    bool copied = is_copied(x, k->load[which]);
    if (!status && ((t->gathered && !copied) || is_limited(x, o->tensor)))
        status = check_row_bytes(x, o, rows);
    if (!status && copied) {
        t->access = PLAN_ACCESS_CP_ASYNC;
        t->box[plan_number(t->gathered)] = rows;
    }
    if (status)
        return status;
    t->multicast = 1;
    if (pipeline_share(x, k->load[which], !known))
        return 3;
    for (int d = 0; d + 1 < t->rank; d++)
        if (t->box[d] > MOST_BOX && !copied)
            return program_refuse(x->l, o->loc, "TMA-BOX", "%d rows of %s in one box, which takes up to %d on %s",
                                  t->box[d], t->name, MOST_BOX, x->l->arch->name);
    if (known && (memcmp(before.box, t->box, sizeof before.box) != 0 || before.multicast != t->multicast ||
                  before.gathered != t->gathered || before.access != t->access))
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "%s is loaded in tiles of two shapes; write one", t->name);
    /* A: rows m, columns k as it lies. B: rows k, columns n, so that as it lies its columns are n. */
    bool mn_major = which == 0 ? k->transposed[0] : !k->transposed[1];
    int span = t->box_bytes / rows;
    bool plain = t->swizzle == TW_SWIZZLE_NONE;
    if (which == 0 && k->resident)
        return 0;
    mma->operand[which].tensor = o->tensor;
    mma->operand[which].mn_major = mn_major;
    if (mn_major) {
        /* Groups of 8 k rows lie 8 spans apart; the next span along m or n is the next box. */
        mma->operand[which].leading_bytes = plain ? 8 * span : t->box_bytes;
        mma->operand[which].stride_bytes = plain ? t->box_bytes : 8 * span;
        mma->operand[which].k_bytes = mma->k * span;
        mma->operand[which].block_bytes = PIPELINE_ROWS * (int)tw_dtype_bytes(t->dtype) / span * t->box_bytes;
    } else {
        /* Groups of 8 rows lie 8 spans apart. Without a swizzle the second 16 bytes along k are the next box. */
        mma->operand[which].leading_bytes = plain ? t->box_bytes : 16;
        mma->operand[which].stride_bytes = 8 * span;
        mma->operand[which].k_bytes = PIPELINE_K_BYTES;
        mma->operand[which].block_bytes = PIPELINE_ROWS * span;
    }
    if (mn_major && PIPELINE_ROWS * (int)tw_dtype_bytes(t->dtype) % span)
        return program_refuse(x->l, o->loc, "WGMMA-SHAPE", "64 rows of wgmma are narrower than the %d-byte span", span);
    return 0;
}

/* A chunk of a store whose rows run along the innermost dim: 64 of them, and as many columns as one swizzle turns well.
 */
static int turned_output(struct pipeline *x, const struct program_op *o, const struct program_tile *tile)
{
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    int columns = tw_dtype_bytes(t->dtype) == 4 ? 32 : 64;
    while (tile->columns % columns)
        columns /= 2;
    int status = check_spans(x, o, tile->columns, tile->rows, true);
    return status ? status : layout(x, o, columns, PIPELINE_ROWS, false);
}

/* What one step of a store takes: 64 rows and as many columns as a box holds. */
static int output(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    bool turned;
    const struct program_tile *tile = work_stored(&x->d.work, o, &turned);
    t->out = true;
    if (tile->columns == 1)
        return 0;
    if (family_add_value(x->plan, plan_text(x->plan, "turned.%s", t->name), turned))
        return 3;
    if (t->dtype != TW_BF16 && t->dtype != TW_FP16 && t->dtype != TW_FP32)
        return program_refuse(x->l, o->loc, "DTYPE", "%s results are not written; write bf16, fp16 or fp32",
                              tw_dtype_name(t->dtype));
    int64_t extent;
    bool never = expr_is_int(&x->plan->graph, t->dim[t->rank - 1], &extent) &&
                 extent * (int64_t)tw_dtype_bytes(t->dtype) % 16 != 0;
    /* Bulk stores end where the tensor does, and, row by row, at a row that data say. */
    int beyond = x->d.work.op[op].beyond;
    bool wide = tile->columns * (int)tw_dtype_bytes(t->dtype) % 128 == 0 &&
                (!x->l->kernel->tensor[o->tensor].swizzle_set || t->swizzle == TW_SWIZZLE_128B);
    never = never || (beyond >= 0 && (turned || !wide || !work_ends_rows(&x->d.work, beyond)));
    if (x->l->variant == 1 || never) {
        int columns = tile->columns % 32 == 0 ? 32 : tile->columns % 16 == 0 ? 16 : 8;
        x->columns = x->columns && x->columns < columns ? x->columns : columns;
        return 0;
    }
    int status = turned ? turned_output(x, o, tile) : check_spans(x, o, tile->rows, tile->columns, true);
    status = status || turned ? status : layout(x, o, PIPELINE_ROWS, tile->columns, true);
    t->whole_rows = true;
    if (!status && t->tile_bytes > x->stored)
        x->stored = t->tile_bytes;
    if (!status && beyond >= 0 && family_add_value(x->plan, plan_text(x->plan, "limited.%s", t->name), 1))
        return 3;
    return status;
}

/* Maps of 8 rows and of one, of tensors whose rows end where data say. */
static int part_maps(struct pipeline *x)
{
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind != PROGRAM_STORE || x->d.work.op[i].beyond < 0)
            continue;
        for (int k = 0; k < x->program->op_count; k++)
            if (k != i && x->program->op[k].kind == PROGRAM_STORE && x->program->op[k].tensor == o->tensor)
                return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                                      "%s, whose rows end where data say, is stored in two places; write one store",
                                      x->plan->tensor[o->tensor].name);
    }
    for (int i = 0; i < x->plan->tensor_count; i++) {
        int dim = 0;
        if (!is_limited(x, i))
            continue;
        for (int d = 0; d + 1 < x->plan->tensor[i].rank; d++)
            dim = x->plan->tensor[i].tile[d] > 1 ? d : dim;
        if (!family_add_part_map(x->plan, i, dim, 8) || !family_add_part_map(x->plan, i, dim, 1))
            return 3;
    }
    return 0;
}

int pipeline_tensors(struct pipeline *x)
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
    const struct spec_value *promotion = pipeline_field(x, "l2_promotion");
    int l2 = promotion->set ? (int)promotion->integer : 2;
    for (int i = 0; i < x->plan->tensor_count; i++)
        if (x->plan->tensor[i].access == PLAN_ACCESS_TMA &&
            !family_add_map(x->plan, i, x->plan->tensor[i].out ? 0 : l2))
            return 3;
    return part_maps(x);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static bool reads_op(const struct expr_graph *g, int node, enum expr_op op)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == op)
        return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && reads_op(g, n->arg[i], op))
            return true;
    return false;
}

/* The element and its neighbour along a fragment's columns lie in one word: the last index counts columns from an even
 * place, and no other index counts them. */
static bool is_pair(const struct plan *p, const struct expr_node *n)
{
    const struct expr_graph *g = &p->fused;
    const struct expr_node *last = &g->node[g->index[n->first_index + n->rank - 1]];
    for (int i = 0; last->op == EXPR_ADD && i < 2; i++) {
        const struct expr_node *base = &g->node[last->arg[i]], *other = &g->node[last->arg[1 - i]];
        bool even = base->op == EXPR_LOOP && p->loop[base->integer].step % 2 == 0;
        for (int k = 0; k < p->item_count && base->op == EXPR_AT; k++)
            even = even || (p->item[k].axis == base->integer && p->item[k].tile % 2 == 0);
        if (even && other->op == EXPR_COLUMN) {
            last = other;
            break;
        }
    }
    bool pair = last->op == EXPR_COLUMN;
    for (int i = 0; i + 1 < n->rank; i++)
        pair = pair && !reads_op(g, g->index[n->first_index + i], EXPR_COLUMN);
    return pair;
}

/* Pairs of neighbours are read as one word where launches see to it that rows are aligned to them. */
static void read_pairs(struct pipeline *x)
{
    struct plan *p = x->plan;
    for (int t = 0; t < p->tensor_count && x->l->variant == 0; t++) {
        bool read = false, pairs = true;
        for (int i = 0; i < p->fused.count; i++)
            if (p->fused.node[i].op == EXPR_TENSOR && p->fused.node[i].integer == t) {
                read = true;
                pairs = pairs && is_pair(p, &p->fused.node[i]);
            }
        bool half = p->tensor[t].dtype == TW_BF16 || p->tensor[t].dtype == TW_FP16;
        if (!read || !pairs || p->tensor[t].out || p->tensor[t].map >= 0 || !half)
            continue;
        p->tensor[t].align = 2 * (int)tw_dtype_bytes(p->tensor[t].dtype);
        p->tensor[t].whole_rows = true;
    }
}

/* The extents of a tensor as nodes of plan.fused: extent.NAME.d0, ... */
static int add_extents(struct plan *p, int tensor)
{
    for (int d = 0; d < p->tensor[tensor].rank; d++) {
        int node = expr_import(&p->fused, &p->graph, p->tensor[tensor].dim[d]);
        if (node < 0 || family_add_value(p, plan_text(p, "extent.%s.d%d", p->tensor[tensor].name, d), node))
            return 3;
    }
    return 0;
}

/* Of tensors whose elements are read one by one, or whose rows threads copy. */
static int element_extents(struct plan *p)
{
    bool *read = plan_alloc(p, sizeof *read * (size_t)(p->tensor_count + 1));
    if (!read)
        return 3;
    for (int i = 0; i < p->fused.count; i++)
        if (p->fused.node[i].op == EXPR_TENSOR)
            read[p->fused.node[i].integer] = true;
    for (int t = 0; t < p->tensor_count; t++)
        if ((read[t] || p->tensor[t].access == PLAN_ACCESS_CP_ASYNC) && add_extents(p, t))
            return 3;
    return 0;
}

int pipeline_elements(struct pipeline *x)
{
    const struct expr_graph *g = &x->plan->fused;
    bool *seen = plan_alloc(x->plan, sizeof *seen * (size_t)(x->plan->tensor_count + 1));
    int faults = 0;
    for (int i = 0; i < g->count && seen; i++)
        if (g->node[i].op == EXPR_TENSOR && !seen[g->node[i].integer]) {
            seen[g->node[i].integer] = true;
            faults |= pipeline_check_element(x, (int)g->node[i].integer);
        }
    if (!seen || faults)
        return seen ? 1 : 3;
    read_pairs(x);
    return element_extents(x->plan);
}
