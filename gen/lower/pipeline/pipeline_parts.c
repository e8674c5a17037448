/* The sums of a loop whose turns the blocks of a cluster share (lower/split.c): where they come together. Each block
 * receives its columns from every other one, a stage of its ring for each value that the loop carries. */
#include <string.h>

#include "lower/pipeline/pipeline.h"

enum { BARRIERS = 16 /* bytes of a stage's two mbarriers */ };

/* The RESULT of the split loop that comes first; *count of them. NULL: no loop is split. */
static const struct program_op *first_result(const struct pipeline *x, int *count)
{
    const struct program_op *first = NULL;
    *count = 0;
    for (int i = 0; i < x->program->op_count; i++) {
        const struct program_op *o = &x->program->op[i];
        if (o->kind != PROGRAM_RESULT || !x->program->op[o->loop].parts)
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
    const struct program_op *result = first_result(x, &count);
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
    const struct program_op *result = first_result(x, &count);
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
