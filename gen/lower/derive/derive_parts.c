/* Behind a loop whose turns blocks share.
 *
 * OF A CLUSTER: each has a part of every sum, sends to every other block the
 * columns that are that one's, and adds what comes to its own.
 *
 * Every block makes the same steps at the same place, so that whoever waits for what others send has sent already. A
 * stage receives from all of them: it is theirs again when the block has added it, and that they are told of; for their
 * sends of the item behind they wait for it.
 *
 * OF NONE: each writes its sums into the workspace, and counts itself there. Who is last takes those of all, and does
 * what stands behind the loop, up to the end of the item. Nobody waits for another block.
 *
 * AS A STREAM (schedule.stream): so where a block has some of the item's turns and not all. Who finds all others there
 * writes nothing: it adds them to its own. In a stream of more items than blocks each item has two parts at most, that
 * of the block whose share ends within it and that of the next one's, and the latter comes first by nearly an item. */
#include "lower/derive/derive_ops.h"

enum { ARRIVALS = 4 /* every warp of a consumer releases for itself */ };

static int sum_of(const struct derive *d, int result)
{
    const struct program_op *o = &d->work.program->op[result];
    for (int i = o->loop + 1; i < d->work.program->op[o->loop].end; i++)
        if (d->work.program->op[i].kind == PROGRAM_PARAM && d->work.program->op[i].which == o->which)
            return derive_home_of(d, d->work.op[i].leaf);
    return 0;
}

/* A step at the workspace for each of the loop's sums: `call`. */
static int each_sum(struct derive *d, int loop, const char *call, const char *why)
{
    const struct program *program = d->work.program;
    int status = 0, from = 0;
    for (int i = program->op[loop].end + 1; i < program->op_count && !status; i++) {
        const struct program_op *o = &program->op[i];
        if (o->kind != PROGRAM_RESULT || o->loop != loop)
            continue;
        const int place = sum_of(d, i);
        status = derive_land(d, place);
        status = status ? status
                        : derive_emit(d, d->consumer,
                                      (struct plan_step){.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = place});
        status = status ? status
                        : derive_emit(d, d->consumer,
                                      (struct plan_step){.op = PLAN_GLOBAL,
                                                         .ring = -1,
                                                         .tensor = -1,
                                                         .place = place,
                                                         .count = from,
                                                         .at = {d->part_count ? 0 : d->part_tile},
                                                         .call = call,
                                                         .why = why});
        from += d->rows * o->tile.columns * (int)sizeof(float);
    }
    return status;
}

static int emit_all(struct derive *d, const struct plan_step *step, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    return status;
}

static int end(struct derive *d)
{
    return derive_emit(d, d->consumer, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

/* How blocks find out who is the last: all of its threads have written, one counts, and tells the others. */
static int count_block(struct derive *d)
{
    const int meeting = d->producer ? d->part_meeting : d->meeting;
    const struct plan_step step[] = {
        {.op = PLAN_BARRIER,
         .ring = -1,
         .tensor = -1,
         .count = meeting,
         .call = "parts_meet",
         .why = "all have written their sums before one thread counts the block"},
        {.op = PLAN_GLOBAL,
         .ring = -1,
         .tensor = -1,
         .at = {d->part_count ? 0 : d->part_tile},
         .call = "parts_count",
         .why = "who counts last finds what the others wrote; it leaves the counter at zero"},
        {.op = PLAN_BARRIER,
         .ring = -1,
         .tensor = -1,
         .count = meeting,
         .call = "parts_last",
         .why = "one thread has counted, for all of them"},
    };
    return emit_all(d, step, sizeof step / sizeof *step);
}

/* What stands behind it is the last block's alone, up to the item's end (derive_end_last). */
static int when_last(struct derive *d)
{
    return derive_emit(
        d, d->consumer,
        (struct plan_step){
            .op = PLAN_WHEN, .ring = -1, .tensor = -1, .call = "parts_last", .why = "of the last block alone"});
}

/* The sums of an item of which others have turns too. */
static int stream(struct derive *d, int loop)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    const int meeting = d->producer ? d->part_meeting : d->meeting;
    const int others = expr_binary(g, EXPR_SUB, plan_number(d->part_turns), plan_number(d->part_count));
    const struct plan_step cut[] = {
        {.op = PLAN_WHEN,
         .ring = -1,
         .tensor = -1,
         .node = plan_some(others),
         .call = "parts_cut",
         .why = "other blocks have turns of the item"},
        {.op = PLAN_GLOBAL,
         .ring = -1,
         .tensor = -1,
         .at = {d->part_tile, d->part_count},
         .call = "parts_seen",
         .why = "all others are there already: who comes last writes nothing; it leaves the counter at zero"},
        {.op = PLAN_BARRIER,
         .ring = -1,
         .tensor = -1,
         .count = meeting,
         .call = "parts_last",
         .why = "one thread has looked, for all of them"},
        {.op = PLAN_WHEN, .ring = -1, .tensor = -1, .call = "parts_early", .why = "of who is not the last yet"},
    };
    const struct program *program = d->work.program;
    int status = others < 0 ? 3 : 0;
    for (int i = program->op[loop].end + 1; i < program->op_count && !status; i++)
        if (program->op[i].kind == PROGRAM_RESULT && program->op[i].loop == loop)
            status = derive_land(d, sum_of(d, i)); /* whether the item is cut or not */
    status = status ? status : emit_all(d, cut, sizeof cut / sizeof *cut);
    status = status ? status : each_sum(d, loop, "parts_put", "for the last block");
    status = status ? status : count_block(d);
    status = status ? status : when_last(d);
    status = status ? status : each_sum(d, loop, "parts_clear", "nobody takes what the last block wrote");
    status = status ? status : end(d);
    status = status ? status : end(d);
    status = status ? status : when_last(d);
    status = status ? status : each_sum(d, loop, "parts_take", "in the order of the blocks, the same in every launch");
    status = status ? status : end(d);
    return status ? status : end(d);
}

static int by_last(struct derive *d, int op)
{
    const int loop = d->work.program->op[op].loop;
    if (d->work.program->op[op].which > 0)
        return 0;
    int status = d->part_count ? stream(d, loop) : each_sum(d, loop, "parts_put", "for the last block");
    status = status || d->part_count ? status : count_block(d);
    status = status ? status : when_last(d);
    return status || d->part_count
               ? status
               : each_sum(d, loop, "parts_take", "in the order of the parts, the same in every launch");
}

int derive_add_parts(struct derive *d, int op)
{
    struct plan *p = d->work.l->plan;
    const struct program *program = d->work.program;
    const struct program_op *o = &program->op[op];
    const int ring = plan_number(d->parts);
    if (o->kind != PROGRAM_RESULT || !program->op[o->loop].parts)
        return 0;
    if (program->op[o->loop].by_last)
        return by_last(d, op);
    const int sum = sum_of(d, op), part = derive_home_of(d, d->work.op[op].leaf);
    const char *name = p->ring[ring].name;
    const struct plan_step step[] = {
        {.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = sum},
        {.op = PLAN_WAIT_EMPTY,
         .ring = ring,
         .tensor = -1,
         .phase = 1,
         .call = plan_text(p, "%s_wait_empty", name),
         .why = "the other blocks may not be through with what this one sent for the item before"},
        {.op = PLAN_EXPECT,
         .ring = ring,
         .tensor = -1,
         .count = p->ring[ring].tx_bytes / d->consumers,
         .call = plan_text(p, "%s_expect", name)},
        {.op = PLAN_FILL,
         .ring = ring,
         .tensor = -1,
         .count = p->ring[ring].tx_bytes / d->consumers / (p->ring[ring].peers - 1),
         .place = sum,
         .call = plan_text(p, "%s_send", name),
         .why = "each of the others gets its columns of this block's sums"},
        {.op = PLAN_WAIT_FULL,
         .ring = ring,
         .tensor = -1,
         .call = plan_text(p, "%s_wait_full", name),
         .why = "this block's columns have come from all of the others"},
        {.op = PLAN_READ,
         .ring = ring,
         .tensor = -1,
         .place = part,
         .place2 = sum,
         .call = plan_text(p, "%s_add", name),
         .why = "in the order of the blocks behind this one, the same in every launch"},
        {.op = PLAN_FENCE_ASYNC,
         .ring = ring,
         .tensor = -1,
         .call = plan_text(p, "%s_fence", name),
         .why = "what comes next is written asynchronously, and must not overtake these reads"},
        {.op = PLAN_RELEASE,
         .ring = ring,
         .tensor = -1,
         .arrivals = ARRIVALS,
         .call = plan_text(p, "%s_release", name),
         .why = "the others may send again"},
    };
    int status = derive_land(d, sum);
    for (size_t i = 0; i < sizeof step / sizeof *step && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    return status;
}

int derive_end_last(struct derive *d)
{
    return d->part_tile ? end(d) : 0;
}

int derive_drain_parts(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    const int ring = plan_number(d->parts);
    return ring < 0 ? 0
                    : derive_emit(d, d->consumer,
                                  (struct plan_step){.op = PLAN_DRAIN,
                                                     .ring = ring,
                                                     .tensor = -1,
                                                     .call = plan_text(p, "%s_drain", p->ring[ring].name),
                                                     .why = "the other blocks tell this one that they are through"});
}
