/* What the steps of a role do, and what a thread must know to do them: loops, barriers, cp.async rings and buffers of
 * bulk stores here, rings with mbarriers in protocol_rings.c, places in protocol_places.c. See protocol_run.c. */
#include "plan/protocol_run.h"

#include <string.h>

/* ---- groups of matrix instructions ------------------------------------------------------------------------------- */

/* Reads of the first `groups` groups are over. */
static void finish_reads(struct run *x, struct thread *t, int groups)
{
    for (int g = 0; g < x->p->ring_count; g++) {
        struct progress *r = &t->ring[g];
        bool left = false;
        for (int i = 0; r->in_flight && i < x->p->ring[g].stages; i++) {
            struct touch *u = &r->touch[i];
            if (u->read_index < 0 || u->read_over != NEVER)
                continue;
            if (u->read_group < groups)
                u->read_over = now(t);
            left |= u->read_over == NEVER;
        }
        r->in_flight = left;
    }
}

/* ---- cp.async rings -------------------------------------------------------------------------------------------- */

/* Stages that t takes of the ring in this turn of the loop around. */
static int stages_to_take(const struct run *x, const struct thread *t, int ring)
{
    const struct plan_role *role = &x->p->role[t->role];
    struct protocol_flow f = t->flow;
    int takes = 0, depth = 0;
    for (int d = 0; d < t->flow.depth; d++)
        if (t->flow.loop[d].begin == t->ring[ring].scope)
            depth = d + 1;
    f.depth = depth;
    f.step = t->ring[ring].stop[t->ring[ring].scope + 1];
    while (f.step < role->step_count && !(role->step[f.step].op == PLAN_END && f.depth == depth)) {
        if (protocol_is_flow(role->step[f.step].op)) {
            protocol_turn(x->p, x->code, x->trips, t->role, t->instance, &f);
        } else {
            takes += !f.foreign;
            f.step++;
        }
        f.step = t->ring[ring].stop[f.step];
    }
    return t->ring[ring].takes ? takes : takes / __builtin_popcount(t->ring[ring].reads);
}

/* The text fills a stage in the turns that a derived FILL says: it must be the one that the FILL stands for, and none
 * beyond those that are taken. */
static bool fills_as_written(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct progress *r = &t->ring[s->ring];
    const int *turns = protocol_turned(t, s);
    int turn = turns ? *turns + s->ahead : r->filled_here;
    if (turn == r->filled_here || (turn >= r->takes_here && r->filled_here >= r->takes_here))
        return true;
    FAULT(x, t, r->filled % x->p->ring[s->ring].stages, "PROTOCOL-ORDER",
          "fills a stage of ring %s for turn %d of its loop where the next to be filled is that of turn %d; write "
          "ahead = %d",
          x->p->ring[s->ring].name, turn, r->filled_here, s->ahead + r->filled_here - turn);
    return false;
}

static void fill_cp_async(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    struct progress *r = &t->ring[s->ring];
    if (r->reads && r->takes_here < 0)
        r->takes_here = stages_to_take(x, t, s->ring);
    if (x->p->derived && r->reads && !fills_as_written(x, t))
        return;
    int index = r->filled, stage = index % x->p->ring[s->ring].stages;
    if (r->reads && r->filled_here >= r->takes_here) {
        /* The text leaves out what is beyond a loop's turns, not a step that is of no loop. */
        if (x->p->derived && r->takes_here > 0 && !protocol_turned(t, s))
            FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
                  "fills a stage of ring %s once more than its stages are taken here; take the step out",
                  x->p->ring[s->ring].name);
        return;
    }
    if (r->filling >> protocol_slot(x->p, s) & 1) {
        FAULT(x, t, stage, "PROTOCOL-ORDER", "fills %s a second time in one stage; each tensor once",
              x->p->tensor[s->tensor].name);
        return;
    }
    if (!protocol_readers_are_through(x, t, s->ring, t->block, index))
        return;
    struct touch *u = &r->touch[stage];
    bool in_flight = u->copy_index == index && u->copy_over == NEVER;
    bool at_once = x->p->tensor[s->tensor].access == PLAN_ACCESS_GLOBAL; /* by loads and stores */
    u->copy_index = index;
    u->copy_group = t->copy_groups;
    u->copy_over = at_once && !in_flight ? now(t) : NEVER;
    if (advance(&r->filling, r->fills, protocol_slot(x->p, s))) {
        r->filled++;
        r->filled_here++;
    }
}

bool protocol_copies_are_here(struct run *x, struct thread *t, int index)
{
    const struct plan_step *s = step_of(t);
    int ring = s->ring, stage = index % x->p->ring[ring].stages;
    const char *name = x->p->ring[ring].name;
    bool filled = false;
    for (int i = 0; i < x->thread_count && !filled; i++)
        filled = x->thread[i].block == t->block && x->thread[i].ring[ring].fills >> protocol_slot(x->p, s) & 1;
    if (!filled) {
        FAULT(x, t, stage, "PROTOCOL-READ", "reads %s of ring %s, which nobody fills; write a fill step for it",
              x->p->tensor[s->tensor].name, name);
        return false;
    }
    const struct touch *own = &t->ring[ring].touch[stage];
    if (t->ring[ring].fills && (t->ring[ring].filled <= index || own->copy_over == NEVER)) {
        FAULT(x, t, stage, "PROTOCOL-READ",
              "reads a stage of ring %s while this thread's own copies into it may be in flight; commit the copies and "
              "wait until fewer groups are unfinished (cp_wait %d or less)",
              name, x->p->ring[ring].stages - 2 > 0 ? x->p->ring[ring].stages - 2 : 0);
        return false;
    }
    for (int i = 0; i < x->thread_count; i++) {
        struct thread *o = &x->thread[i];
        const struct touch *u = o->ring[ring].touch ? &o->ring[ring].touch[stage] : NULL;
        if (o->block != t->block || !u || !o->ring[ring].fills)
            continue;
        if (u->copy_index > index) {
            FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
                  "reads a stage of ring %s into which the copies of a later turn may have begun; a barrier must stand "
                  "between this step and those",
                  name);
            return false;
        }
        if (o->ring[ring].filled > index && u->copy_index == index && u->copy_over != NEVER &&
            knows(t, o, u->copy_over))
            continue;
        FAULT(x, t, stage, "PROTOCOL-BARRIER",
              "reads a stage of ring %s that other threads' copies fill, and does not know that they waited for them; "
              "a barrier must stand between cp_wait and this step",
              name);
        return false;
    }
    return true;
}

static void finish_copies(struct run *x, struct thread *t, int groups)
{
    for (int g = 0; g < x->p->ring_count; g++)
        for (int i = 0; t->ring[g].fills && x->p->ring[g].filler == PLAN_FILL_CP_ASYNC && i < x->p->ring[g].stages;
             i++) {
            struct touch *u = &t->ring[g].touch[i];
            if (u->copy_index >= 0 && u->copy_over == NEVER && u->copy_group < groups)
                u->copy_over = now(t);
        }
}

/* ---- buffers that threads write and bulk stores read ------------------------------------------------------------ */

/* The role waits for its stores between the ring's last STORE and this WRITE. */
static bool store_wait_stands_before(const struct run *x, const struct thread *t, int ring)
{
    const struct plan_role *role = &x->p->role[t->role];
    for (int i = t->flow.step - 1; i >= 0 && !(role->step[i].op == PLAN_STORE && role->step[i].ring == ring); i--)
        if (role->step[i].op == PLAN_STORE_WAIT && role->step[i].count < x->p->ring[ring].stages)
            return true;
    return false;
}

static void write_buffer(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    int index = t->ring[s->ring].stored, stage = index % ring->stages, before = index - ring->stages;
    struct thread *elected = &x->thread[t->ring[s->ring].elected];
    const struct touch *stored = &elected->ring[s->ring].touch[stage];
    struct touch *u = &t->ring[s->ring].touch[stage];
    if (!protocol_source_is_here(x, t, index))
        return;
    if (before >= 0) {
        bool issued = elected->ring[s->ring].stored > before && stored->store_index >= before;
        if (issued && stored->store_over == NEVER && (t == elected || !store_wait_stands_before(x, t, s->ring))) {
            FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
                  "writes a buffer of ring %s that the store of its last turn may still read; write store_wait %d "
                  "before it",
                  ring->name, ring->stages - 1);
            return;
        }
        if (!issued || stored->store_over == NEVER || !knows(t, elected, stored->store_over)) {
            FAULT(
                x, t, stage, "PROTOCOL-BARRIER",
                "writes a buffer of ring %s without knowing that the thread that stores it has waited for the store of "
                "its last turn; a barrier must stand between store_wait and this step",
                ring->name);
            return;
        }
    }
    u->write_index = index;
    u->written = now(t);
    u->fenced = NEVER;
    t->ring[s->ring].written = true;
}

static void fence(struct run *x, struct thread *t)
{
    for (int g = 0; g < x->p->ring_count; g++) {
        struct progress *r = &t->ring[g];
        for (int i = 0; r->written && i < x->p->ring[g].stages; i++)
            if (r->touch[i].write_index >= 0 && r->touch[i].fenced == NEVER)
                r->touch[i].fenced = now(t);
        r->unfenced = r->written = false;
    }
}

static void store(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    int index = r->stored, stage = index % ring->stages;
    if (t->number == r->elected) {
        for (int i = 0; i < x->thread_count; i++) {
            struct thread *o = &x->thread[i];
            if (o->block != t->block || o->role != t->role || o->ring[s->ring].elected != r->elected)
                continue;
            const struct touch *u = &o->ring[s->ring].touch[stage];
            bool written = u->write_index >= index && knows(t, o, u->written);
            if (written && (u->fenced == NEVER || !knows(t, o, u->fenced))) {
                FAULT(x, t, stage, "PROTOCOL-FENCE",
                      "stores a buffer of ring %s whose writes the asynchronous proxy may not see; write fence_async "
                      "after "
                      "the writes and before the barrier",
                      ring->name);
                return;
            }
            if (!written) {
                FAULT(x, t, stage, o == t ? "PROTOCOL-ORDER" : "PROTOCOL-BARRIER",
                      o == t ? "stores a buffer of ring %s before it is written"
                             : "stores a buffer of ring %s that other threads may still write; a barrier must stand "
                               "between their fence_async and this step",
                      ring->name);
                return;
            }
        }
        struct touch *u = &r->touch[stage];
        u->store_index = index;
        u->store_group = t->stores++;
        u->store_over = NEVER;
    }
    r->stored++;
}

static void finish_stores(struct run *x, struct thread *t, int stores)
{
    for (int g = 0; g < x->p->ring_count; g++)
        for (int i = 0; t->ring[g].touch && x->p->ring[g].filler == PLAN_FILL_THREADS && i < x->p->ring[g].stages;
             i++) {
            struct touch *u = &t->ring[g].touch[i];
            if (u->store_index >= 0 && u->store_over == NEVER && u->store_group < stores)
                u->store_over = now(t);
        }
}

/* ---- one step -------------------------------------------------------------------------------------------------- */

static struct meeting *meeting_of(struct run *x, const struct thread *t)
{
    const struct plan_step *s = step_of(t);
    int instance = t->instance;
    if (x->p->barrier[s->count].turns)
        instance = protocol_meeting(x->p, t->role, t->instance, s);
    else if (!x->alone[s->count])
        instance = 0;
    return &x->meeting[(s->count * x->cluster.blocks + t->block) * x->most_instances + instance];
}

/* t knows that the barrier's last turn is complete: it waited for that, or it knows of all that came to it. */
static bool knows_last_turn(const struct run *x, struct thread *t, const struct meeting *m)
{
    for (int i = 0; i < x->width && t->clock[m->component] < m->turn; i++)
        if (i != m->component && m->before[i] > t->clock[i])
            return false;
    t->clock[m->component] = t->clock[m->component] > m->turn ? t->clock[m->component] : (tick)m->turn;
    return true;
}

/* Arrives, and where `waits`, waits for the others. False where it must wait still, or after a fault. */
static bool meet(struct run *x, struct thread *t, bool waits)
{
    struct meeting *m = meeting_of(x, t);
    if (!t->at_barrier) {
        if (m->came[t->number] == m->turn + 1 || !knows_last_turn(x, t, m)) {
            FAULT(x, t, -1, "PROTOCOL-TURNS",
                  "arrives at barrier %s while others may not have come to its last turn, and counts as one of them; "
                  "wait for that turn first",
                  x->p->barrier[step_of(t)->count].name);
            return false;
        }
        t->at_barrier = waits;
        m->came[t->number] = m->turn + 1;
        t->barrier_turn = m->turn;
        join(m->gathered, t->clock, x->width);
        if (++m->arrived == m->expected) {
            m->arrived = 0;
            m->turn++;
            m->gathered[m->component] = (tick)m->turn;
            memcpy(m->before, m->gathered, (size_t)x->width * sizeof(tick));
        }
    }
    if (!waits)
        return true;
    if (m->turn == t->barrier_turn)
        return false;
    t->at_barrier = false;
    join(t->clock, m->before, x->width);
    return true;
}

/* The loop's variable is one that a loop around it counts, or the loop takes a part of its turns in each trip of the
 * one right around it: it goes on. */
static bool goes_on(const struct plan_role *role, const struct thread *t, int loop)
{
    if (role->step[loop].part && t->flow.depth > 0 && t->flow.loop[t->flow.depth - 1].begin + 1 == loop)
        return true;
    for (int d = 0; d < t->flow.depth; d++)
        if (role->step[t->flow.loop[d].begin].loop == role->step[loop].loop)
            return true;
    return false;
}

static void turn(struct run *x, struct thread *t)
{
    const struct plan_role *role = &x->p->role[t->role];
    int begin = t->flow.depth > 0 ? t->flow.loop[t->flow.depth - 1].begin : -1;
    bool ends = step_of(t)->op == PLAN_END;
    int *counted = ends && role->step[begin].op == PLAN_LOOP ? protocol_turned(t, &role->step[begin]) : NULL;
    if (counted)
        ++*counted;
    protocol_turn(x->p, x->code, x->trips, t->role, t->instance, &t->flow);
    if (t->resets[t->flow.step] && t->flow.depth > 0 && t->flow.step == t->flow.loop[t->flow.depth - 1].begin + 1)
        for (int i = t->loop[t->flow.step], end = x->code->end[t->role][t->flow.step - 1]; i < end; i = t->loop[i + 1])
            if (!goes_on(role, t, i) && (counted = protocol_turned(t, &role->step[i])) != NULL)
                *counted = 0;
    for (int g = 0; g < x->p->ring_count && ends; g++)
        if (t->ring[g].scope == begin) {
            t->ring[g].filled_here = 0;
            t->ring[g].takes_here = -1;
        }
}

/* What a thread that is not the executor's first leaves to it: copies, arrivals, matrix instructions. */
static bool leaves_to_first(const struct thread *t, const struct plan_step *s)
{
    static const bool of_executor[PLAN_OP_COUNT] = {
        [PLAN_STORE_WAIT] = true, [PLAN_MMA_COMMIT] = true, [PLAN_MMA_WAIT] = true,
        [PLAN_MMA] = true,        [PLAN_MMA_FENCE] = true,  [PLAN_TOUCH] = true};
    static const bool of_filler[PLAN_OP_COUNT] = {[PLAN_WAIT_EMPTY] = true, [PLAN_FILL] = true, [PLAN_DRAIN] = true};
    static const bool of_reader[PLAN_OP_COUNT] = {
        [PLAN_WAIT_FULL] = true, [PLAN_READ] = true, [PLAN_RELEASE] = true, [PLAN_SKIP] = true, [PLAN_TAKE] = true};
    if (t->lane == 0)
        return false;
    if (of_executor[s->op] || s->op == PLAN_EXPECT)
        return true;
    if (of_reader[s->op])
        return !t->ring[s->ring].reads;
    return of_filler[s->op] && !t->ring[s->ring].fills;
}

/* No matrix instruction that runs on its own names the place: threads touch it as they like. */
static bool is_threads_own(const struct run *x, const struct thread *t, int place)
{
    const struct plan_role *role = &x->p->role[t->role];
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->op == PLAN_MMA && (s->place == place || s->place2 == place) && !protocol_is_synchronous(x->p, s))
            return false;
    }
    return true;
}

bool protocol_is_idle(const struct run *x, const struct thread *t, const struct plan_step *s)
{
    if (protocol_is_flow(s->op) || protocol_holds(x->p, s))
        return false;
    return s->op == PLAN_GLOBAL || s->op == PLAN_SKIP || s->op == PLAN_ASK ||
           (s->only > 0 && plan_number(s->only) != t->instance) || leaves_to_first(t, s) ||
           (s->op == PLAN_TOUCH && is_threads_own(x, t, s->place));
}

/* The executor has no rows of the item, its last: it waits for the stages and gives them back. */
static bool rests(const struct run *x, const struct thread *t)
{
    const struct plan_role *role = &x->p->role[t->role];
    if (!x->trips->rests || t->instance < role->instances - role->resting || t->flow.depth == 0)
        return false;
    const int items = t->flow.loop[0].begin; /* names a class: there is no other around everything */
    return x->code->number[t->role][items] >= 0 && role->step[items].op == PLAN_LOOP &&
           t->flow.loop[0].turn + 1 == t->flow.loop[0].end;
}

/* In a turn that another instance takes nothing is done but to skip its stages. */
static bool is_left_out(const struct run *x, const struct thread *t, const struct plan_step *s)
{
    if (s->op != PLAN_WAIT_FULL && s->op != PLAN_RELEASE && rests(x, t))
        return true;
    if (s->only == PLAN_NEXT && t->flow.next != t->instance)
        return true;
    return t->flow.foreign != 0 && (s->op != PLAN_SKIP || leaves_to_first(t, s));
}

/* A step on a ring. *goes_on: it need not wait. False: it is none. */
static bool on_ring(struct run *x, struct thread *t, const struct plan_step *s, bool *goes_on)
{
    switch (s->op) {
    case PLAN_WAIT_EMPTY:
        *goes_on = protocol_pass(x, t, EMPTY);
        return true;
    case PLAN_WAIT_FULL:
        *goes_on = protocol_pass(x, t, FULL);
        return true;
    case PLAN_DRAIN:
        *goes_on = protocol_drain(x, t);
        return true;
    case PLAN_EXPECT:
        protocol_expect(x, t);
        return true;
    case PLAN_FILL:
        if (x->p->ring[s->ring].filler == PLAN_FILL_OWN)
            protocol_fill_own(x, t);
        else if (x->p->ring[s->ring].filler != PLAN_FILL_CP_ASYNC)
            protocol_fill_bulk(x, t);
        else
            fill_cp_async(x, t);
        return true;
    case PLAN_ARRIVE:
        protocol_arrive_full(x, t);
        return true;
    case PLAN_TAKE:
        protocol_take(x, t);
        return true;
    case PLAN_SKIP:
        protocol_skip(t);
        return true;
    case PLAN_READ:
        protocol_read_stage(x, t);
        return true;
    case PLAN_RELEASE:
        protocol_release(x, t);
        return true;
    case PLAN_WRITE:
        if (x->p->ring[s->ring].filler == PLAN_FILL_ARRIVE)
            protocol_write_stage(x, t);
        else
            write_buffer(x, t);
        return true;
    default:
        return false;
    }
}

/* A step that never waits: matrix instructions, groups of copies, scratch, fences, stores. */
static void off_rings(struct run *x, struct thread *t, const struct plan_step *s)
{
    switch (s->op) {
    case PLAN_MMA:
        protocol_mma(x, t);
        break;
    case PLAN_MMA_FENCE:
        protocol_mma_fence(x, t);
        break;
    case PLAN_MMA_COMMIT:
        t->mma_groups++;
        break;
    case PLAN_MMA_WAIT:
        finish_reads(x, t, t->mma_groups - s->count);
        protocol_finish_places(x, t, t->mma_groups - s->count);
        break;
    case PLAN_TOUCH:
        protocol_touch(x, t);
        break;
    case PLAN_CP_COMMIT:
        t->copy_groups++;
        break;
    case PLAN_CP_WAIT:
        finish_copies(x, t, t->copy_groups - s->count);
        break;
    case PLAN_STORE_WAIT:
        finish_stores(x, t, t->stores - s->count);
        break;
    case PLAN_SCRATCH_WRITE:
        protocol_write_scratch(x, t);
        break;
    case PLAN_SCRATCH_READ:
        protocol_read_scratch(x, t);
        break;
    case PLAN_FENCE_ASYNC:
        fence(x, t);
        protocol_fence_places(x, t);
        break;
    case PLAN_STORE:
        store(x, t);
        break;
    default: /* has no effect of its own */
        break;
    }
}

/* Makes t's next step. False where it must wait, or after a fault (x->failed). */
static inline bool step(struct run *x, struct thread *t)
{
    if (t->flow.foreign == 0) {
        t->flow.step = t->busy[t->flow.step];
        if (t->flow.step >= t->steps)
            return true;
    }
    const struct plan_step *s = step_of(t);
    if (++x->steps > STEPS || t->clock[t->number] >= TICKS) {
        FAULT(x, t, -1, "PROTOCOL-LIMIT", "makes more than %d steps; the exploration stops and proves nothing", TICKS);
        return false;
    }
    if (protocol_is_flow(s->op)) {
        turn(x, t);
        return true;
    }
    if (is_left_out(x, t, s)) {
        t->flow.step++;
        return true;
    }
    if (!t->at_barrier)
        t->clock[t->number]++;
    bool goes_on = true;
    if (protocol_holds(x->p, s) && !protocol_hold_late(x, t))
        return false;
    if (s->op == PLAN_BARRIER || s->op == PLAN_BARRIER_ARRIVE) {
        if (!meet(x, t, s->op == PLAN_BARRIER))
            return false;
    } else if (!on_ring(x, t, s, &goes_on)) {
        off_rings(x, t, s);
    }
    if (!goes_on)
        t->clock[t->number]--; /* it did nothing */
    if (!goes_on || x->failed)
        return false;
    t->flow.step++;
    return true;
}

bool protocol_go(struct run *x, struct thread *t)
{
    bool moved = false;
    while (t->flow.step < t->steps && step(x, t))
        moved = true;
    return moved;
}
