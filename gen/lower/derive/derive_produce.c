/* How the producer fills a stage: by bulk copies, or, where rows come by number, by its threads. */
#include "lower/derive/derive.h"
#include "lower/derive/derive_turns.h"

static int in_rings(const struct plan *p, int tensor)
{
    int rings = 0;
    for (int r = 0; r < p->ring_count; r++)
        for (int i = 0; i < p->ring[r].tensor_count; i++)
            rings += p->ring[r].filler != PLAN_FILL_THREADS && p->ring[r].tensor[i] == tensor;
    return rings;
}

/* One tensor of the stage. */
static int bring(struct derive *d, const struct derive_ring *ring, int op, int shift)
{
    struct plan *p = d->work.l->plan;
    int tensor = d->work.program->op[op].tensor, status = 0;
    const struct plan_tensor *t = &p->tensor[tensor];
    bool bulk = p->ring[ring->number].filler == PLAN_FILL_BULK;
    const char *way = bulk ? "load" : "write";
    struct plan_step step = {.op = bulk ? PLAN_FILL : PLAN_WRITE,
                             .ring = ring->number,
                             .tensor = tensor,
                             .count = bulk ? t->tile_bytes / t->multicast : 0,
                             .call = in_rings(p, tensor) > 1 ? plan_text(p, "%s_%s_%s", ring->name, t->name, way)
                                                             : plan_text(p, "%s_%s", t->name, way)};
    for (int k = 0; k < t->rank && !status; k++)
        step.at[k] = derive_built(d, op, d->work.op[op].at[k], shift, &status);
    status = status ? status : derive_fill_end(d, op, shift, &step);
    return status ? status : derive_emit(d, d->producer, step);
}

static int emit(struct derive *d, const struct derive_ring *ring, struct plan_step step, const char *call)
{
    step.ring = ring->number;
    step.tensor = -1;
    step.call = plan_text(d->work.l->plan, "%s_%s", ring->name, call);
    return derive_emit(d, d->producer, step);
}

static bool is_first_operand(const struct derive *d, int load)
{
    for (int i = 0; i < d->work.program->op_count; i++)
        if (d->work.program->op[i].kind == PROGRAM_DOT && d->dot[i].load[0] == load)
            return true;
    return false;
}

int derive_produce(struct derive *d, int number, int shift)
{
    const struct derive_ring *ring = &d->ring[number];
    const struct plan_ring *r = &d->work.l->plan->ring[ring->number];
    bool bulk = r->filler == PLAN_FILL_BULK;
    int status = emit(d, ring, (struct plan_step){.op = PLAN_WAIT_EMPTY, .phase = 1}, "wait_empty");
    if (!status && bulk)
        status = emit(d, ring, (struct plan_step){.op = PLAN_EXPECT, .count = r->tx_bytes}, "expect");
    for (int first = 1; first >= 0; first--) /* wgmma's rows first: where they are weights, they come from farthest */
        for (int i = 0; i < ring->load_count && !status; i++)
            if (is_first_operand(d, ring->load[i]) == (first == 1))
                status = bring(d, ring, ring->load[i], shift);
    status = status ? status : derive_send_along(d, number, shift);
    if (status || bulk)
        return status;
    status = emit(d, ring, (struct plan_step){.op = PLAN_FENCE_ASYNC}, "fence");
    return status ? status
                  : emit(d, ring, (struct plan_step){.op = PLAN_ARRIVE, .arrivals = r->full_arrivals}, "arrive");
}
