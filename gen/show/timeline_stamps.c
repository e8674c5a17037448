/* Rows of the stamps that a profile build leaves: a step's span reaches from the stamp before it to its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/profile.h"
#include "show/timeline_make.h"

static enum timeline_kind kind_of(const struct plan_step *step)
{
    static const struct {
        enum plan_op op;
        enum timeline_kind kind;
    } row[] = {
        {PLAN_WAIT_EMPTY, TIMELINE_WAIT_EMPTY},
        {PLAN_DRAIN, TIMELINE_WAIT_EMPTY},
        {PLAN_WAIT_FULL, TIMELINE_WAIT_FULL},
        {PLAN_MMA_WAIT, TIMELINE_WAIT_TENSOR},
        {PLAN_STORE_WAIT, TIMELINE_WAIT_OWN},
        {PLAN_CP_WAIT, TIMELINE_WAIT_OWN},
        {PLAN_BARRIER, TIMELINE_WAIT_BAR},
        {PLAN_EXPECT, TIMELINE_EXPECT},
        {PLAN_FILL, TIMELINE_COPY},
        {PLAN_MMA, TIMELINE_MMA},
        {PLAN_RELEASE, TIMELINE_RELEASE},
        {PLAN_ARRIVE, TIMELINE_ARRIVE},
        {PLAN_WRITE, TIMELINE_WRITE},
        {PLAN_STORE, TIMELINE_STORE},
        {PLAN_GLOBAL, TIMELINE_MOVE},
        {PLAN_SCRATCH_READ, TIMELINE_MOVE},
        {PLAN_SCRATCH_WRITE, TIMELINE_MOVE},
        {PLAN_READ, TIMELINE_MOVE},
        {PLAN_TOUCH, TIMELINE_COMPUTE},
        {PLAN_BARRIER_ARRIVE, TIMELINE_ARRIVE},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].op == step->op)
            return row[i].kind;
    return step->op == PLAN_LOOP && step->count > 0 ? TIMELINE_COMPUTE : TIMELINE_RUN;
}

/* A stamp among those of all instances. */
struct moment {
    uint64_t from, at;
    int instance;
    size_t number;
};

/* What instances have done to rings so far. */
struct counts {
    int filled, taken, released, stored; /* tensors, then stages */
};

struct stamps {
    struct maker m;
    const struct profile *profile;
    struct counts *count;    /* by instance and ring */
    int released[ROWS_MOST]; /* by row of a stage: instances that have, of those that read it */
    int readers[RINGS_MOST];
};

static int by_clock(const void *a, const void *b)
{
    const struct moment *p = a, *q = b;
    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    if (p->instance != q->instance)
        return p->instance - q->instance;
    return (p->number > q->number) - (p->number < q->number);
}

static const struct plan_step *step_of(const struct profile *p, const struct profile_instance *in, size_t number)
{
    return &p->plan->role[in->role].step[in->stamp[number].step];
}

/* The stage that a step is of, and what becomes of it; -1: none. */
static int move_stage(struct stamps *s, const struct plan_step *step, int instance, uint64_t at)
{
    const struct plan *plan = s->profile->plan;
    int g = plan_step_ring(step), stage = -1;
    if (g < 0 || g >= RINGS_MOST || s->m.stage_row[g] < 0)
        return -1;
    const struct plan_ring *ring = &plan->ring[g];
    if (ring->filler != PLAN_FILL_THREADS && !timeline_has_filled(s->m.t, g))
        return -1;
    struct counts *c = &s->count[instance * plan->ring_count + g];
    int own = s->profile->block[0].instance[instance].instance * ring->stages, tensors = ring->tensor_count;
    enum timeline_kind state = TIMELINE_KIND_COUNT;
    bool buffers = ring->filler == PLAN_FILL_THREADS;
    tensors = tensors > 0 ? tensors : 1;
    switch (step->op) {
    case PLAN_WAIT_EMPTY:
    case PLAN_EXPECT:
        stage = c->filled / tensors % ring->stages;
        break;
    case PLAN_FILL:
        stage = c->filled++ / tensors % ring->stages;
        state = TIMELINE_FILLING;
        break;
    case PLAN_ARRIVE:
        stage = c->filled / tensors % ring->stages;
        c->filled += tensors;
        state = TIMELINE_FULL;
        break;
    case PLAN_WAIT_FULL:
        stage = c->taken++ % ring->stages;
        state = TIMELINE_READING;
        break;
    case PLAN_RELEASE:
        stage = c->released++ % ring->stages;
        if (++s->released[s->m.stage_row[g] + stage] >= s->readers[g]) {
            s->released[s->m.stage_row[g] + stage] = 0;
            state = TIMELINE_FREE;
        }
        break;
    case PLAN_WRITE:
        stage = buffers ? own + c->stored % ring->stages : c->filled / tensors % ring->stages;
        state = TIMELINE_WRITTEN;
        break;
    case PLAN_STORE:
        stage = own + c->stored++ % ring->stages;
        state = TIMELINE_STORING;
        break;
    case PLAN_STORE_WAIT: /* all but so many have been read */
        for (int i = step->count; buffers && i < ring->stages && i < c->stored; i++) {
            int row = s->m.stage_row[g] + own + (c->stored - 1 - i) % ring->stages;
            if (own + ring->stages <= s->m.stage_rows[g] && maker_state(&s->m, row) == TIMELINE_STORING)
                maker_set_state(&s->m, row, TIMELINE_FREE, at);
        }
        break;
    default:
        break;
    }
    if (ring->filler == PLAN_FILL_CP_ASYNC || stage >= s->m.stage_rows[g])
        return -1;
    if (state != TIMELINE_KIND_COUNT)
        maker_set_state(&s->m, s->m.stage_row[g] + stage, state, at);
    return stage;
}

static void name_wait(const struct plan *plan, const struct plan_step *step, char *name, size_t size)
{
    const char *ring = plan_step_ring(step) >= 0 ? plan->ring[plan_step_ring(step)].name : "";
    switch (step->op) {
    case PLAN_WAIT_FULL:
        snprintf(name, size, "%s.full", ring);
        break;
    case PLAN_WAIT_EMPTY:
    case PLAN_DRAIN:
        snprintf(name, size, "%s.empty", ring);
        break;
    case PLAN_BARRIER:
        snprintf(name, size, "%s", step->count < plan->barrier_count ? plan->barrier[step->count].name : "barrier");
        break;
    case PLAN_MMA_WAIT:
        snprintf(name, size, "mma");
        break;
    default:
        snprintf(name, size, "%s", step->op == PLAN_STORE_WAIT ? "stores" : "copies");
    }
}

static void add_moment(struct stamps *s, const struct profile_instance *in, const struct moment *moment)
{
    const struct plan *plan = s->profile->plan;
    const struct plan_step *step = step_of(s->profile, in, moment->number);
    enum timeline_kind kind = kind_of(step);
    bool is_mark = timeline_is_mark(kind), waits = kind > TIMELINE_RUN && kind < TIMELINE_MOVE;
    int stage = move_stage(s, step, moment->instance, moment->at), ring = stage < 0 ? -1 : plan_step_ring(step);
    struct timeline_span *span = maker_last_span(&s->m, moment->instance);
    if (kind == TIMELINE_RUN || (!is_mark && moment->at == moment->from))
        return;
    if (is_mark && span && span->kind == kind && span->ring == ring && span->stage == stage) {
        span->to = moment->at;
        span->count++;
        return;
    }
    if (!(span = maker_add_span(&s->m, moment->instance, kind, is_mark ? moment->at : moment->from)))
        return;
    span->to = moment->at;
    span->ring = ring;
    span->stage = stage;
    span->file = step->call ? step->call : "";
    span->line = (uint32_t)(step - plan->role[in->role].step) + 1;
    if (waits) {
        char name[48];
        name_wait(plan, step, name, sizeof name);
        span->barrier = maker_barrier(&s->m, name);
    }
}

/* All stamps of a block in the order of the clock; the caller frees it. NULL: no memory. */
static struct moment *order(const struct profile *profile, const struct profile_block *b, size_t *count)
{
    *count = 0;
    for (int i = 0; i < profile->instances; i++)
        *count += b->instance[i].count;
    struct moment *all = tw_alloc(profile->rt, (*count + 1) * sizeof *all), *next = all;
    for (int i = 0; i < profile->instances && all; i++)
        for (size_t k = 0; k < b->instance[i].count; k++)
            *next++ = (struct moment){k ? b->instance[i].stamp[k - 1].clock : b->instance[i].began,
                                      b->instance[i].stamp[k].clock, i, k};
    if (all)
        qsort(all, *count, sizeof *all, by_clock);
    return all;
}

int timeline_of_stamps(struct timeline *t, const struct profile *profile, int block, struct tw_error *error)
{
    const struct profile_block *b = &profile->block[block];
    const struct plan *plan = profile->plan;
    struct stamps *s = tw_alloc_zeroed(profile->rt, sizeof *s);
    size_t count = 0;
    struct moment *all = order(profile, b, &count);
    memset(t, 0, sizeof *t);
    bool fine = s && all && maker_open(&s->m, t, profile->rt, plan, b->number, false);
    if (fine)
        s->count = tw_alloc_zeroed(profile->rt, sizeof *s->count * (size_t)(profile->instances * plan->ring_count + 1));
    fine = fine && s->count;
    for (int i = 0; i < profile->instances && fine; i++) {
        t->row[i].begin = b->instance[i].began;
        t->row[i].end = b->instance[i].ended;
        for (int k = 0; k < plan->role[b->instance[i].role].step_count; k++) {
            const struct plan_step *step = &plan->role[b->instance[i].role].step[k];
            int g = step->op == PLAN_WAIT_FULL ? plan_step_ring(step) : -1;
            bool first = g >= 0 && g < RINGS_MOST;
            for (int e = 0; e < k && first; e++)
                first = !(plan->role[b->instance[i].role].step[e].op == PLAN_WAIT_FULL &&
                          plan_step_ring(&plan->role[b->instance[i].role].step[e]) == g);
            if (first)
                s->readers[g]++;
        }
    }
    if (fine) {
        s->profile = profile;
        t->stamped = true;
        t->unit = "clocks";
        t->about = profile->timed
                       ? "over clocks of its multiprocessor: a step reaches from the stamp before it to its own"
                       : "over instructions of warps: a step reaches from the stamp before it to its own";
        t->steps = b->clocks;
        t->microseconds = b->nanoseconds > 0 ? b->nanoseconds / 1e3 : 1e-3;
        t->begin = (double)(b->began_ns - profile->block[0].began_ns) / 1e3;
        if (b->began_ns < profile->block[0].began_ns)
            t->begin = -(double)(profile->block[0].began_ns - b->began_ns) / 1e3;
        for (size_t i = 0; i < count; i++)
            add_moment(s, &b->instance[all[i].instance], &all[i]);
        for (int r = t->role_rows; r < t->row_count; r++)
            maker_close_span(&s->m, r, t->steps);
        maker_count(t);
        fine = !s->m.failed;
    }
    if (s)
        tw_free(profile->rt, s->count);
    tw_free(profile->rt, s);
    tw_free(profile->rt, all);
    return fine ? TW_OK : tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}
