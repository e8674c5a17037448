/* How tiles lie in shared memory and travel: boxes, swizzles, operands of wgmma, chunks of stores. */
#include <stdio.h>
#include <string.h>

#include "lower/pipeline/pipeline.h"

enum {
    MOST_BOX = 256,    /* elements of a tensor map's box along one dim */
    WIDEST_SPAN = 128, /* bytes of a box's rows */
    LEAST_SPAN = 32,
    LEAST_CHUNK = 8,  /* columns */
    PLAIN_LEAST = 24, /* columns of a chunk without a swizzle: 16 have a swizzle that does as well */
    PLAIN_MOST = 64,  /* more would take a stage of tiles */
};

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Of so many rows and boxes beside each other, of so many columns each. */
static void lay(struct pipeline *x, const struct program_op *o, enum tw_swizzle swizzle, int rows, int columns,
                int boxes)
{
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    int last = t->rank - 1;
    t->access = PLAN_ACCESS_TMA;
    t->align = 16;
    t->swizzle = swizzle;
    for (int d = 0; d < t->rank; d++) {
        t->tile[d] = t->box[d] = o->at[d].length > 0 ? o->at[d].length : 1;
        if (d + 1 < t->rank && t->box[d] > 1 && work_is_store(o))
            t->tile[d] = t->box[d] = rows;
    }
    if (o->kind == PROGRAM_GATHER) {
        t->gathered = plan_some(o->gathered);
        t->tile[o->gathered] = rows;
    }
    t->window = o->window;
    t->box[last] = columns;
    t->tile[last] = boxes * columns;
    t->boxes = boxes;
    t->box_bytes = rows * columns * (int)tw_dtype_bytes(t->dtype);
    t->tile_bytes = boxes * t->box_bytes;
}

int pipeline_layout(struct pipeline *x, const struct program_op *o, int rows, int columns, int most)
{
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    const struct spec_tensor *declared = &x->l->kernel->tensor[o->tensor];
    int size = (int)tw_dtype_bytes(t->dtype), row_bytes = columns * size, span = 16;
    int widest = most ? most * size : row_bytes;
    enum tw_swizzle swizzle = TW_SWIZZLE_NONE;
    field_reads_add(&x->plan->reads, FIELD_SWIZZLE, o->tensor);
    if (declared->swizzle_set) {
        swizzle = declared->swizzle;
        span = tw_swizzles[swizzle].span ? (int)tw_swizzles[swizzle].span : 16;
    } else {
        for (int s = 0; s < TW_SWIZZLE_COUNT; s++)
            if (tw_swizzles[s].span && row_bytes % (int)tw_swizzles[s].span == 0 && (int)tw_swizzles[s].span > span &&
                (int)tw_swizzles[s].span <= widest) {
                swizzle = (enum tw_swizzle)s;
                span = (int)tw_swizzles[s].span;
            }
        char name[80];
        snprintf(name, sizeof name, "%s.swizzle", t->name);
        family_reason(x->plan, name, tw_swizzles[swizzle].name,
                      "the widest whose span divides the tile's %d-byte rows%s", row_bytes,
                      widest < WIDEST_SPAN && widest < row_bytes ? " and is no wider than a chunk"
                      : work_is_store(o) && span < LEAST_SPAN    ? "; store = \"whole\" takes all columns at once"
                                                                 : "");
    }
    if (row_bytes % span) {
        int high = (row_bytes + span - 1) / span * span / size, low = high - span / size;
        char nearest[40], made[64];
        if (low)
            snprintf(nearest, sizeof nearest, "%d or %d", low, high);
        else
            snprintf(nearest, sizeof nearest, "%d", high);
        if (swizzle == TW_SWIZZLE_NONE)
            snprintf(made, sizeof made, "%d that a box is made of", span);
        else
            snprintf(made, sizeof made, "%d-byte span of swizzle %s", span, tw_swizzles[swizzle].name);
        return pipeline_refuse_tile(x, (int)(o - x->program->op), true, "TMA-SPAN",
                                    "%d %s of %s are %d bytes, no multiple of the %s; write %s", columns,
                                    tw_dtype_name(t->dtype), t->name, row_bytes, made, nearest);
    }
    lay(x, o, swizzle, rows, span / size, most ? 1 : row_bytes / span);
    return 0;
}

int pipeline_check_spans(struct pipeline *x, const struct program_op *o, int rows, int columns, bool one_span)
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

int pipeline_cached(struct pipeline *x, int tensor, bool asked)
{
    static const char ask[] = "prefetch";
    struct plan_tensor *t = &x->plan->tensor[tensor];
    for (int i = 0; i < x->l->kernel->cache_count; i++) {
        const struct spec_cache *said = &x->l->kernel->cache[i];
        const bool asks = strncmp(said->word, ask, sizeof ask - 1) == 0;
        const char *keeps = strstr(said->word, "evict_"); /* NULL: as ever */
        if (said->tensor != tensor || (asks && !asked) || (keeps && t->access != PLAN_ACCESS_TMA) || t->cache ||
            t->prefetch)
            continue;
        t->cache = keeps;
        t->prefetch = asks;
        field_reads_add(&x->plan->reads, FIELD_CACHE, i);
        return family_reason(x->plan, plan_text(x->plan, "cache.%s", t->name), said->word, "%s",
                             said->why ? said->why : "the spec says so");
    }
    return 0;
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
    bool copied = pipeline_is_copied(x, k->load[which]);
    int status = pipeline_check_limits(x, k->load[which], (which == 0) != k->transposed[which], true);
    status = status ? status : pipeline_check_spans(x, o, rows, columns, false);
    status = status ? status : pipeline_layout(x, o, rows, columns, 0);
    if (!status && ((t->gathered && !copied) || pipeline_is_limited(x, o->tensor)))
        status = pipeline_check_row_bytes(x, o, rows);
    if (!status && copied) {
        t->access = PLAN_ACCESS_CP_ASYNC;
        t->box[plan_number(t->gathered)] = rows;
    }
    if (status)
        return status;
    t->run = t->gathered && !copied ? pipeline_run_of(x, k->load[which], rows) : 0;
    t->multicast = 1;
    const bool along_k = which == 0 ? !k->transposed[0] : k->transposed[1]; /* its innermost dim */
    const bool lines = t->rank == 2 && along_k && t->access == PLAN_ACCESS_TMA && !t->gathered && !t->maps;
    if (pipeline_share(x, k->load[which], !known) || pipeline_cached(x, o->tensor, lines && !t->pointers))
        return 3;
    for (int d = 0; d + 1 < t->rank; d++)
        if (t->box[d] > MOST_BOX && !copied)
            return pipeline_refuse_tile(x, k->load[which], false, "TMA-BOX",
                                        "%d rows of %s in one box, which takes up to %d on %s; write %d", t->box[d],
                                        t->name, MOST_BOX, x->l->arch->name, MOST_BOX * t->multicast);
    if (known && (memcmp(before.box, t->box, sizeof before.box) != 0 || before.multicast != t->multicast ||
                  memcmp(&before.window, &t->window, sizeof before.window) != 0 || before.gathered != t->gathered ||
                  before.run != t->run || before.access != t->access))
        return program_refuse(x->l, o->loc, "PROGRAM-LOWER", "%s is loaded in tiles of two shapes; write one", t->name);
    /* A: rows m, columns k as it lies. B: rows k, columns n, so that as it lies its columns are n. */
    bool mn_major = which == 0 ? k->transposed[0] : !k->transposed[1];
    if (mn_major && pipeline_refuse_major(x, op, which))
        return 1;
    int span = t->box_bytes / rows;
    bool plain = t->swizzle == TW_SWIZZLE_NONE;
    if (which == 0 && k->converted)
        return pipeline_check_converted(x, op);
    if (which == 0 && k->resident)
        return 0;
    mma->operand[which].tensor = o->tensor;
    mma->operand[which].mn_major = mn_major;
    const int unit = which == 1 && k->columns ? mma->n : mma->m; /* rows or columns of a block */
    if (mn_major) {
        /* Groups of 8 k rows lie 8 spans apart; the next span along m or n is the next box. */
        mma->operand[which].leading_bytes = plain ? 8 * span : t->box_bytes;
        mma->operand[which].stride_bytes = plain ? t->box_bytes : 8 * span;
        mma->operand[which].k_bytes = mma->k * span;
        mma->operand[which].block_bytes = unit * (int)tw_dtype_bytes(t->dtype) / span * t->box_bytes;
    } else {
        /* Groups of 8 rows lie 8 spans apart. Without a swizzle the second 16 bytes along k are the next box. */
        mma->operand[which].leading_bytes = plain ? t->box_bytes : 16;
        mma->operand[which].stride_bytes = 8 * span;
        mma->operand[which].k_bytes = PIPELINE_K_BYTES;
        mma->operand[which].block_bytes = unit * span;
    }
    if (mn_major && PIPELINE_ROWS * (int)tw_dtype_bytes(t->dtype) % span)
        return program_refuse(x->l, o->loc, "WGMMA-SHAPE", "64 rows of wgmma are narrower than the %d-byte span", span);
    return 0;
}

/* What comes in the stage of tiles: one box, of this block's rows, or one element as a float. 0 or 3. */
static int along(struct pipeline *x, const struct derive_along *a)
{
    struct plan_tensor *t = &x->plan->tensor[a->tensor];
    const struct program_op *o = &x->program->op[a->load < 0 ? 0 : a->load];
    t->multicast = 1;
    if (a->load < 0) {
        t->tile[0] = a->node[1] >= 0 ? 2 : 0;
        t->tile_bytes = (a->node[1] >= 0 ? 2 : 1) * (int)sizeof(float);
        return family_reason(x->plan, plan_text(x->plan, "via.%s", t->name), "sent",
                             "a number a turn: the producer sends it into the stage that the same turn multiplies");
    }
    t->access = PLAN_ACCESS_TMA;
    t->align = 16;
    t->swizzle = TW_SWIZZLE_NONE;
    for (int d = 0; d < t->rank; d++)
        t->tile[d] = t->box[d] = o->at[d].length > 0 ? o->at[d].length : 1;
    t->boxes = 1;
    t->box_bytes = t->tile_bytes = x->d.rows * (int)tw_dtype_bytes(t->dtype);
    if (pipeline_cached(x, o->tensor, false) || family_add_value(x->plan, plan_text(x->plan, "share.%s", t->name), 1))
        return 3;
    return family_reason(x->plan, plan_text(x->plan, "via.%s", t->name), "bulk",
                         "a number a row: it comes in the stage of the tiles that the same turn multiplies");
}

static int rows_of_chunk(const struct pipeline *x)
{
    return x->d.wide ? 2 * PIPELINE_ROWS : PIPELINE_ROWS;
}

/* A chunk of a store whose rows run along the innermost dim: 64 of them, and as many columns as one swizzle turns well.
 */
static int turned_output(struct pipeline *x, const struct program_op *o, const struct program_tile *tile)
{
    struct plan_tensor *t = &x->plan->tensor[o->tensor];
    int columns = tw_dtype_bytes(t->dtype) == 4 ? 32 : 64;
    while (tile->columns % columns)
        columns /= 2;
    columns = pipeline_chunk(x, (int)(o - x->program->op), columns, LEAST_CHUNK);
    int status = pipeline_check_spans(x, o, tile->columns, tile->rows, true);
    return status ? status : pipeline_layout(x, o, columns, rows_of_chunk(x), 0);
}

/* Columns of a box without a swizzle: the most, up to `most`, that divide `columns` and are 8 times an odd number; 0:
 * that is fewer than a chunk is worth, or a swizzle of 64 bytes and more does as well. Rows that lie so many bytes
 * apart begin in other banks, 8 of them for 16-bit elements, 4 for wider ones, which is what a store of a warp's
 * fragment takes at a time; and a box may be wider than any swizzle's span. */
static int plain_columns(const struct pipeline *x, const struct program_op *o, int columns, int most)
{
    const int size = (int)tw_dtype_bytes(x->plan->tensor[o->tensor].dtype);
    int found = 0;
    if (x->l->kernel->tensor[o->tensor].swizzle_set || x->d.source || columns * size % (WIDEST_SPAN / 2) == 0)
        return 0;
    for (int odd = 1; 8 * odd <= columns && 8 * odd <= most; odd += 2)
        if (columns % (8 * odd) == 0)
            found = 8 * odd;
    return found < PLAIN_LEAST ? 0 : found;
}

static int plain_layout(struct pipeline *x, const struct program_op *o, int columns, int boxes)
{
    const char *name = x->plan->tensor[o->tensor].name;
    field_reads_add(&x->plan->reads, FIELD_SWIZZLE, o->tensor);
    lay(x, o, TW_SWIZZLE_NONE, rows_of_chunk(x), columns, boxes);
    return family_reason(
        x->plan, plan_text(x->plan, "%s.swizzle", name), tw_swizzles[TW_SWIZZLE_NONE].name,
        "rows of %d columns, 8 times an odd number, begin in banks of their own, and the tile's are no "
        "multiple of 64 bytes",
        columns);
}

/* The item's only store, of 64 rows a consumer or twice as many, may go out whole: all columns of 64 rows at once, with
 * no barriers in between. Where two boxes make the rows this takes no more room than chunks do; but not of a lone
 * consumer: while it packs the second box nobody else has work, and the first may be on its way. */
static bool is_whole(const struct pipeline *x, int row_bytes, const struct spec_value *said)
{
    int stores = 0;
    for (int i = 0; i < x->program->op_count; i++)
        stores += work_is_store(&x->program->op[i]) && x->program->op[i].arg[0].columns > 1;
    if (stores != 1 || x->d.blocks > 2 || x->d.source)
        return false;
    if (said->set)
        return strcmp(said->text, "whole") == 0;
    return x->d.blocks == 1 && x->d.consumers > 1 && row_bytes == 2 * WIDEST_SPAN;
}

static int whole_output(struct pipeline *x, const struct program_op *o, int columns, int box)
{
    return box ? plain_layout(x, o, box, columns / box) : pipeline_layout(x, o, rows_of_chunk(x), columns, 0);
}

/* A chunk of a store whose rows lie as the tile's do: the item's only one, or as many columns as a box holds. */
static int straight_output(struct pipeline *x, int op, const struct program_tile *tile)
{
    const struct program_op *o = &x->program->op[op];
    const struct spec_tensor *declared = &x->l->kernel->tensor[o->tensor];
    int size = (int)tw_dtype_bytes(x->plan->tensor[o->tensor].dtype), columns = tile->columns, span = WIDEST_SPAN;
    int status = pipeline_check_spans(x, o, tile->rows, columns, true);
    while (span > LEAST_SPAN && columns * size % span)
        span /= 2;
    const struct spec_value *said = pipeline_field(x, "pipeline.store");
    const int box = plain_columns(x, o, columns, MOST_BOX);
    x->whole = is_whole(x, columns * size, said) && pipeline_whole_fits(x, op, columns, box > 0);
    if (!status && !x->whole && said->set && strcmp(said->text, "whole") == 0)
        return program_refuse(x->l, said->loc, "PROGRAM-STORE",
                              "a result goes out whole where it is the item's only one, of one product, and registers "
                              "hold all columns of 64 rows; of 128 rows a consumer as the dot gives it, without "
                              "arithmetic; write store = \"chunks\"");
    if (status || x->whole)
        return status ? status : whole_output(x, o, columns, box);
    if (declared->swizzle_set)
        span = tw_swizzles[declared->swizzle].span ? (int)tw_swizzles[declared->swizzle].span : 16;
    if (said->set && strcmp(said->text, "late") == 0) {
        const int width = span / size < LEAST_CHUNK ? LEAST_CHUNK : span / size;
        status = width == span / size ? pipeline_layout(x, o, rows_of_chunk(x), columns, width)
                                      : pipeline_layout(x, o, rows_of_chunk(x), width, 0);
        return status ? status : pipeline_late(x, op, columns, width);
    }
    const int plain = plain_columns(x, o, columns, PLAIN_MOST);
    if (plain && pipeline_chunk_fits(x, op, plain)) {
        const int chunk = pipeline_chunk(x, op, plain, plain); /* all of it, and its registers are noted */
        return plain_layout(x, o, chunk, 1);
    }
    if (span / size < LEAST_CHUNK) { /* a thread's neighbours and those of its row: two boxes of 16 bytes */
        int chunk = pipeline_chunk(x, op, LEAST_CHUNK, LEAST_CHUNK);
        return pipeline_layout(x, o, rows_of_chunk(x), chunk, 0);
    }
    const bool by_row = x->d.work.op[op].beyond >= 0; /* a row is a copy's: 128 bytes from the next */
    int least = declared->swizzle_set || by_row ? span / size : LEAST_SPAN / size;
    status = pipeline_layout(x, o, rows_of_chunk(x), columns, pipeline_chunk(x, op, span / size, least));
    return status ? status : pipeline_source_tile(x, op);
}

static int row_spans_of(const struct pipeline *x, const struct program_op *o)
{
    int spans = 0;
    for (int d = 0; d < x->plan->tensor[o->tensor].rank; d++)
        spans += !o->at[d].column && o->at[d].length > 1;
    return spans;
}

/* Bulk stores end where the tensor does, and, row by row, at a row that data say. Rows along several spans, of which
 * many lie outside where few are asked for, go out by elements. */
bool pipeline_by_elements(struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    const struct plan_tensor *t = &x->plan->tensor[o->tensor];
    const struct spec_tensor *declared = &x->l->kernel->tensor[o->tensor];
    const int size = (int)tw_dtype_bytes(t->dtype), beyond = x->d.work.op[op].beyond;
    bool turned;
    const struct program_tile *tile = work_stored(&x->d.work, o, &turned);
    int64_t extent;
    const bool never = expr_is_int(&x->plan->graph, t->dim[t->rank - 1], &extent) && extent * size % 16 != 0;
    const bool wide =
        tile->columns * size % 128 == 0 && (!declared->swizzle_set || declared->swizzle == TW_SWIZZLE_128B);
    return never || o->kind == PROGRAM_STORE_ADD || row_spans_of(x, o) > 1 ||
           (beyond >= 0 && (turned || !wide || !work_ends_rows(&x->d.work, beyond)));
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
    if (pipeline_refuse_output(x, op))
        return 1;
    const int beyond = x->d.work.op[op].beyond, row_spans = row_spans_of(x, o);
    if (x->l->variant == 1 || pipeline_by_elements(x, op)) {
        /* Of few rows a store is short: from registers, for its room is better a tile's. */
        if (row_spans > 1 && !turned)
            return family_add_value(x->plan, plan_text(x->plan, "direct.%s", t->name), 1) ? 3 : 0;
        int columns = row_spans > 1 ? 8 : tile->columns % 32 == 0 ? 32 : tile->columns % 16 == 0 ? 16 : 8;
        x->columns = x->columns && x->columns < columns ? x->columns : columns;
        return 0;
    }
    int status = turned ? turned_output(x, o, tile) : straight_output(x, op, tile);
    t->whole_rows = true;
    if (!status && t->tile_bytes > x->stored)
        x->stored = t->tile_bytes;
    if (!status && pipeline_cached(x, o->tensor, false))
        return 3;
    if (!status && beyond >= 0 && family_add_value(x->plan, plan_text(x->plan, "limited.%s", t->name), 1))
        return 3;
    return status;
}

/* Something in the value is computed, and not as it is loaded. */
static bool is_found(const struct pipeline *x, int node)
{
    const struct expr_node *n = &x->program->graph->node[node];
    if (n->op == EXPR_TILE)
        return x->program->op[n->integer].kind != PROGRAM_LOAD && x->program->op[n->integer].kind != PROGRAM_GATHER;
    bool found = false;
    for (int i = 0; i < 3; i++)
        found = found || (n->arg[i] >= 0 && is_found(x, n->arg[i]));
    return found;
}

/* Threads hold the value by the rows of the item, of which each consumer has its own; or it is of a row that all find
 * together. What a consumer alone could have, a loaded tile of other rows, all of them would write. */
static int check_stored_rows(const struct pipeline *x, const struct program_op *o)
{
    bool turned;
    const struct program_tile *tile = work_stored(&x->d.work, o, &turned);
    if (tile->rows == x->d.rows || (tile->rows == 1 && is_found(x, tile->node)))
        return 0;
    return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                          "what is stored into %s has %d row%s, and the item's, by which threads have it beside dots, "
                          "are %d; write spans of as many rows, or store it by a kernel of its own",
                          x->plan->tensor[o->tensor].name, tile->rows, tile->rows > 1 ? "s" : "", x->d.rows);
}

int pipeline_check_store(const struct pipeline *x, int op)
{
    const struct program_op *o = &x->program->op[op];
    const struct spec_tensor *t = &x->l->kernel->tensor[o->tensor];
    int place = 1;
    for (int d = 0; d < t->rank; d++)
        place *= o->at[d].column && o->at[d].length > 0 ? o->at[d].length : 1;
    if (o->arg[0].columns != 1 || place == 1)
        return check_stored_rows(x, o);
    return program_refuse(x->l, o->loc, "PROGRAM-LOWER",
                          "one number of each row is stored into a place of %d columns of %s, and beside dots no store "
                          "repeats it; write a value of as many columns, or a tensor of the rows alone",
                          place, t->name);
}

int pipeline_tensors(struct pipeline *x)
{
    int status = pipeline_source(x);
    status |= pipeline_stores(x); /* which asks what comes into its buffers */
    if (status == 3)
        return status;
    for (int i = 0; i < x->program->op_count; i++) {
        int found = 0; /* a tile of both operands is told of once */
        for (int o = 0; o < 2 && !found && x->program->op[i].kind == PROGRAM_DOT; o++)
            found = x->d.dot[i].load[o] >= 0 ? operand(x, i, o) : 0;
        status |= found;
        if (work_is_store(&x->program->op[i]))
            status |= output(x, i) | pipeline_check_store(x, i);
    }
    for (int i = 0; i < x->d.along_count && !status; i++)
        status = along(x, &x->d.along[i]);
    status = status ? status : pipeline_source_direct(x);
    status = status ? status : pipeline_maps(x);
    return status ? status : pipeline_part_maps(x);
}

int pipeline_maps(struct pipeline *x)
{
    const struct spec_value *promotion = pipeline_field(x, "l2_promotion");
    int l2 = promotion->set ? (int)promotion->integer : 2, promoted = 0;
    for (int i = 0; i < x->plan->tensor_count; i++)
        if (x->plan->tensor[i].access == PLAN_ACCESS_TMA) {
            promoted += !x->plan->tensor[i].out;
            if (!family_add_map(x->plan, i, x->plan->tensor[i].out ? 0 : l2))
                return 3;
        }
    if (!promoted)
        program_field_idle(x->l, FIELD_PROMOTION);
    return 0;
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

static int add_extents(struct plan *p, int tensor)
{
    for (int d = 0; d < p->tensor[tensor].rank; d++) {
        int node = expr_import(&p->fused, &p->graph, p->tensor[tensor].dim[d]);
        if (node < 0 || family_add_value(p, plan_text(p, "extent.%s.d%d", p->tensor[tensor].name, d), node))
            return 3;
    }
    return 0;
}

/* The extents of tensors that threads read, as nodes of plan.fused: extent.NAME.d0, ... Of those whose elements steps
 * read one by one, of those that threads copy, of images, whose windows are counted by them, of those of which a map
 * holds no address, and of those that the L2 is asked for. */
static int element_extents(struct plan *p)
{
    int elements = p->fused.count;
    bool *added = plan_alloc(p, sizeof *added * (size_t)(p->tensor_count + 1));
    if (!added)
        return 3;
    for (int i = 0; i < elements; i++) {
        int tensor = (int)p->fused.node[i].integer;
        if (p->fused.node[i].op != EXPR_TENSOR || added[tensor])
            continue;
        added[tensor] = true;
        if (add_extents(p, tensor))
            return 3;
    }
    for (int i = 0; i < p->tensor_count; i++)
        if (((p->tensor[i].pointers && p->tensor[i].map >= 0) || p->tensor[i].prefetch) && !added[i]) {
            added[i] = true;
            if (add_extents(p, i))
                return 3;
        }
    for (int r = 0; r < p->ring_count; r++)
        for (int i = 0; i < p->ring[r].tensor_count; i++) {
            int tensor = p->ring[r].tensor[i];
            bool copied = p->ring[r].filler == PLAN_FILL_CP_ASYNC || p->ring[r].filler == PLAN_FILL_ARRIVE;
            if ((!copied && !p->tensor[tensor].window.dims) || added[tensor])
                continue;
            added[tensor] = true;
            if (add_extents(p, tensor))
                return 3;
        }
    return 0;
}

int pipeline_check_elements(const struct pipeline *x)
{
    const struct expr_graph *g = &x->plan->fused;
    bool *seen = plan_alloc(x->plan, sizeof *seen * (size_t)(x->plan->tensor_count + 1));
    int faults = 0;
    for (int i = 0; i < g->count && seen; i++)
        if (g->node[i].op == EXPR_TENSOR && !seen[g->node[i].integer]) {
            seen[g->node[i].integer] = true;
            faults |= pipeline_check_element(x, (int)g->node[i].integer);
        }
    return seen ? faults : 3;
}

int pipeline_elements(struct pipeline *x)
{
    int status = pipeline_check_elements(x);
    if (status)
        return status;
    if (!x->d.synchronous)
        read_pairs(x);
    return element_extents(x->plan);
}
