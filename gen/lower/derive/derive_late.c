/* Stores that go out late: in the turns of the next item.
 *
 * Behind an item's last products its results are packed, as they will be stored, into registers of their own, and the
 * next item's products begin at once. In the first half of that item's turns a chunk goes out at every few turns' end:
 * the turn's products are issued by then and run, and its stage of the turn before is given back. (All blocks begin
 * their items together. Where a chunk went out at the end of each of the first turns, bursts took 0.6 to 1 % longer;
 * that consumers take turns at it is 0.3 % of that.)
 * What an item of fewer turns than chunks leaves goes out behind its loop, under its last products, so that all is gone
 * when its own results are packed; what the last item leaves, behind the loop over items.
 *
 * The arithmetic of such a store is unrolled: registers of a late place are chosen by constants, and sums that were
 * packed are free. */
#include "lower/derive/derive_ops.h"

static struct plan_step begin(struct derive *d, int op, enum plan_op flow, const char *why)
{
    const struct plan *p = d->work.l->plan;
    return (struct plan_step){.op = flow,
                              .ring = -1,
                              .tensor = -1,
                              .place = d->late[op],
                              .part = flow == PLAN_WHEN ? 2 : 0,
                              .call = p->tensor[d->work.program->op[op].tensor].name,
                              .why = why};
}

/* A chunk of each late store, while (LOOP) or if (WHEN) one is held. */
static int send(struct derive *d, enum plan_op flow, const char *why)
{
    struct plan *p = d->work.l->plan;
    int status = 0;
    for (int op = 0; op < d->work.program->op_count && !status && d->late; op++) {
        if (!d->late[op])
            continue;
        const int tensor = d->work.program->op[op].tensor, ring = p->ring_count - 1;
        struct plan_step write = {.op = PLAN_WRITE, .ring = ring, .tensor = tensor, .place = d->late[op]};
        struct plan_step store = {.op = PLAN_STORE, .ring = ring, .tensor = tensor, .place = d->late[op]};
        write.call = plan_text(p, "%s_write", p->tensor[tensor].name);
        store.call = plan_text(p, "%s_store", p->tensor[tensor].name);
        status = write.call && store.call ? derive_emit(d, d->consumer, begin(d, op, flow, why)) : 3;
        status = status ? status : derive_chunk(d, op, write, store);
    }
    return status;
}

/* Chunks go out in the item's only loop with products. */
static bool multiplies(const struct derive *d, int loop)
{
    for (int i = loop + 1; i < d->work.program->op[loop].end; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT)
            return true;
    return false;
}

int derive_late_turn(struct derive *d, int loop)
{
    return multiplies(d, loop) ? send(d, PLAN_WHEN, "a chunk of the item before, while this turn's products run") : 0;
}

int derive_late_left(struct derive *d, int loop)
{
    return loop < 0 || multiplies(d, loop) ? send(d, PLAN_LOOP, "chunks that no turn was left for") : 0;
}

int derive_late_pack(struct derive *d, int op, int expression, int chunks, const struct plan_step *next, int count)
{
    struct plan *p = d->work.l->plan;
    int status = 0;
    struct plan_step hold = {.op = PLAN_TOUCH,
                             .ring = -1,
                             .tensor = -1,
                             .place = d->late[op],
                             .count = chunks,
                             .call = "hold",
                             .why = "they go out in the next item's turns"};
    for (int k = 0; k < p->tensor[d->work.program->op[op].tensor].rank && !status; k++)
        hold.at[k] = derive_built(d, op, d->work.op[op].at[k], 0, &status);
    const struct plan_step begin = {.op = PLAN_LOOP,
                                    .ring = -1,
                                    .tensor = -1,
                                    .count = chunks,
                                    .call = p->tensor[d->work.program->op[op].tensor].name};
    const struct plan_step step[] = {
        {.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = d->late[op], .node = expression, .call = "pack"},
        {.op = PLAN_END, .ring = -1, .tensor = -1},
        hold,
    };
    status = status ? status : derive_emit(d, d->consumer, begin);
    for (int i = 0; i < count && !status; i++)
        status = derive_emit(d, d->consumer, next[i]);
    for (size_t i = 0; i < sizeof step / sizeof *step && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    return status;
}
