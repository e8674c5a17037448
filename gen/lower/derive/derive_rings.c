/* Rings: how a stage is filled and taken at the same place of both roles, and what is held from then on. See derive.h.
 */
#include "lower/derive/derive.h"
#include "lower/derive/derive_turns.h"

#include "lower/family.h"

int derive_take(struct derive *d, int number, int shift)
{
    struct plan *p = d->work.l->plan;
    const struct derive_ring *ring = &d->ring[number];
    if (!d->producer) {
        d->taken |= 1u << number;
        return derive_take_filled(d, number);
    }
    if (d->helds == DERIVE_MAX_HELD)
        return derive_refuse(d, ring->load[0], "too many stages are held at once");
    int status = derive_produce(d, number, shift);
    d->held[d->helds++] = (struct derive_held){.ring = number, .uses = ring->inner < 0 ? ring->users : 1, .group = -1};
    d->taken |= 1u << number;
    if (!status && d->abreast < d->consumers)
        status = derive_emit(d, d->consumer,
                             (struct plan_step){.op = PLAN_SKIP,
                                                .ring = ring->number,
                                                .tensor = -1,
                                                .call = plan_text(p, "%s_skip", ring->name),
                                                .why = "in another consumer's items: the stage is that one's"});
    return status ? status
                  : derive_emit(d, d->consumer,
                                (struct plan_step){.op = PLAN_WAIT_FULL,
                                                   .ring = ring->number,
                                                   .tensor = -1,
                                                   .call = plan_text(p, "%s_%s", ring->name,
                                                                     d->lane ? "wait_full_lane" : "wait_full")});
}

int derive_ring_of(const struct derive *d, int load)
{
    for (int r = 0; r < d->ring_count; r++)
        for (int i = 0; i < d->ring[r].load_count; i++)
            if (d->ring[r].load[i] == load)
                return r;
    return -1;
}

/* Resident operands into their registers, and the stage they came in back: at once, or `later`, behind the first wait:
 * the fence takes its time, and matrix instructions run meanwhile. */
static int take_resident(struct derive *d, int number, bool later)
{
    struct plan *p = d->work.l->plan;
    const struct derive_ring *ring = &d->ring[number];
    int status = 0, op = -1;
    for (int i = 0; i < d->work.program->op_count && op < 0; i++)
        op = d->work.program->op[i].kind == PROGRAM_DOT && d->dot[i].resident &&
                     derive_ring_of(d, d->dot[i].load[0]) == number
                 ? i
                 : -1;
    if (op < 0)
        return 0;
    const char *name = p->tensor[d->work.program->op[ring->load[0]].tensor].name;
    status = derive_land(d, d->dot[op].operand);
    const struct plan_step step[] = {
        {.op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = d->dot[op].operand},
        {.op = PLAN_READ,
         .ring = ring->number,
         .tensor = d->work.program->op[ring->load[0]].tensor,
         .place = d->dot[op].operand,
         .call = plan_text(p, "%s_operand", name)},
    };
    for (size_t i = 0; i < sizeof step / sizeof *step && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    if (d->producer)
        d->read |= 1u << number;
    return status || later ? status : derive_give_back(d);
}

int derive_take_for(struct derive *d, int loop, bool later)
{
    int status = 0;
    for (int r = 0; r < d->ring_count && !status; r++)
        if (d->ring[r].inner == loop && d->ring[r].parent == d->work.op[loop].parent && !(d->taken >> r & 1)) {
            if (d->producer)
                status = derive_take(d, r, 0);
            d->taken |= 1u << r;
            status = status ? status : take_resident(d, r, later);
        }
    return status;
}

/* ptxas (13.0.88) takes the registers of a wgmma's first operand for dead behind the
 * instruction where that alone reads them, though the loop comes back to it, and packs another operand of the same size
 * into them: from the second turn on the first dot multiplied what the second had been given. Another reader behind the
 * loop, which ptxas cannot know to be never run, keeps them apart, and costs the loop nothing. */
int derive_keep(struct derive *d, int loop)
{
    const struct program *p = d->work.program;
    int status = 0;
    for (int i = loop + 1; i < p->op[loop].end && !status && !d->synchronous; i++) {
        if (p->op[i].kind != PROGRAM_DOT || !d->dot[i].resident || d->work.op[i].parent != loop)
            continue;
        const struct plan_step touch = {
            .op = PLAN_TOUCH, .ring = -1, .tensor = -1, .place = d->dot[i].operand, .call = "keep"};
        status = derive_land(d, d->dot[i].operand);
        status = status ? status : derive_emit(d, d->consumer, touch);
    }
    return status;
}
