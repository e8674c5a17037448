/* An operand of a result's arithmetic that bulk copies bring into the buffers that the result leaves by.
 *
 * The consumer's thread that stores the buffers asks for it: it knows when its stores have read them. That wait, and
 * the copies' issue, stand behind the first turn of the item's main loop, whose products run meanwhile; the tile is
 * there long before the last ones are over. Who has waited until a chunk is full may write its buffer, too: it has come
 * behind the wait for the store. A thread reads of a chunk what it, or its warp by the same exchange, writes there, so
 * that nothing stands between the two; what it has read is read, for the asynchronous proxy, as what it wrote is
 * written: by the fence in front of the store. */
#include "lower/derive/derive_ops.h"
#include "lower/family.h"

/* The item's first loop with dots, where it stands in no other. */
static int main_loop(const struct derive *d)
{
    for (int i = 0; i < d->work.program->op_count; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT) {
            const int loop = d->work.op[i].parent;
            return loop >= 0 && d->work.op[loop].parent < 0 ? loop : -1;
        }
    return -1;
}

bool derive_brings_source(const struct derive *d, int loop)
{
    return d->source && main_loop(d) >= 0 && (loop < 0 || main_loop(d) == loop);
}

int derive_bring_source(struct derive *d)
{
    struct plan *p = d->work.l->plan;
    const struct plan_ring *ring = &p->ring[d->source_ring];
    const struct plan_tensor *t = &p->tensor[plan_number(d->source)];
    const int tensor = plan_number(d->source);
    int status = 0;
    struct plan_step fill = {.op = PLAN_FILL,
                             .ring = d->source_ring,
                             .tensor = tensor,
                             .count = t->tile_bytes,
                             .call = plan_text(p, "%s_fetch", t->name),
                             .why = "under the item's products"};
    for (int k = 0; k < t->rank && !status; k++)
        fill.at[k] = derive_built(d, d->source_of, d->work.op[d->source_of].at[k], 0, &status);
    const struct plan_step step[] = {
        {.op = PLAN_STORE_WAIT,
         .ring = plan_number(ring->into),
         .tensor = -1,
         .call = "d_wait_0",
         .why = "bulk stores of the item before may still read the buffers"},
        {.op = PLAN_LOOP,
         .ring = -1,
         .tensor = -1,
         .count = ring->stages,
         .call = p->tensor[d->work.program->op[d->source_of].tensor].name},
        {.op = PLAN_EXPECT, .ring = d->source_ring, .tensor = -1, .count = ring->tx_bytes, .call = "source_expect"},
        fill,
        {.op = PLAN_END, .ring = -1, .tensor = -1},
    };
    for (size_t i = 0; i < sizeof step / sizeof *step && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    return status;
}

int derive_take_source(struct derive *d, int op, int width)
{
    struct plan *p = d->work.l->plan;
    if (!d->source || op != d->source_of)
        return 0;
    const struct plan_tensor *t = &p->tensor[plan_number(d->source)];
    const struct plan_place held = {.name = plan_text(p, "%s_source", t->name),
                                    .kind = PLAN_PLACE_READ,
                                    .dtype = t->dtype,
                                    .rows = p->mma[0].m,
                                    .cols = width,
                                    .registers = width / 4,
                                    .shared = -1};
    const int place = held.name ? plan_add_place(p, held) : 0;
    const struct plan_step step[] = {
        {.op = PLAN_WAIT_FULL,
         .ring = d->source_ring,
         .tensor = -1,
         .call = "source_wait_full",
         .why = "the chunk has come, and so the buffer's last store has read it"},
        {.op = PLAN_READ,
         .ring = d->source_ring,
         .tensor = plan_number(d->source),
         .place = place,
         .call = plan_text(p, "%s_take", t->name)},
    };
    int status = place && step[1].call ? 0 : 3;
    for (size_t i = 0; i < sizeof step / sizeof *step && !status; i++)
        status = derive_emit(d, d->consumer, step[i]);
    return status;
}
