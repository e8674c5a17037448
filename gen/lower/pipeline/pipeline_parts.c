/* The sums of a loop whose turns blocks share (lower/split.c): where they come together. Of a cluster each block
 * receives its columns from every other one, a stage of its ring for each value that the loop carries; of others each
 * writes its sums into the workspace. As a stream a block has at most two items that are not its own alone, that which
 * its share begins within and that which it ends within, and so two parts there. */
#include <string.h>

#include "lower/pipeline/pipeline.h"

enum {
    BARRIERS = 16, /* bytes of a stage's two mbarriers */
    MEETING = 8,   /* hardware barrier of the consumers */
    PARTS_OF_BLOCK = 2,
    COUNTER = 128, /* bytes of the workspace that a tile's counter has for itself, and so much that begins it */
};

/* The RESULT of the split loop that comes first; *count of them. NULL: no loop is split so. */
static const struct program_op *first_result(const struct pipeline *x, bool by_last, int *count)
{
    const struct program_op *first = NULL;
    *count = 0;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind != PROGRAM_RESULT || !x->program->op[o->loop].parts || x->program->op[o->loop].by_last != by_last)
            continue;
        first = first ? first : o;
        ++*count;
    }
    return first;
}

/* Bytes of a stage: what all other blocks send. */
static int stage_bytes(const struct pipeline *x, const struct program_op *result)
{
    return (x->program->op[result->loop].parts - 1) * x->d.rows * result->tile.columns * (int)sizeof(float);
}

int pipeline_part_bytes(const struct pipeline *x)
{
    int count;
    const struct program_op *result = first_result(x, false, &count);
    return result ? count * (stage_bytes(x, result) + BARRIERS) : 0;
}

int pipeline_part_place(struct pipeline *x, int op, const char *name)
{
    const struct program_op *o = &x->program->op[op];
    int place = plan_add_place(x->plan, (struct plan_place){.name = plan_text(x->plan, "%s_part", name),
                                                            .kind = PLAN_PLACE_FRAGMENT,
                                                            .dtype = o->tile.dtype,
                                                            .rows = x->d.rows / x->d.consumers,
                                                            .cols = o->tile.columns,
                                                            .registers = x->d.blocks * o->tile.columns / 2,
                                                            .shared = -1});
    return place ? derive_home(&x->d, x->d.work.op[op].leaf, place) : 3;
}

int pipeline_part_ring(struct pipeline *x)
{
    struct plan *p = x->plan;
    int count, stride = 1;
    const struct program_op *result = first_result(x, false, &count);
    if (!result)
        return 0;
    const struct program_op *loop = &x->program->op[result->loop];
    struct plan_ring *r = family_add_ring(p, "parts", count, PLAN_FILL_PEERS);
    if (!r)
        return 3;
    for (int i = 0; i < loop->part_axis; i++)
        stride *= x->cluster[i];
    x->d.parts = p->ring_count;
    r->peers = loop->parts;
    r->full_arrivals = x->d.consumers;
    r->tx_bytes = stage_bytes(x, result);
    r->empty_arrivals = 4 * x->d.consumers * (loop->parts - 1);
    if (family_reason(p, plan_text(p, "split.%s", loop->name), plan_text(p, "%d", loop->parts), "the spec says so"))
        return 3;
    return family_add_shared(p, "parts.sums", count * r->tx_bytes, 128, count) &&
                   !family_add_value(p, "parts.stride", stride)
               ? 0
               : 3;
}

/* The number of the item's tile, and how many there are: as nodes of steps and of sizes. The axis of the parts is the
 * last. 0 or 3. */
static int number_tiles(struct pipeline *x, int *all)
{
    struct plan *p = x->plan;
    struct expr_graph *g = &p->fused;
    int tile = expr_int(g, 0);
    *all = expr_int(&p->graph, 1);
    for (int i = 0; i + 1 < p->item_count; i++) {
        const struct plan_item *item = &p->item[i];
        const int blocks = x->cluster[item->axis], span = item->tile * blocks;
        int across = expr_ceil_div(g, item->extent, expr_int(g, span)), here, many;
        across = expr_binary(g, EXPR_MUL, across, expr_int(g, blocks));
        here = expr_binary(g, EXPR_FLOORDIV, expr_leaf(g, EXPR_AT, EXPR_INT, item->axis), expr_int(g, item->tile));
        tile = expr_binary(g, EXPR_ADD, expr_binary(g, EXPR_MUL, tile, across), here);
        many = expr_import(&p->graph, x->program->graph, x->program->axis[item->axis].extent);
        many = expr_ceil_div(&p->graph, many, expr_int(&p->graph, span));
        *all =
            expr_binary(&p->graph, EXPR_MUL, *all, expr_binary(&p->graph, EXPR_MUL, many, expr_int(&p->graph, blocks)));
    }
    x->d.part_tile = plan_some(tile);
    return tile < 0 || *all < 0 ? 3 : 0;
}

/* The records of a stream: two for each block of the grid, in each room for a counter and for a part. Which items are
 * cut, and by how many blocks, depends on the grid; that no more than two by each block are, does not. 0 or 3. */
static int stream_memory(struct pipeline *x, const struct program_op *loop, int bytes)
{
    struct plan *p = x->plan;
    struct expr_graph *g = &p->fused;
    const int record = COUNTER + bytes, count = loop->part_axis + 1;
    x->d.part_tile = plan_some(expr_leaf(g, EXPR_AT, EXPR_INT, loop->part_axis));
    x->d.part_count = plan_some(expr_leaf(g, EXPR_AT, EXPR_INT, count));
    for (int i = 0; i < p->item_count; i++)
        if (p->item[i].axis == count)
            x->d.part_turns = plan_some(p->item[i].extent);
    p->workspace_bytes = COUNTER;
    p->workspace = plan_some(
        expr_binary(&p->graph, EXPR_MUL, p->launch.grid[0], expr_int(&p->graph, PARTS_OF_BLOCK * (int64_t)record)));
    int status = family_add_value(p, "parts.stream", 1);
    status = status ? status : family_add_value(p, "parts.bytes", bytes);
    status = status ? status : family_add_value(p, "parts.record", record);
    status = status ? status : family_reason(p, "schedule.stream", "true", "the spec says so");
    return status || (p->workspace > 0 && x->d.part_tile && x->d.part_count && x->d.part_turns) ? status : 3;
}

int pipeline_check_stream(const struct pipeline *x)
{
    const struct spec_value *persistent = pipeline_field(x, "schedule.persistent");
    for (int i = 0; i < x->program->op_count; i++)
        if (x->program->op[i].stream && persistent->set && !persistent->integer)
            return pipeline_report(x, persistent->loc, "schedule.persistent", "PROGRAM-STREAM",
                                   "a block takes one item alone where persistent = false, and by stream it has its "
                                   "share of the turns of all; leave persistent out, or write stream = false");
    return 0;
}

int pipeline_part_memory(struct pipeline *x)
{
    struct plan *p = x->plan;
    int count, all;
    const struct program_op *result = first_result(x, true, &count);
    if (!result)
        return 0;
    const struct program_op *loop = &x->program->op[result->loop];
    int bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += derive_part_bytes(&x->d, result + i);
    if (loop->stream)
        return stream_memory(x, loop, bytes);
    const int record = COUNTER + loop->parts * bytes;
    int status = number_tiles(x, &all);
    p->workspace_bytes = COUNTER;
    p->workspace = plan_some(expr_binary(&p->graph, EXPR_MUL, all, expr_int(&p->graph, record)));
    status = status ? status : family_add_value(p, "parts.blocks", loop->parts);
    status = status ? status : family_add_value(p, "parts.bytes", bytes);
    status = status ? status : family_add_value(p, "parts.record", record);
    status = status ? status
                    : family_reason(p, plan_text(p, "split.%s", loop->name),
                                    plan_text(p, "%d, over blocks", loop->parts), "the spec says so");
    return status || p->workspace > 0 ? status : 3;
}

int pipeline_part_meeting(struct pipeline *x)
{
    x->d.part_meeting = x->plan->barrier_count;
    return x->d.part_tile && family_add_barrier(x->plan, "parts_barrier", MEETING, 128 * x->d.consumers) ? 3 : 0;
}
