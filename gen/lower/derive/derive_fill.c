/* Rings that the consumers fill themselves: where the fills, their groups, waits and barriers stand. See derive.h. */
#include "lower/derive/derive.h"
#include "lower/derive/derive_turns.h"

#include "lower/family.h"

/* The rings that dots of the loop read beside their loads, in the order in which a turn takes them. */
static int rings_of(const struct derive *d, int loop, int ring[DERIVE_MAX_RINGS])
{
    const struct program *p = d->work.program;
    int count = 0;
    for (int i = loop + 1; i < p->op[loop].end; i++)
        for (int o = 0; o < 2 && p->op[i].kind == PROGRAM_DOT; o++) {
            int r = d->dot[i].load[o] >= 0 ? derive_ring_of(d, d->dot[i].load[o]) : -1, k = 0;
            if (r < 0 || d->ring[r].parent != loop || d->ring[r].inner >= 0)
                continue;
            while (k < count && ring[k] != r)
                k++;
            if (k == count)
                ring[count++] = r;
        }
    return count;
}

static int stages_of(const struct derive *d, int ring)
{
    return d->work.l->plan->ring[d->ring[ring].number].stages;
}

static int meet(struct derive *d, const char *why)
{
    return derive_emit(
        d, d->consumer,
        (struct plan_step){
            .op = PLAN_BARRIER, .ring = -1, .tensor = -1, .count = d->meeting, .call = "block_meet", .why = why});
}

/* At most so many of the newest groups may be on their way still. */
static int wait_for(struct derive *d, int ring, int groups)
{
    struct plan *p = d->work.l->plan;
    return !d->copies ? 0
                      : derive_emit(d, d->consumer,
                                    (struct plan_step){.op = PLAN_CP_WAIT,
                                                       .ring = d->ring[ring].number,
                                                       .tensor = -1,
                                                       .count = groups,
                                                       .call = plan_text(p, "copies_wait_%d", groups)});
}

static int take(struct derive *d, int ring)
{
    return derive_emit(d, d->consumer,
                       (struct plan_step){.op = PLAN_TAKE,
                                          .ring = d->ring[ring].number,
                                          .tensor = -1,
                                          .call = plan_text(d->work.l->plan, "%s_advance", d->ring[ring].name)});
}

/* The next stage, as a group of its own. In a loop (plan_some of plan.loop; 0: none) it is that of the turn `ahead`
 * turns on, whose variable is `shift` more. */
static int fill(struct derive *d, int number, int loop, int ahead, int shift)
{
    struct plan *p = d->work.l->plan;
    const struct derive_ring *ring = &d->ring[number];
    int status = 0;
    for (int i = 0; i < ring->load_count && !status; i++) {
        int op = ring->load[i], tensor = d->work.program->op[op].tensor;
        const struct plan_tensor *t = &p->tensor[tensor];
        struct plan_step step = {.op = PLAN_FILL,
                                 .ring = ring->number,
                                 .tensor = tensor,
                                 .count = t->tile_bytes,
                                 .loop = loop,
                                 .ahead = ahead,
                                 .call = plan_text(p, "%s_%s_load", ring->name, t->name)};
        for (int k = 0; k < t->rank && !status; k++)
            step.at[k] = derive_built(d, op, d->work.op[op].at[k], shift, &status);
        status = status ? status : derive_fill_end(d, op, shift, &step);
        status = status ? status : derive_emit(d, d->consumer, step);
    }
    return status || !d->copies
               ? status
               : derive_emit(d, d->consumer,
                             (struct plan_step){
                                 .op = PLAN_CP_COMMIT, .ring = ring->number, .tensor = -1, .call = "copies_commit"});
}

/* Rings whose dots stand in the loop, and their loads right around it. */
static bool is_outer(const struct derive *d, int ring, int loop)
{
    return d->ring[ring].inner == loop && d->ring[ring].parent == d->work.op[loop].parent;
}

int derive_fill_outer(struct derive *d, int loop)
{
    int status = 0, filled = 0;
    for (int r = 0; r < d->ring_count && !status; r++) {
        if (!is_outer(d, r, loop))
            continue;
        status = filled++ ? 0 : meet(d, "who reads the stage may not be through");
        status = status ? status : fill(d, r, 0, 0, 0);
    }
    return status;
}

int derive_fill_prologue(struct derive *d, int loop)
{
    struct plan *p = d->work.l->plan;
    int ring[DERIVE_MAX_RINGS], count = rings_of(d, loop, ring), status = 0, own = d->loop[loop];
    if (count == 0)
        return 0;
    int stages = stages_of(d, ring[0]), first = d->first[loop];
    int turns = expr_int(&p->fused, stages - 1);
    p->loop[first].from = p->loop[own].from;
    p->loop[first].to = p->loop[own].to;
    if (turns < 0)
        return 3;
    status = derive_emit(d, d->consumer,
                         (struct plan_step){.op = PLAN_LOOP,
                                            .ring = -1,
                                            .tensor = -1,
                                            .count = stages - 1,
                                            .node = plan_some(turns),
                                            .loop = plan_some(first),
                                            .call = p->loop[first].name});
    d->loop[loop] = first;
    for (int i = 0; i < count && !status; i++)
        status = fill(d, ring[i], plan_some(first), 0, 0);
    d->loop[loop] = own;
    return status ? status : derive_emit(d, d->consumer, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

int derive_take_outer(struct derive *d, int loop)
{
    int ring[DERIVE_MAX_RINGS], count = rings_of(d, loop, ring), status = 0, taken = 0;
    int behind = count ? count * (stages_of(d, ring[0]) - 1) : 0; /* groups of the prologue */
    for (int r = 0; r < d->ring_count && !status; r++) {
        if (!is_outer(d, r, loop))
            continue;
        if (!taken++) {
            status = wait_for(d, r, behind);
            status = status ? status : meet(d, "all threads' copies have come");
        }
        status = status ? status : take(d, r);
    }
    return status;
}

int derive_take_filled(struct derive *d, int number)
{
    const struct derive_ring *ring = &d->ring[number];
    if (ring->parent < 0) {
        int status = meet(d, "who reads the stage may not be through");
        status = status ? status : fill(d, number, 0, 0, 0);
        status = status ? status : wait_for(d, number, 0);
        status = status ? status : meet(d, "all threads' copies have come");
        return status ? status : take(d, number);
    }
    int other[DERIVE_MAX_RINGS], ahead = stages_of(d, number) - 1, variable = d->loop[ring->parent];
    int behind = rings_of(d, ring->parent, other) * ahead - 1;
    int status = wait_for(d, number, behind);
    status = status ? status : meet(d, "all threads' copies have come, and nobody reads what is filled next");
    status =
        status ? status : fill(d, number, plan_some(variable), ahead, ahead * d->work.l->plan->loop[variable].step);
    return status ? status : take(d, number);
}
