/* What each step of a role does to barriers, stages and buffers, and what it must know to do it. See protocol_run.c. */
#include "plan/protocol_run.h"

#include <string.h>

/* ---- mbarriers ------------------------------------------------------------------------------------------------- */

static const char *const side_name[] = {"full", "empty"};

/* Completes the turn if nothing is pending. Whoever waits for the turn before must be known to be through. */
static void settle(struct run *x, const struct thread *t, struct mbarrier *b, int ring, int stage, enum side side)
{
    if (b->pending > 0 || b->bytes != 0)
        return;
    b->completed++;
    b->pending = b->arrivals;
    b->gathered[b->component] = (tick)b->completed;
    for (int i = 0; i < x->thread_count; i++)
        if (b->waited[i] == b->completed - 2 && b->gathered[i] < b->waited_at[i] && !x->failed)
            FAULT(x, t, stage, "PROTOCOL-PHASE",
                  "can complete the %s barrier of ring %s a second time while role %s still waits for the first: both "
                  "phases look alike; release only after that wait",
                  side_name[side], x->p->ring[ring].name, role_name(x, &x->thread[i]));
    memcpy(b->before, b->gathered, (size_t)x->width * sizeof(tick));
}

static void note_sent(const struct run *x, struct thread *t, int block, int stage)
{
    if (block == t->block)
        return;
    t->sent[block].at = now(x, t);
    t->sent[block].step = t->step;
    t->sent[block].stage = stage;
}

/* Arrivals for `turn` that expect so many bytes. False after a fault. */
static bool arrive(struct run *x, struct thread *t, int ring, int block, int stage, enum side side, int turn,
                   int arrivals, int64_t bytes)
{
    struct mbarrier *b = barrier_of(x, ring, block, stage, side);
    const char *name = x->p->ring[ring].name;
    if (b->completed > turn || b->pending < arrivals) {
        FAULT(
            x, t, stage, "PROTOCOL-ARRIVALS",
            "arrives on the %s barrier of ring %s after %d arrival%s completed the turn without it; write %s_arrivals "
            "as many as arrive",
            side_name[side], name, b->arrivals, b->arrivals == 1 ? "" : "s", side_name[side]);
        return false;
    }
    if (b->completed < turn || t->clock[b->component] < turn) {
        FAULT(x, t, stage, "PROTOCOL-ORDER",
              "arrives on the %s barrier of ring %s while the arrivals of the stage's last turn may be missing, and "
              "counts as one of them; wait for the %s barrier first",
              side_name[side], name, side_name[!side]);
        return false;
    }
    b->pending -= arrivals;
    note_sent(x, t, block, stage);
    b->bytes += bytes;
    join(b->gathered, t->clock, x->width);
    settle(x, t, b, ring, stage, side);
    return !x->failed;
}

/* Waits as try_wait.parity does for turn `turn` (-1: what a fresh barrier shows as complete). True where t passes. */
static bool pass(struct run *x, struct thread *t, enum side side)
{
    const struct plan_step *s = step_of(x, t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    int index = side == FULL ? t->ring[s->ring].read : t->ring[s->ring].filled;
    int stage = index % ring->stages, turn = index / ring->stages - (side == EMPTY);
    struct mbarrier *b = barrier_of(x, s->ring, t->block, stage, side);
    if (((index / ring->stages + s->phase) & 1) != (turn & 1)) {
        FAULT(x, t, stage, "PROTOCOL-PHASE",
              "waits on the %s barrier of ring %s for parity %d, where %s with parity %d; write phase = %d",
              side_name[side], ring->name, (index / ring->stages + s->phase) & 1,
              turn < 0 ? "a fresh barrier lets pass who waits" : "the stage's turn completes", turn & 1, side == EMPTY);
        return false;
    }
    if (b->completed < turn || t->clock[b->component] < (turn > 0 ? turn : 0)) {
        FAULT(x, t, stage, "PROTOCOL-PHASE",
              "waits for turn %d of the %s barrier of ring %s while turn %d may be incomplete, and passes on turn %d, "
              "whose "
              "parity is the same; wait for every turn",
              turn, side_name[side], ring->name, turn - 1, turn - 2);
        return false;
    }
    if (b->completed > turn + 1) {
        FAULT(
            x, t, stage, "PROTOCOL-PHASE",
            "waits for turn %d of the %s barrier of ring %s, which is already in turn %d: the parity has changed twice",
            turn, side_name[side], ring->name, b->completed);
        return false;
    }
    if (b->completed == turn)
        return false;
    join(t->clock, b->before, x->width);
    b->waited[number(x, t)] = turn;
    b->waited_at[number(x, t)] = now(x, t);
    return true;
}

/* Waits until the stages that t filled last are released, which completes turn index / stages of each empty barrier. */
static bool drain(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    int stages = x->p->ring[s->ring].stages, filled = t->ring[s->ring].filled;
    for (int index = filled > stages ? filled - stages : 0; index < filled; index++) {
        struct mbarrier *b = barrier_of(x, s->ring, t->block, index % stages, EMPTY);
        int turn = index / stages;
        if (t->clock[b->component] < turn) {
            FAULT(x, t, index % stages, "PROTOCOL-PHASE",
                  "waits for turn %d of the empty barrier of ring %s while turn %d may be incomplete, and passes on an "
                  "older "
                  "turn of the same parity; wait for every turn",
                  turn, x->p->ring[s->ring].name, turn - 1);
            return false;
        }
        if (b->completed <= turn)
            return false;
        join(t->clock, b->before, x->width);
        b->waited[number(x, t)] = turn;
        b->waited_at[number(x, t)] = now(x, t);
    }
    return true;
}

/* ---- bulk rings ------------------------------------------------------------------------------------------------ */

/* Every reader of the ring in that block is through with what lay in the stage before `index`, and t knows it. */
static bool readers_are_through(struct run *x, struct thread *t, int ring, int block, int index)
{
    int stages = x->p->ring[ring].stages, stage = index % stages, before = index - stages;
    if (before < 0)
        return true;
    for (int i = 0; i < x->thread_count; i++) {
        struct thread *o = &x->thread[i];
        const struct touch *u = o->ring[ring].touch ? &o->ring[ring].touch[stage] : NULL;
        if (o->block != block || !u || !o->ring[ring].reads)
            continue;
        bool taken = o->ring[ring].read > before && u->read_index >= before;
        if (taken && u->read_over != NEVER && knows(x, t, o, u->read_over))
            continue;
        const char *what = x->p->ring[ring].filler == PLAN_FILL_BULK ? "wait for the empty barrier before it"
                                                                     : "a barrier must stand between";
        FAULT(x, t, stage, "PROTOCOL-OVERWRITE", "copies into a stage of ring %s that role %s may still read%s; %s",
              x->p->ring[ring].name, role_name(x, o), block == t->block ? "" : " in another block of the cluster",
              what);
        return false;
    }
    return true;
}

static bool advance(unsigned *mask, unsigned all, int slot)
{
    *mask |= 1u << slot;
    if (*mask != all)
        return false;
    *mask = 0;
    return true;
}

static void fill_bulk(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    struct progress *r = &t->ring[s->ring];
    int stages = x->p->ring[s->ring].stages, index = r->filled, stage = index % stages, turn = index / stages;
    unsigned blocks = protocol_sharing(&x->cluster, s->tensor, t->block);
    if (r->filling >> protocol_slot(x->p, s) & 1) {
        FAULT(x, t, stage, "PROTOCOL-ORDER", "fills %s a second time in one stage; each tensor once",
              x->p->tensor[s->tensor].name);
        return;
    }
    for (int block = 0; blocks >> block; block++) {
        if (!(blocks >> block & 1))
            continue;
        if (!readers_are_through(x, t, s->ring, block, index))
            return;
        struct mbarrier *b = barrier_of(x, s->ring, block, stage, FULL);
        if (b->completed > turn) {
            FAULT(
                x, t, stage, "PROTOCOL-BYTES",
                "brings bytes after the full barrier completed without them; expect %d bytes a stage before the copies",
                x->p->ring[s->ring].tx_bytes);
            return;
        }
        if (b->completed < turn || t->clock[b->component] < turn) {
            FAULT(
                x, t, stage, "PROTOCOL-ORDER",
                "brings bytes while the stage's last turn may be incomplete, and they count for it; wait for the empty "
                "barrier first");
            return;
        }
        b->bytes -= s->count;
        note_sent(x, t, block, stage);
        join(b->gathered, t->clock, x->width);
        settle(x, t, b, s->ring, stage, FULL);
    }
    if (advance(&r->filling, r->fills, protocol_slot(x->p, s)))
        r->filled++;
}

/* All threads' cp.async copies of the stage have landed, and t knows it. */
static bool copies_are_here(struct run *x, struct thread *t, int ring, int index)
{
    int stage = index % x->p->ring[ring].stages;
    const char *name = x->p->ring[ring].name;
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
        if (o->ring[ring].filled > index && u->copy_index >= index && u->copy_over != NEVER &&
            knows(x, t, o, u->copy_over))
            continue;
        FAULT(x, t, stage, "PROTOCOL-BARRIER",
              "reads a stage of ring %s that other threads' copies fill, and does not know that they waited for them; "
              "a barrier must stand between cp_wait and this step",
              name);
        return false;
    }
    return true;
}

static void read_stage(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    int index = r->read, stage = index % ring->stages;
    struct touch *u = &r->touch[stage];
    if (ring->filler == PLAN_FILL_BULK) {
        struct mbarrier *b = barrier_of(x, s->ring, t->block, stage, FULL);
        if (t->clock[b->component] <= index / ring->stages) {
            FAULT(x, t, stage, "PROTOCOL-READ",
                  "reads a stage of ring %s without having waited until it is full; write wait_full before it",
                  ring->name);
            return;
        }
    } else if (!copies_are_here(x, t, s->ring, index)) {
        return;
    }
    if (u->read_index != index)
        u->read_group = -1;
    u->read_index = index;
    u->read_over = NEVER;
    if (s->count != 0)
        u->read_group = t->mma_groups;
    else if (u->read_group < 0)
        u->read_over = now(x, t);
    if (advance(&r->reading, r->reads, protocol_slot(x->p, s)))
        r->read++;
}

/* Reads of the first `groups` groups are over. */
static void finish_reads(struct run *x, struct thread *t, int groups)
{
    for (int g = 0; g < x->p->ring_count; g++)
        for (int i = 0; t->ring[g].touch && i < x->p->ring[g].stages; i++) {
            struct touch *u = &t->ring[g].touch[i];
            if (u->read_index >= 0 && u->read_over == NEVER && u->read_group < groups)
                u->read_over = now(x, t);
        }
}

static void release(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    while (!x->failed && r->read - r->released > s->count) {
        int index = r->released, stage = index % ring->stages;
        for (int i = 0; i < x->thread_count; i++) { /* the executor's other threads read too */
            struct thread *o = &x->thread[i];
            if (o->block != t->block || o->role != t->role || o->instance != t->instance || !o->ring[s->ring].reads)
                continue;
            const struct touch *u = &o->ring[s->ring].touch[stage];
            bool over = o->ring[s->ring].read > index && u->read_index >= index && u->read_over != NEVER;
            if (over && knows(x, t, o, u->read_over))
                continue;
            if (o == t)
                FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
                      "releases a stage of ring %s that an unfinished group of reads still uses, so that it is "
                      "overwritten; "
                      "keep as many stages as mma_wait leaves groups",
                      ring->name);
            else
                FAULT(x, t, stage, "PROTOCOL-BARRIER",
                      "releases a stage of ring %s that other threads of the role may still read; a barrier must stand "
                      "between",
                      ring->name);
            return;
        }
        for (int block = 0; block < x->cluster.blocks; block++)
            if (x->neighbours[s->ring][t->block] >> block & 1 &&
                !arrive(x, t, s->ring, block, stage, EMPTY, index / ring->stages, protocol_arrivals(s), 0))
                return;
        r->released++;
    }
}

/* ---- cp.async rings -------------------------------------------------------------------------------------------- */

/* Stages that the role reads of the ring in this turn of "tiles": copies beyond them are predicated off. */
static int stages_of_tile(const struct run *x, const struct thread *t, int ring)
{
    const struct plan_role *role = &x->p->role[t->role];
    int trips[PROTOCOL_MAX_DEPTH + 1] = {1}, depth = 0, reads = 0;
    for (int i = 0; i < role->step_count; i++) {
        const struct plan_step *s = &role->step[i];
        if (s->op == PLAN_LOOP) {
            bool tiles = s->count == 0 && s->call && strcmp(s->call, "tiles") == 0;
            trips[depth + 1] = trips[depth] * (tiles ? 1 : protocol_trip(x->p, x->trips, t->role, i, t->tile));
            depth++;
        } else if (s->op == PLAN_END) {
            depth--;
        } else if (s->op == PLAN_READ && s->ring == ring) {
            reads += trips[depth];
        }
    }
    unsigned own = t->ring[ring].reads;
    return own ? reads / __builtin_popcount(own) : reads;
}

static void fill_cp_async(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    struct progress *r = &t->ring[s->ring];
    if (r->reads && r->filled_here >= stages_of_tile(x, t, s->ring))
        return;
    int index = r->filled, stage = index % x->p->ring[s->ring].stages;
    if (!readers_are_through(x, t, s->ring, t->block, index))
        return;
    struct touch *u = &r->touch[stage];
    bool in_flight = u->copy_index == index && u->copy_over == NEVER;
    bool at_once = x->p->tensor[s->tensor].access == PLAN_ACCESS_GLOBAL; /* by loads and stores */
    u->copy_index = index;
    u->copy_group = t->copy_groups;
    u->copy_over = at_once && !in_flight ? now(x, t) : NEVER;
    if (advance(&r->filling, r->fills, protocol_slot(x->p, s))) {
        r->filled++;
        r->filled_here++;
    }
}

static void finish_copies(struct run *x, struct thread *t, int groups)
{
    for (int g = 0; g < x->p->ring_count; g++)
        for (int i = 0; t->ring[g].touch && i < x->p->ring[g].stages; i++) {
            struct touch *u = &t->ring[g].touch[i];
            if (u->copy_index >= 0 && u->copy_over == NEVER && u->copy_group < groups)
                u->copy_over = now(x, t);
        }
}

/* ---- buffers that threads write and bulk stores read ------------------------------------------------------------ */

/* The role waits for its stores between the ring's last STORE and this WRITE. */
static bool store_wait_stands_before(const struct run *x, const struct thread *t, int ring)
{
    const struct plan_role *role = &x->p->role[t->role];
    for (int i = t->step - 1; i >= 0 && !(role->step[i].op == PLAN_STORE && role->step[i].ring == ring); i--)
        if (role->step[i].op == PLAN_STORE_WAIT && role->step[i].count < x->p->ring[ring].stages)
            return true;
    return false;
}

static void write_buffer(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    int index = t->ring[s->ring].stored, stage = index % ring->stages, before = index - ring->stages;
    struct thread *elected = &x->thread[t->ring[s->ring].elected];
    const struct touch *stored = &elected->ring[s->ring].touch[stage];
    struct touch *u = &t->ring[s->ring].touch[stage];
    if (before >= 0) {
        bool issued = elected->ring[s->ring].stored > before && stored->store_index >= before;
        if (issued && stored->store_over == NEVER && (t == elected || !store_wait_stands_before(x, t, s->ring))) {
            FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
                  "writes a buffer of ring %s that the store of its last turn may still read; write store_wait %d "
                  "before it",
                  ring->name, ring->stages - 1);
            return;
        }
        if (!issued || stored->store_over == NEVER || !knows(x, t, elected, stored->store_over)) {
            FAULT(
                x, t, stage, "PROTOCOL-BARRIER",
                "writes a buffer of ring %s without knowing that the thread that stores it has waited for the store of "
                "its last turn; a barrier must stand between store_wait and this step",
                ring->name);
            return;
        }
    }
    u->write_index = index;
    u->written = now(x, t);
    u->fenced = NEVER;
}

static void fence(struct run *x, struct thread *t)
{
    for (int g = 0; g < x->p->ring_count; g++)
        for (int i = 0; t->ring[g].touch && i < x->p->ring[g].stages; i++) {
            struct touch *u = &t->ring[g].touch[i];
            if (u->write_index >= 0 && u->fenced == NEVER)
                u->fenced = now(x, t);
        }
}

static void store(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    int index = r->stored, stage = index % ring->stages;
    if (number(x, t) == r->elected) {
        for (int i = 0; i < x->thread_count; i++) {
            struct thread *o = &x->thread[i];
            if (o->block != t->block || o->role != t->role || o->ring[s->ring].elected != r->elected)
                continue;
            const struct touch *u = &o->ring[s->ring].touch[stage];
            bool written = u->write_index >= index && knows(x, t, o, u->written);
            if (written && (u->fenced == NEVER || !knows(x, t, o, u->fenced))) {
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
        for (int i = 0; t->ring[g].touch && i < x->p->ring[g].stages; i++) {
            struct touch *u = &t->ring[g].touch[i];
            if (u->store_index >= 0 && u->store_over == NEVER && u->store_group < stores)
                u->store_over = now(x, t);
        }
}

/* ---- one step -------------------------------------------------------------------------------------------------- */

static struct meeting *meeting_of(struct run *x, const struct thread *t)
{
    int barrier = step_of(x, t)->count;
    int instance = protocol_barrier_is_private(x->p, barrier) ? t->instance : 0;
    return &x->meeting[(barrier * x->cluster.blocks + t->block) * x->most_instances + instance];
}

static bool meet(struct run *x, struct thread *t)
{
    struct meeting *m = meeting_of(x, t);
    if (!t->at_barrier) {
        t->at_barrier = true;
        t->barrier_turn = m->turn;
        join(m->gathered, t->clock, x->width);
        if (++m->arrived == m->expected) {
            memcpy(m->before, m->gathered, (size_t)x->width * sizeof(tick));
            m->arrived = 0;
            m->turn++;
        }
    }
    if (m->turn == t->barrier_turn)
        return false;
    t->at_barrier = false;
    join(t->clock, m->before, x->width);
    return true;
}

static void begin_loop(struct run *x, struct thread *t)
{
    int trips = protocol_trip(x->p, x->trips, t->role, t->step, t->tile);
    if (trips == 0) {
        t->step = protocol_loop_end(&x->p->role[t->role], t->step);
        return;
    }
    t->loop[t->depth].begin = t->step;
    t->loop[t->depth++].left = trips - 1;
}

static void end_loop(struct run *x, struct thread *t)
{
    const struct plan_step *begin = &x->p->role[t->role].step[t->loop[t->depth - 1].begin];
    if (begin->count == 0 && begin->call && strcmp(begin->call, "tiles") == 0) {
        t->tile++;
        for (int g = 0; g < x->p->ring_count; g++)
            t->ring[g].filled_here = 0;
    }
    if (t->loop[t->depth - 1].left-- > 0)
        t->step = t->loop[t->depth - 1].begin;
    else
        t->depth--;
}

/* What a thread that is not the executor's first leaves to it: copies, arrivals, asynchronous reads. */
static bool leaves_to_first(const struct run *x, const struct thread *t, const struct plan_step *s)
{
    if (t->lane == 0)
        return false;
    if (s->op == PLAN_STORE_WAIT || s->op == PLAN_MMA_COMMIT || s->op == PLAN_MMA_WAIT)
        return true;
    if (s->op == PLAN_LOOP || s->op == PLAN_END || s->ring < 0 || x->p->ring[s->ring].filler != PLAN_FILL_BULK)
        return false;
    return !((s->op == PLAN_WAIT_FULL || s->op == PLAN_READ) && t->ring[s->ring].touch);
}

bool protocol_step(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(x, t);
    if (!t->at_barrier && ++t->clock[number(x, t)] > TICKS) {
        FAULT(x, t, -1, "PROTOCOL-LIMIT", "makes more than %d steps; the exploration stops and proves nothing", TICKS);
        return false;
    }
    if (leaves_to_first(x, t, s)) {
        t->step++;
        return true;
    }
    switch (s->op) {
    case PLAN_LOOP:
        begin_loop(x, t);
        break;
    case PLAN_END:
        end_loop(x, t);
        break;
    case PLAN_WAIT_EMPTY:
    case PLAN_WAIT_FULL:
        if (!pass(x, t, s->op == PLAN_WAIT_FULL ? FULL : EMPTY)) {
            t->clock[number(x, t)]--;
            return false;
        }
        break;
    case PLAN_EXPECT: {
        int index = t->ring[s->ring].filled, stages = x->p->ring[s->ring].stages;
        arrive(x, t, s->ring, t->block, index % stages, FULL, index / stages, 1, s->count);
        break;
    }
    case PLAN_FILL:
        if (x->p->ring[s->ring].filler == PLAN_FILL_BULK)
            fill_bulk(x, t);
        else
            fill_cp_async(x, t);
        break;
    case PLAN_READ:
        read_stage(x, t);
        break;
    case PLAN_MMA_COMMIT:
        t->mma_groups++;
        break;
    case PLAN_MMA_WAIT:
        finish_reads(x, t, t->mma_groups - s->count);
        break;
    case PLAN_RELEASE:
        release(x, t);
        break;
    case PLAN_DRAIN:
        if (!drain(x, t)) {
            t->clock[number(x, t)]--;
            return false;
        }
        break;
    case PLAN_CP_COMMIT:
        t->copy_groups++;
        break;
    case PLAN_CP_WAIT:
        finish_copies(x, t, t->copy_groups - s->count);
        break;
    case PLAN_BARRIER:
        if (!meet(x, t))
            return false;
        break;
    case PLAN_STORE_WAIT:
        finish_stores(x, t, t->stores - s->count);
        break;
    case PLAN_WRITE:
        write_buffer(x, t);
        break;
    case PLAN_FENCE_ASYNC:
        fence(x, t);
        break;
    case PLAN_STORE:
        store(x, t);
        break;
    case PLAN_GLOBAL:
    case PLAN_OP_COUNT:
        break;
    default:
        FAULT(x, t, -1, "PROTOCOL-LIMIT", "is a step that the proof does not know; nothing is proved");
        break;
    }
    if (x->failed)
        return false;
    t->step++;
    return true;
}
