/* Which item a block takes next, where a counter decides it: the producer asks for the number, says where the item
 * begins and passes that on through a ring of its own, and every role turns as long as it is told of an item.
 *
 * The first item stands before the loop over items, each further one at the end of a turn; so the ring's steps are the
 * same in every turn, and what decides whether there is another is what was written or read last. */
#include "lower/derive/derive_ops.h"

enum { ARRIVALS = 4 /* every warp of a consumer releases for itself */ };

static int steps(struct derive *d, struct plan_role *role, const struct plan_step *step, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = derive_emit(d, role, step[i]);
    return status;
}

int derive_next_item(struct derive *d, bool first)
{
    struct plan *p = d->work.l->plan;
    int ring = plan_number(p->item_ring);
    if (ring < 0)
        return 0;
    const char *name = p->ring[ring].name;
    const struct plan_step produced[] = {
        {.op = PLAN_WAIT_EMPTY, .ring = ring, .tensor = -1, .phase = 1, .call = plan_text(p, "%s_wait_empty", name)},
        {.op = PLAN_WRITE,
         .ring = ring,
         .tensor = -1,
         .call = plan_text(p, "%s_write", name),
         .why = "where the item of that number begins, or that there is none"},
        {.op = PLAN_ARRIVE, .ring = ring, .tensor = -1, .arrivals = 1, .call = plan_text(p, "%s_arrive", name)},
    };
    const struct plan_step consumed[] = {
        {.op = PLAN_WAIT_FULL, .ring = ring, .tensor = -1, .call = plan_text(p, "%s_wait_full", name)},
        {.op = PLAN_READ,
         .ring = ring,
         .tensor = -1,
         .call = plan_text(p, "%s_read", name),
         .why = "the item that follows, or that there is none"},
        {.op = PLAN_RELEASE,
         .ring = ring,
         .tensor = -1,
         .arrivals = ARRIVALS,
         .call = plan_text(p, "%s_release", name)},
    };
    size_t fresh = first ? 1 : 0; /* nobody has read the ring's first stage */
    int status = steps(d, d->producer, produced + fresh, sizeof produced / sizeof *produced - fresh);
    return status ? status : steps(d, d->consumer, consumed, sizeof consumed / sizeof *consumed);
}

/* A step of the producer's at the counter. */
static int at_counter(struct derive *d, const char *call, const char *why)
{
    return !d->work.l->plan->item_ring
               ? 0
               : derive_emit(d, d->producer,
                             (struct plan_step){.op = PLAN_GLOBAL, .ring = -1, .tensor = -1, .call = call, .why = why});
}

int derive_take_item(struct derive *d)
{
    return at_counter(d, "items_take", "asked for early: the answer comes while this item is filled");
}

int derive_end_items(struct derive *d)
{
    return at_counter(d, "items_done", "the last block sets the counter back for the next launch");
}
