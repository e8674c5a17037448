/* Behind a loop whose turns the blocks of a cluster share: each has a part of every sum, sends to every other block the
 * columns that are that one's, and adds what comes to its own.
 *
 * Every block makes the same steps at the same place, so that whoever waits for what others send has sent already. A
 * stage receives from all of them: it is theirs again when the block has added it, and that they are told of; for their
 * sends of the item behind they wait for it. */
#include "lower/derive/derive_ops.h"

enum { ARRIVALS = 4 /* every warp of a consumer releases for itself */ };

int derive_add_parts(struct derive *d, int op)
{
    struct plan *p = d->work.l->plan;
    const struct program *program = d->work.program;
    const struct program_op *o = &program->op[op];
    const int ring = plan_number(d->parts);
    if (o->kind != PROGRAM_RESULT || !program->op[o->loop].parts)
        return 0;
    int sum = 0, part = derive_home_of(d, d->work.op[op].leaf);
    for (int i = o->loop + 1; i < program->op[o->loop].end; i++)
        if (program->op[i].kind == PROGRAM_PARAM && program->op[i].which == o->which)
            sum = derive_home_of(d, d->work.op[i].leaf);
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
