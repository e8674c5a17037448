#include "unit/plan/protocol_naive.h"

#include <stdlib.h>
#include <string.h>

#include "unit/check.h"

static bool naive_fault(struct naive *n, const char *what)
{
    n->fault = n->fault ? n->fault : what;
    return false;
}

/* ---- barriers --------------------------------------------------------------------------------------------------- */

static void naive_settle(struct naive *n, struct naive_state *s, int g, int block, int stage, int side)
{
    const struct plan_ring *ring = &n->p->ring[g];
    if (s->barrier[g][block][stage][side].pending == 0 && s->barrier[g][block][stage][side].bytes == 0) {
        s->barrier[g][block][stage][side].phase = !s->barrier[g][block][stage][side].phase;
        s->barrier[g][block][stage][side].turns = (int8_t)(s->barrier[g][block][stage][side].turns + n->strict);
        s->barrier[g][block][stage][side].pending = (int8_t)(side ? ring->empty_arrivals : ring->full_arrivals);
    }
}

static bool naive_arrive(struct naive *n, struct naive_state *s, int g, int block, int index, int side, int arrivals,
                         int bytes)
{
    bool alive = false;
    int stage = index % n->p->ring[g].stages;
    if (n->strict && s->barrier[g][block][stage][side].turns != index / n->p->ring[g].stages)
        return naive_fault(n, "an arrival that counts for another turn");
    for (int t = 0; t < n->threads; t++)
        alive |= n->who[t].block == block && !s->thread[t].done;
    if (!alive)
        return naive_fault(n, "arrival at a block that has ended");
    if (s->barrier[g][block][stage][side].pending < arrivals)
        return naive_fault(n, "more arrivals than the barrier counts");
    s->barrier[g][block][stage][side].pending = (int8_t)(s->barrier[g][block][stage][side].pending - arrivals);
    s->barrier[g][block][stage][side].bytes += bytes;
    naive_settle(n, s, g, block, stage, side);
    return true;
}

/* BARRIER and BARRIER_ARRIVE. *next: the thread goes on to its next step. False where it waits, or after a fault. */
static bool naive_meet(struct naive *n, struct naive_state *s, int t, bool *next)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int block = n->who[t].block, expected = 0, barrier = e->count;
    int where = protocol_meeting(n->p, n->who[t].role, n->who[t].instance, e);
    bool turns = n->p->barrier[barrier].turns, private = protocol_barrier_is_private(n->p, barrier);
    if (q->at_barrier == 1)
        return false;
    if (q->at_barrier == 2) {
        q->at_barrier = 0;
        return *next = true;
    }
    for (int o = 0; o < n->threads; o++) {
        const struct plan_role *role = &n->p->role[n->who[o].role];
        bool meets = false;
        for (int i = 0; i < role->step_count; i++)
            meets |= (role->step[i].op == PLAN_BARRIER || role->step[i].op == PLAN_BARRIER_ARRIVE) &&
                     role->step[i].count == barrier;
        int distance = (where - n->who[o].instance + role->instances) % role->instances;
        expected += meets && n->who[o].block == block && (turns ? distance <= 1 : !private || distance == 0);
    }
    uint16_t *arrived = &s->arrived[barrier][block][where];
    if (*arrived >> t & 1)
        return naive_fault(n, "arrives twice in one turn of a barrier");
    *arrived = (uint16_t)(*arrived | 1u << t);
    q->at_barrier = e->op == PLAN_BARRIER;
    if (__builtin_popcount(*arrived) == expected) {
        for (int o = 0; o < n->threads; o++) /* who waits there goes on */
            if (*arrived >> o & 1 && s->thread[o].at_barrier == 1) {
                const struct plan_step *w = naive_step_of(n, &s->thread[o], o);
                if (w->count == barrier && protocol_meeting(n->p, n->who[o].role, n->who[o].instance, w) == where)
                    s->thread[o].at_barrier = 2;
            }
        *arrived = 0;
    }
    *next = e->op == PLAN_BARRIER_ARRIVE;
    return true;
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

/* Some reader in the block has not finished with stage index `before`. */
static bool naive_is_read(const struct naive *n, const struct naive_state *s, int g, int block, int before)
{
    for (int t = 0; t < n->threads && before >= 0; t++) {
        if (n->who[t].block != block || !n->who[t].reads[g])
            continue;
        const struct naive_touch *u = &s->thread[t].ring[g].touch[before % n->p->ring[g].stages];
        if ((s->thread[t].ring[g].taken <= before && !n->who[t].skips[g]) || (u->read == before && !u->read_over))
            return true;
    }
    return false;
}

static bool naive_fill(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int g = e->ring, block = n->who[t].block, S = n->p->ring[g].stages, slot = protocol_slot(n->p, e);
    int i = q->ring[g].filled, stage = i % S;
    const enum plan_filler filler = n->p->ring[g].filler;
    bool sent = filler == PLAN_FILL_PEERS, bulk = filler == PLAN_FILL_BULK || filler == PLAN_FILL_OWN || sent;
    if (filler == PLAN_FILL_OWN && !naive_buffer_is_free(n, s, t, g, i))
        return naive_fault(n, "overwritten while a store reads it");
    slot = sent ? n->who[t].lane : slot; /* each thread sends its part */
    if (!bulk && n->who[t].reads[g] && q->ring[g].filled_here >= naive_reads_here(n, q, t, g))
        return true;
    if (!bulk && q->ring[g].filling >> slot & 1)
        return naive_fault(n, "two copies to one place");
    unsigned to = sent   ? protocol_neighbours(n->p, &n->cluster, g, block)
                  : bulk ? protocol_sharing(&n->cluster, e->tensor, block)
                         : 1u << block;
    for (int b = 0; b < n->cluster.blocks; b++) {
        if (!(to >> b & 1))
            continue;
        if (naive_is_read(n, s, g, b, i - S))
            return naive_fault(n, "overwritten while read");
        if (bulk && s->part[g][b][stage][slot][block].flying)
            return naive_fault(n, "two copies in flight to one place");
        s->part[g][b][stage][slot][block].index = (int8_t)i;
        s->part[g][b][stage][slot][block].flying = bulk;
        s->part[g][b][stage][slot][block].role = (uint8_t)n->who[t].role;
        s->part[g][b][stage][slot][block].step = q->step;
    }
    if (!bulk) {
        struct naive_touch *u = &q->ring[g].touch[stage];
        bool in_flight = u->copy == i && !u->copy_over;
        u->copy = (int8_t)i;
        u->copy_group = q->copy_groups;
        u->copy_over = n->p->tensor[e->tensor].access == PLAN_ACCESS_GLOBAL && !in_flight;
    }
    q->ring[g].filling |= (uint8_t)(1u << slot);
    if (sent || q->ring[g].filling == n->who[t].fills[g]) {
        q->ring[g].filling = 0;
        q->ring[g].filled++;
        q->ring[g].filled_here++;
    }
    return true;
}

static bool naive_read(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int g = e->ring, block = n->who[t].block, S = n->p->ring[g].stages, slot = protocol_slot(n->p, e);
    const enum plan_filler filler = n->p->ring[g].filler;
    bool sent = filler == PLAN_FILL_PEERS, bulk = filler == PLAN_FILL_BULK || filler == PLAN_FILL_OWN || sent;
    bool copied = filler == PLAN_FILL_CP_ASYNC;
    int i = q->ring[g].taken - n->who[t].takes[g] - e->back;
    if (!copied) {
        int nth = q->ring[g].holds - 1 - e->back;
        if (nth < 0)
            return naive_fault(n, "read of a stage that was not taken");
        int lead = filler == PLAN_FILL_OWN ? t : t - n->who[t].lane; /* each thread writes where it alone has read */
        if (nth < s->thread[lead].ring[g].released || nth < q->ring[g].released)
            return naive_fault(n, "read of a stage that was released");
        i = q->ring[g].order[nth % S];
    }
    if (copied && i < 0)
        return naive_fault(n, "read of a stage that was not taken");
    int stage = i < 0 ? 0 : i % S;
    bool filled = !copied;
    for (int o = 0; o < n->threads; o++)
        filled = filled || (n->who[o].block == block && n->who[o].fills[g] >> slot & 1);
    if (!filled)
        return naive_fault(n, "read of what nobody fills");
    for (int o = 0; o < n->threads; o++) {
        const struct naive_touch *u = &s->thread[o].ring[g].touch[stage];
        if (n->who[o].block != block || !n->who[o].fills[g] || bulk)
            continue;
        if (copied && (u->copy != i || !u->copy_over))
            return naive_fault(n, "read before the copies are there");
        if (!copied && (u->written != i || (e->count && !u->fenced)))
            return naive_fault(n, "read of what is not written and fenced");
    }
    unsigned from = sent   ? protocol_neighbours(n->p, &n->cluster, g, block)
                    : bulk ? protocol_sharing(&n->cluster, e->tensor, block)
                           : 0;
    for (int b = 0; b < n->cluster.blocks; b++)
        for (int k = sent ? 0 : slot; k <= (sent ? n->who[t].lanes - 1 : slot); k++)
            if (from >> b & 1 && (s->part[g][block][stage][k][b].index != i || s->part[g][block][stage][k][b].flying))
                return naive_fault(n, "read without its bytes");
    struct naive_touch *u = &q->ring[g].touch[stage];
    u->read_group = u->read == i && !u->read_over ? u->read_group : -1;
    u->read = (int8_t)i;
    u->read_group = e->count ? q->mma_groups : u->read_group;
    u->read_over = u->read_group < 0;
    if (!copied || e->back || n->who[t].takes[g])
        return true;
    q->ring[g].reading |= (uint8_t)(1u << slot);
    if (q->ring[g].reading == n->who[t].reads[g]) {
        q->ring[g].reading = 0;
        q->ring[g].taken++;
    }
    return true;
}

static bool naive_release(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int g = e->ring, block = n->who[t].block, S = n->p->ring[g].stages;
    while (q->ring[g].holds - q->ring[g].released > e->count) {
        int i = q->ring[g].order[q->ring[g].released++ % S];
        for (int o = t; o < t + n->who[t].lanes && n->who[t].lane == 0; o++)
            if (s->thread[o].ring[g].touch[i % S].read == i && !s->thread[o].ring[g].touch[i % S].read_over)
                return naive_fault(n, "released while it is read");
        for (int b = 0; b < n->cluster.blocks && n->who[t].lane == 0; b++)
            if (protocol_neighbours(n->p, &n->cluster, g, block) >> b & 1 &&
                !naive_arrive(n, s, g, b, i, 1, protocol_arrivals(e), 0))
                return false;
    }
    return true;
}

static bool naive_write(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int g = e->ring, S = n->p->ring[g].stages, lead = n->who[t].elected[g];
    bool arrives = n->p->ring[g].filler == PLAN_FILL_ARRIVE;
    int i = arrives ? q->ring[g].filled : q->ring[g].stored, stage = i % S;
    const struct naive_touch *u = &s->thread[lead].ring[g].touch[stage];
    if (arrives && naive_is_read(n, s, g, n->who[t].block, i - S))
        return naive_fault(n, "written while read");
    if ((!arrives && i >= S && (s->thread[lead].ring[g].stored <= i - S || u->stored != i - S || !u->store_over)) ||
        !naive_writes_over(n, s, t, g, i))
        return naive_fault(n, "buffer written while a store reads it, or a copy comes");
    if (arrives)
        q->ring[g].filling |= (uint8_t)(1u << protocol_slot(n->p, e));
    q->ring[g].touch[stage].written = (int8_t)i;
    q->ring[g].touch[stage].fenced = false;
    return true;
}

static bool naive_store(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    int g = naive_step_of(n, q, t)->ring, i = q->ring[g].stored, stage = i % n->p->ring[g].stages;
    for (int o = 0; o < n->threads && n->who[t].elected[g] == t; o++)
        if (n->who[o].role == n->who[t].role && n->who[o].block == n->who[t].block && n->who[o].elected[g] == t &&
            (s->thread[o].ring[g].touch[stage].written != i || !s->thread[o].ring[g].touch[stage].fenced))
            return naive_fault(n, "store of what is not written and fenced");
    if (n->who[t].elected[g] == t) {
        q->ring[g].touch[stage].stored = (int8_t)i;
        q->ring[g].touch[stage].store_group = q->stores++;
        q->ring[g].touch[stage].store_over = false;
    }
    q->ring[g].stored++;
    return true;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool naive_is_late(const struct naive *n, const struct plan_step *e)
{
    return e->place && (e->op == PLAN_TOUCH || e->op == PLAN_WRITE) &&
           n->p->place[plan_number(e->place)].kind == PLAN_PLACE_LATE;
}

/* A chunk is packed, all that are packed are held, or one of those goes out. */
static bool naive_late(struct naive *n, struct naive_thread *q, const struct plan_step *e)
{
    struct naive_place *a = &q->place[plan_number(e->place)];
    if (e->op == PLAN_WRITE)
        return a->held-- > 0 ? true : naive_fault(n, "a chunk goes out that is not held");
    if (a->held > 0)
        return naive_fault(n, "a chunk that is held never goes out");
    a->packed = (int8_t)(a->packed + (e->count == 0));
    if (e->count > 0 && a->packed != e->count)
        return naive_fault(n, "chunks are held that were not packed");
    a->held = (int8_t)e->count;
    a->all = a->held;
    a->packed = e->count ? 0 : a->packed;
    return true;
}

static bool naive_registers(struct naive *n, struct naive_thread *q, int t)
{
    const struct plan_step *e = naive_step_of(n, q, t);
    struct naive_place *a = &q->place[plan_number(e->place)], *b = e->place2 ? &q->place[plan_number(e->place2)] : NULL;
    if (e->op == PLAN_TOUCH) {
        a->touched = true;
        return a->write_group < 0 && a->read_group < 0 ? true : naive_fault(n, "registers in flight are touched");
    }
    const struct plan_mma *m = n->p->mma;
    if (protocol_is_synchronous(n->p, e)) {
        a->touched = true;
        return a->write_group < 0 && a->read_group < 0 ? true : naive_fault(n, "registers in flight are touched");
    }
    if (a->write_group >= 0 && memcmp(&m[a->shape].m, &m[e->count].m, 3 * sizeof(int)) != 0)
        return naive_fault(n, "an accumulator in flight is written by another shape");
    if (a->touched || (b && b->touched))
        return naive_fault(n, "registers that threads touched are used without a fence");
    a->write_group = q->mma_groups;
    a->shape = (int8_t)e->count;
    if (b)
        b->read_group = q->mma_groups;
    return true;
}

static bool naive_scratch(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int at = plan_number(e->place), first = t - n->who[t].lane;
    if (e->op == PLAN_SCRATCH_WRITE) {
        for (int o = first; o < first + n->who[t].lanes; o++)
            if (s->thread[o].place[at].read_group >= 0)
                return naive_fault(n, "scratch is written while an instruction reads it");
        q->place[at].writes++;
        q->place[at].fenced = false;
        return true;
    }
    if (e->count && n->who[t].lane > 0)
        return true;
    if (q->place[at].writes == 0)
        return naive_fault(n, "scratch is read before it is written");
    for (int o = first; o < first + n->who[t].lanes; o++)
        if (s->thread[o].place[at].writes != q->place[at].writes || (e->count && !s->thread[o].place[at].fenced))
            return naive_fault(n, "scratch is read when not all is there");
    if (e->count)
        q->place[at].read_group = q->mma_groups;
    return true;
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

static void naive_finish(struct naive *n, struct naive_thread *q, enum plan_op op, int count)
{
    for (int r = 0; r < n->p->ring_count; r++)
        for (int i = 0; i < NAIVE_STAGES; i++) {
            struct naive_touch *u = &q->ring[r].touch[i];
            u->read_over |= op == PLAN_MMA_WAIT && u->read_group < q->mma_groups - count;
            u->copy_over |= op == PLAN_CP_WAIT && u->copy_group < q->copy_groups - count;
            u->store_over |= op == PLAN_STORE_WAIT && u->store_group < q->stores - count;
        }
    for (int i = 0; i < n->p->place_count && op == PLAN_MMA_WAIT; i++) {
        struct naive_place *a = &q->place[i];
        a->write_group = a->write_group < q->mma_groups - count ? -1 : a->write_group;
        a->read_group = a->read_group < q->mma_groups - count ? -1 : a->read_group;
    }
}

static bool naive_end(struct naive *n, struct naive_thread *q, int t)
{
    q->done = true;
    for (int i = 0; i < n->p->place_count; i++)
        if (q->place[i].write_group >= 0 || q->place[i].read_group >= 0)
            return naive_fault(n, "ends with instructions in flight");
        else if (q->place[i].held + q->place[i].packed > 0)
            return naive_fault(n, "ends with chunks that never go out");
    for (int r = 0; r < n->p->ring_count; r++) {
        for (int i = 0; i < NAIVE_STAGES; i++) {
            const struct naive_touch *u = &q->ring[r].touch[i];
            if ((u->read >= 0 && !u->read_over) || (u->copy >= 0 && !u->copy_over) ||
                (u->stored >= 0 && !u->store_over))
                return naive_fault(n, "ends with work in flight");
        }
        bool refilled = false;
        for (int o = 0; o < n->p->role_count; o++)
            refilled |= protocol_has(&n->p->role[o], PLAN_WAIT_EMPTY, r, -1);
        if (refilled && n->who[t].lane == 0 && q->ring[r].holds > q->ring[r].released)
            return naive_fault(n, "ends with stages unreleased");
    }
    return true;
}

/* What the thread leaves to the first of its executor, or to another instance. */
static bool naive_is_idle(const struct naive *n, const struct naive_thread *q, int t)
{
    const struct plan_step *e = naive_step_of(n, q, t);
    bool later = n->who[t].lane > 0;
    if (naive_is_foreign(n, q, t) != (e->op == PLAN_SKIP) ||
        (e->only && (e->only == PLAN_NEXT ? q->next : e->only - 1) != n->who[t].instance))
        return true;
    if (naive_is_late(n, e))
        return false;
    switch (e->op) {
    case PLAN_EXPECT:
        return later;
    case PLAN_WAIT_EMPTY:
    case PLAN_FILL:
    case PLAN_DRAIN:
        return later && !n->who[t].fills[e->ring];
    case PLAN_WAIT_FULL:
    case PLAN_READ:
    case PLAN_RELEASE:
    case PLAN_SKIP:
    case PLAN_TAKE:
        return later && !n->who[t].reads[e->ring];
    case PLAN_MMA:
    case PLAN_TOUCH:
    case PLAN_MMA_FENCE:
    case PLAN_MMA_COMMIT:
    case PLAN_MMA_WAIT:
    case PLAN_STORE_WAIT:
        return later;
    default:
        return false;
    }
}

/* A step that waits for a stage, or takes one: false where it does not come to pass yet. */
static bool naive_wait(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int g = e->ring, block = n->who[t].block, S = n->p->ring[g].stages;
    int filled = q->ring[g].filled, taken = q->ring[g].taken;
    switch (e->op) {
    case PLAN_WAIT_EMPTY:
        return s->barrier[g][block][filled % S][1].phase != ((filled / S + e->phase) & 1);
    case PLAN_DRAIN:
        for (int i = filled > S ? filled - S : 0; i < filled; i++)
            if (s->barrier[g][block][i % S][1].phase == ((i / S) & 1))
                return false;
        return true;
    case PLAN_WAIT_FULL:
        if (s->barrier[g][block][taken % S][0].phase == ((taken / S + e->phase) & 1))
            return false;
        if (q->ring[g].holds - q->ring[g].released >= S)
            return naive_fault(n, "takes more stages than there are");
        q->ring[g].order[q->ring[g].holds++ % S] = (int8_t)taken;
        break;
    default:
        break;
    }
    q->ring[g].taken++;
    return true;
}

/* A lane arrives for what it has written. */
static bool naive_written(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    int arrivals = protocol_arrivals_of_lane(&n->p->role[n->who[t].role], e, n->who[t].lanes, n->who[t].lane);
    int g = e->ring, index = q->ring[g].filled++;
    if (q->ring[g].filling != n->who[t].fills[g])
        return naive_fault(n, "arrives before all is written");
    q->ring[g].filling = 0;
    return arrivals == 0 || naive_arrive(n, s, g, n->who[t].block, index, 0, arrivals, 0);
}

/* What a thread has written itself is ordered before what matrix instructions and bulk copies do. */
static void naive_fence(const struct naive *n, struct naive_thread *q, enum plan_op op)
{
    for (int i = 0; i < n->p->place_count && op == PLAN_MMA_FENCE; i++)
        q->place[i].touched = false;
    for (int i = 0; i < n->p->place_count && op == PLAN_FENCE_ASYNC; i++)
        q->place[i].fenced = true;
    for (int r = 0; r < n->p->ring_count && op == PLAN_FENCE_ASYNC; r++)
        for (int i = 0; i < NAIVE_STAGES; i++)
            q->ring[r].touch[i].fenced = true;
}

/* What a step does that is none of control flow; *next: it is over. False where it does not come to pass yet. */
static bool naive_do(struct naive *n, struct naive_state *s, int t, bool *next)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = naive_step_of(n, q, t);
    if (naive_is_late(n, e) && !naive_late(n, q, e))
        return false;
    switch (e->op) {
    case PLAN_WAIT_EMPTY:
    case PLAN_WAIT_FULL:
    case PLAN_TAKE:
    case PLAN_SKIP:
    case PLAN_DRAIN:
        return naive_wait(n, s, t);
    case PLAN_EXPECT:
        return naive_arrive(n, s, e->ring, n->who[t].block, q->ring[e->ring].filled, 0, 1, e->count);
    case PLAN_FILL:
        return naive_fill(n, s, t);
    case PLAN_ARRIVE:
        return naive_written(n, s, t);
    case PLAN_READ:
        return naive_read(n, s, t);
    case PLAN_RELEASE:
        return naive_release(n, s, t);
    case PLAN_MMA:
    case PLAN_TOUCH:
        return naive_registers(n, q, t);
    case PLAN_MMA_COMMIT:
        q->mma_groups++;
        return true;
    case PLAN_CP_COMMIT:
        q->copy_groups++;
        return true;
    case PLAN_MMA_WAIT:
    case PLAN_CP_WAIT:
    case PLAN_STORE_WAIT:
        naive_finish(n, q, e->op, e->count);
        return true;
    case PLAN_BARRIER:
    case PLAN_BARRIER_ARRIVE:
        return naive_meet(n, s, t, next);
    case PLAN_WRITE:
        return naive_write(n, s, t);
    case PLAN_SCRATCH_WRITE:
    case PLAN_SCRATCH_READ:
        return naive_scratch(n, s, t);
    case PLAN_MMA_FENCE:
    case PLAN_FENCE_ASYNC:
        naive_fence(n, q, e->op);
        return true;
    case PLAN_STORE:
        return naive_store(n, s, t);
    default:
        return true;
    }
}

/* One step of thread t in s. False where it cannot move, or after a fault. */
static bool naive_step(struct naive *n, struct naive_state *s, int t)
{
    struct naive_thread *q = &s->thread[t];
    const struct plan_role *role = &n->p->role[n->who[t].role];
    bool goes_on = true, next = true;
    if (protocol_is_flow(naive_step_of(n, q, t)->op)) {
        naive_loop(n, q, t);
        next = false;
    } else if (!naive_is_idle(n, q, t)) {
        goes_on = naive_do(n, s, t, &next);
    }
    if (!goes_on || n->fault)
        return false;
    q->step = (uint8_t)(q->step + next);
    return q->step < role->step_count || naive_end(n, q, t);
}

/* No other thread can see the step. */
static bool naive_is_invisible(const struct naive *n, const struct naive_thread *q, int t)
{
    enum plan_op op = naive_step_of(n, q, t)->op;
    return protocol_is_flow(op) || op == PLAN_GLOBAL || op == PLAN_TOUCH || op == PLAN_MMA || op == PLAN_MMA_FENCE ||
           op == PLAN_MMA_COMMIT || op == PLAN_CP_COMMIT || naive_is_idle(n, q, t);
}

static bool naive_steps(struct naive *n, struct naive_state *s, int t)
{
    bool moved = naive_step(n, s, t);
    while (moved && !s->thread[t].done && naive_is_invisible(n, &s->thread[t], t))
        moved = naive_step(n, s, t);
    return moved && !n->fault;
}

static void naive_begin(struct naive *n, struct naive_state *start)
{
    const struct plan *p = n->p;
    memset(start, 0, sizeof *start);
    for (int block = 0; block < n->cluster.blocks; block++)
        for (int r = 0; r < p->role_count; r++)
            for (int i = 0; i < p->role[r].instances; i++)
                for (int lane = 0; lane < protocol_lanes(p, r); lane++) {
                    int t = n->threads++;
                    assert_true(n->threads <= NAIVE_THREADS);
                    n->who[t].role = r;
                    n->who[t].instance = i;
                    n->who[t].lane = lane;
                    n->who[t].lanes = protocol_lanes(p, r);
                    n->who[t].block = block;
                    start->thread[t].done = p->role[r].step_count == 0;
                    for (int g = 0; g < p->ring_count; g++) {
                        const struct plan_role *q = &p->role[r];
                        const enum plan_filler by = p->ring[g].filler;
                        bool bulk = lane > 0 && (by == PLAN_FILL_BULK || by == PLAN_FILL_OWN);
                        bool one = lane > 0 && protocol_has_mbarriers(p, g) && protocol_reads_as_one(q, g);
                        n->who[t].fills[g] = bulk ? 0 : protocol_own_tensors(p, q, protocol_fill_op(p, g), g);
                        n->who[t].reads[g] = one ? 0 : protocol_own_tensors(p, q, PLAN_READ, g);
                        n->who[t].takes[g] = protocol_has(q, PLAN_TAKE, g, -1);
                        n->who[t].skips[g] = protocol_has(q, PLAN_SKIP, g, -1);
                        n->who[t].elected[g] = t - lane;
                        if (protocol_has(q, PLAN_STORE, g, -1) && !protocol_buffers_are_private(p, r, g))
                            n->who[t].elected[g] -= i * n->who[t].lanes;
                        n->who[t].scope[g] = -1;
                        int first = -1, last = -1;
                        const enum plan_op op[] = {PLAN_FILL, PLAN_TAKE, PLAN_READ};
                        for (int k = 0; k < 3; k++) {
                            int begin = protocol_find(q, op[k], g), end = protocol_find_last(q, op[k], g);
                            first = begin >= 0 && (first < 0 || begin < first) ? begin : first;
                            last = end > last ? end : last;
                        }
                        for (int k = 0; k < first; k++)
                            if (q->step[k].op == PLAN_LOOP && plan_body_end(q, k) > last)
                                n->who[t].scope[g] = k;
                        for (int k = 0; k < NAIVE_STAGES; k++)
                            start->thread[t].ring[g].touch[k] =
                                (struct naive_touch){-1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0};
                    }
                    for (int k = 0; k < NAIVE_PLACES; k++)
                        start->thread[t].place[k] = (struct naive_place){-1, 0, -1, 0, 0, true, false, 0, 0, 0};
                }
    n->used = (offsetof(struct naive_state, thread) + (size_t)n->threads * sizeof(struct naive_thread) + 7) / 8 * 8;
    n->used = n->used > sizeof *start ? sizeof *start : n->used;
    for (int g = 0; g < p->ring_count; g++)
        for (int b = 0; b < NAIVE_BLOCKS; b++)
            for (int k = 0; k < NAIVE_STAGES; k++) {
                start->barrier[g][b][k][0].pending = (int8_t)p->ring[g].full_arrivals;
                start->barrier[g][b][k][1].pending = (int8_t)p->ring[g].empty_arrivals;
                for (int i = 0; i < NAIVE_TENSORS * NAIVE_BLOCKS; i++)
                    start->part[g][b][k][i / NAIVE_BLOCKS][i % NAIVE_BLOCKS].index = -1;
            }
}

/* The flying copies of s arrive, one in each state that this makes. */
static bool naive_land(struct naive *n, const struct naive_state *s, int at, struct naive_state *to)
{
    int source = at % 2, slot = at / 2 % 2, stage = at / 4 % 4, block = at / 16 % 2, g = at / 32;
    if (g >= n->p->ring_count || !s->part[g][block][stage][slot][source].flying)
        return false;
    memcpy(to, s, n->used);
    to->part[g][block][stage][slot][source].flying = false;
    int role = to->part[g][block][stage][slot][source].role, step = to->part[g][block][stage][slot][source].step;
    int bytes = n->p->role[role].step[step].count; /* as the FILL says, not as it should */
    if (n->p->ring[g].filler == PLAN_FILL_PEERS) {
        bool alive = false;
        for (int t = 0; t < n->threads; t++)
            alive |= n->who[t].block == block && !s->thread[t].done;
        if (!alive)
            naive_fault(n, "bytes for a block that has ended");
        int lanes = protocol_lanes(n->p, role);
        bytes = slot > 0 ? bytes / lanes : bytes - bytes / lanes * (lanes - 1);
    }
    to->barrier[g][block][stage][0].bytes -= bytes;
    naive_settle(n, to, g, block, stage, 0);
    return true;
}

const char *naive_explore_some(const struct plan *p, const struct protocol_trips *trips, bool strict, size_t most,
                               size_t *states)
{
    struct naive n = {.p = p,
                      .trips = trips,
                      .strict = strict,
                      .cluster = protocol_cluster(p),
                      .room = NAIVE_TABLE,
                      .seen = calloc(NAIVE_TABLE, 8)};
    static struct naive_state start, s, to;
    assert_int_equal(protocol_code(p, &n.code), 0);
    n.most = most ? most : NAIVE_STATES;
    naive_begin(&n, &start);
    size_t room = 1024, count = 0, size = n.used;
    char *stack = malloc(room * size);
    memcpy(stack + size * count++, &start, size);
    naive_is_new(&n, &start);
    while (count > 0 && !n.fault && n.states <= n.most) {
        memcpy(&s, stack + size * --count, size);
        bool moved = false, done = true;
        if (count + 128 > room)
            stack = realloc(stack, (room *= 2) * size);
        for (int t = 0; t < n.threads && !n.fault; t++) {
            done &= s.thread[t].done;
            if (s.thread[t].done)
                continue;
            memcpy(&to, &s, size);
            if (!naive_steps(&n, &to, t))
                continue;
            moved = true;
            if (naive_is_new(&n, &to))
                memcpy(stack + size * count++, &to, size);
        }
        for (int i = 0; i < NAIVE_RINGS * NAIVE_BLOCKS * NAIVE_STAGES * NAIVE_TENSORS * NAIVE_BLOCKS && !n.fault; i++) {
            if (!naive_land(&n, &s, i, &to))
                continue;
            moved = true;
            if (naive_is_new(&n, &to))
                memcpy(stack + size * count++, &to, size);
        }
        if (!moved && !done)
            naive_fault(&n, "deadlock");
        for (int t = 0; t < n.threads && !moved && done; t++)
            for (int o = 0; o < n.threads; o++)
                for (int g = 0; g < p->ring_count; g++)
                    if (protocol_has_mbarriers(p, g) && n.who[t].block == n.who[o].block && n.who[t].lane == 0 &&
                        n.who[o].lane == 0 && n.who[t].fills[g] && n.who[o].reads[g] &&
                        s.thread[t].ring[g].filled != s.thread[o].ring[g].taken)
                        naive_fault(&n, "stages filled that nobody takes");
    }
    free(stack);
    free(n.seen);
    protocol_code_free(&n.code);
    *states = n.states;
    return n.fault;
}

const char *naive_explore(const struct plan *p, const struct protocol_trips *trips, size_t *states)
{
    const char *fault = naive_explore_some(p, trips, false, 0, states);
    assert_true(*states <= NAIVE_STATES);
    return fault;
}
