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
 * With a combine it takes the first part, and then part by part what combine makes of that and of those before it.
 *
 * AS A STREAM (schedule.stream): so where a block has some of the item's turns and not all. Who finds all others there
 * writes nothing: it adds them to its own. In a stream of more items than blocks each item has two parts at most, that
 * of the block whose share ends within it and that of the next one's, and the latter comes first by nearly an item. */
#include "lower/derive/derive_ops.h"

#include <string.h>

enum { ARRIVALS = 4 /* every warp of a consumer releases for itself */ };

static int sum_of(const struct derive *d, int result)
{
    const struct program_op *o = &d->work.program->op[result];
    for (int i = o->loop + 1; i < d->work.program->op[o->loop].end; i++)
        if (d->work.program->op[i].kind == PROGRAM_PARAM && d->work.program->op[i].which == o->which)
            return derive_home_of(d, d->work.op[i].leaf);
    return 0;
}

int derive_part_bytes(const struct derive *d, const struct program_op *result)
{
    const int threads_of_row = 4; /* each has the row's number */
    return d->rows * (result->tile.columns > 1 ? result->tile.columns : threads_of_row) * (int)sizeof(float);
}

/* A step at the workspace for each of the loop's values: `call`, with its own place or that of `place`, by number; of
 * the rows that there are, or of all. */
static int each_value(struct derive *d, int loop, const char *call, const int *place, bool all_rows, const char *why)
{
    const struct program *program = d->work.program;
    int status = 0, from = 0, number = 0;
    for (int i = program->op[loop].end + 1; i < program->op_count && !status; i++) {
        const struct program_op *o = &program->op[i];
        if (o->kind != PROGRAM_RESULT || o->loop != loop)
            continue;
        const int here = place ? place[number++] : sum_of(d, i);
        const int own = all_rows ? -1 : d->work.op[i].inside;
        const int inside = own < 0 ? 0 : derive_built(d, i, own, 0, &status);
        const struct plan_step touch = {.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = here};
        status = status ? status : derive_land(d, here);
        if (!status && d->work.l->plan->place[plan_number(here)].kind != PLAN_PLACE_ROWS)
            status = derive_emit(d, d->consumer, touch);
        status = status ? status
                        : derive_emit(d, d->consumer,
                                      (struct plan_step){.op = PLAN_GLOBAL,
                                                         .ring = -1,
                                                         .tensor = -1,
                                                         .place = here,
                                                         .count = from,
                                                         .inside = inside,
                                                         .at = {d->part_count ? 0 : d->part_tile},
                                                         .call = call,
                                                         .why = why});
        from += derive_part_bytes(d, o);
    }
    return status;
}

static int each_sum(struct derive *d, int loop, const char *call, const char *why)
{
    return each_value(d, loop, call, NULL, false, why);
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

/* A place for what another block left of a value: registers that no value has behind the loop, as a dot's within it; or
 * new ones. plan_some(place); 0 out of memory. */
static int place_beside(struct derive *d, int result)
{
    const struct plan *p = d->work.l->plan;
    const struct program *program = d->work.program;
    const struct plan_place *own = &p->place[plan_number(sum_of(d, result))];
    for (int i = 0; i < p->place_count && own->kind != PLAN_PLACE_ROWS; i++) {
        bool taken = p->place[i].kind != PLAN_PLACE_ACCUMULATOR || p->place[i].cols != own->cols ||
                     p->place[i].registers != own->registers || p->place[i].dtype != own->dtype;
        for (int o = 0; o < program->op_count && !taken; o++)
            taken = (program->op[o].kind == PROGRAM_PARAM || program->op[o].kind == PROGRAM_RESULT) &&
                    derive_home_of(d, d->work.op[o].leaf) == plan_some(i);
        if (!taken)
            return plan_some(i);
    }
    return derive_new_place(d, d->work.op[result].leaf, "part", own->kind == PLAN_PLACE_ROWS ? 1 : own->cols);
}

/* What combine makes of all parts, in their order: in the values' own places. A part's values are what the RESULTs are
 * until then. */
static int combine(struct derive *d, int loop)
{
    const struct program_op *l = &d->work.program->op[loop];
    const int first = l->end + 1, last = l->end + l->carried;
    int own[PROGRAM_MAX_CARRIED], beside[PROGRAM_MAX_CARRIED], leaf[PROGRAM_MAX_CARRIED], status = 0;
    for (int i = 0; i < l->carried && !status; i++) {
        own[i] = sum_of(d, first + i);
        leaf[i] = d->work.op[loop + 1 + i].leaf;
        beside[i] = place_beside(d, first + i);
        status = beside[i] ? derive_home(d, d->work.op[first + i].leaf, beside[i]) : 3;
        status = status ? status : derive_own(d, own[i], leaf[i]);
    }
    const int owners = d->owner_count;
    int *owner = plan_alloc(d->work.l->plan, sizeof *owner * (size_t)(owners + 1));
    if (!owner)
        return 3;
    memcpy(owner, d->owner, sizeof *owner * (size_t)owners);
    status = status ? status
                    : each_value(d, loop, "parts_first", own, false, "in the order of the parts, as in every launch");
    /* A thread none of whose rows are there takes no other part. */
    int inside = d->work.op[first].inside;
    for (int i = 1; i < l->carried; i++)
        inside = d->work.op[first + i].inside == inside ? inside : -1;
    const int rows = status || inside < 0 ? 0 : derive_built(d, first, inside, 0, &status);
    status = status ? status
                    : derive_emit(d, d->consumer,
                                  (struct plan_step){.op = PLAN_LOOP,
                                                     .ring = -1,
                                                     .tensor = -1,
                                                     .count = l->parts - 1,
                                                     .inside = rows,
                                                     .call = "parts_combine"});
    status = status ? status : each_value(d, loop, "parts_next", beside, true, "the next part");
    for (int i = 0; i < l->carried && !status; i++)
        status = derive_own(d, beside[i], d->work.op[first + i].leaf);
    status = status ? status : derive_carry(d, last, d->work.op[last].combine, leaf, l->carried);
    status = status ? status : end(d);
    for (int i = 0; i < d->owner_count && !status; i++) /* what a turn was made of is gone with it */
        if (i >= owners || d->owner[i] != owner[i])
            d->owner[i] = -1;
    for (int i = 0; i < l->carried && !status; i++) {
        status = derive_home(d, d->work.op[first + i].leaf, own[i]);
        status = status ? status : derive_own(d, own[i], leaf[i]);
    }
    return status;
}

static int by_last(struct derive *d, int op)
{
    const int loop = d->work.program->op[op].loop;
    if (d->work.program->op[op].which > 0)
        return 0;
    int status = d->part_count ? stream(d, loop) : each_sum(d, loop, "parts_put", "for the last block");
    status = status || d->part_count ? status : count_block(d);
    status = status ? status : when_last(d);
    if (!status && d->work.program->op[loop].combine)
        return combine(d, loop);
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
