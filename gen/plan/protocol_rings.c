/* Rings that mbarriers carry: what each step does to barriers and stages, and what a thread must know to do it. See
 * protocol_run.c. */
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

/* t knows that so many turns are complete: it waited for that, or it knows of all arrivals of the last. (Of bytes,
 * which come when they like, nobody knows who did not wait.) */
static bool knows_turns(const struct run *x, struct thread *t, const struct mbarrier *b, int ring, enum side side,
                        int turns)
{
    if (t->clock[b->component] >= turns)
        return true;
    if ((side == FULL && x->p->ring[ring].filler != PLAN_FILL_ARRIVE) || b->completed != turns)
        return false;
    for (int i = 0; i < x->width; i++)
        if (i != b->component && b->before[i] > t->clock[i])
            return false;
    t->clock[b->component] = (tick)turns;
    return true;
}

static void note_sent(struct thread *t, int block, int stage)
{
    if (block == t->block)
        return;
    t->sent[block].at = now(t);
    t->sent[block].step = t->flow.step;
    t->sent[block].stage = stage;
}

/* Arrivals for `turn` that expect so many bytes. False after a fault. */
static bool arrive(struct run *x, struct thread *t, int ring, int block, int stage, enum side side, int turn,
                   int arrivals, int64_t bytes)
{
    struct mbarrier *b = barrier_of(x, t, ring, block, stage, side);
    const char *name = x->p->ring[ring].name;
    if (b->completed > turn || b->pending < arrivals) {
        FAULT(
            x, t, stage, "PROTOCOL-ARRIVALS",
            "arrives on the %s barrier of ring %s after %d arrival%s completed the turn without it; write %s_arrivals "
            "as many as arrive",
            side_name[side], name, b->arrivals, b->arrivals == 1 ? "" : "s", side_name[side]);
        return false;
    }
    if (b->completed < turn || !knows_turns(x, t, b, ring, side, turn)) {
        FAULT(x, t, stage, "PROTOCOL-ORDER",
              "arrives on the %s barrier of ring %s while the arrivals of the stage's last turn may be missing, and "
              "counts as one of them; wait for the %s barrier first",
              side_name[side], name, side_name[!side]);
        return false;
    }
    b->pending -= arrivals;
    note_sent(t, block, stage);
    b->bytes += bytes;
    join(b->gathered, t->clock, x->width);
    settle(x, t, b, ring, stage, side);
    return !x->failed;
}

/* Notes that t takes the stage with `index`: it holds it until it releases it. */
static void take_stage(struct run *x, struct thread *t, int ring, int index)
{
    struct progress *r = &t->ring[ring];
    int stages = x->p->ring[ring].stages, stage = index % stages;
    if (r->holds - r->released >= stages) {
        FAULT(x, t, stage, "PROTOCOL-RELEASE",
              "takes a stage of ring %s while it holds all %d unreleased; write a release step before it",
              x->p->ring[ring].name, stages);
        return;
    }
    r->order[r->holds++ % stages] = index;
    r->taken = index + 1;
    r->touch[stage].taken_index = index;
    r->touch[stage].taken = now(t);
}

void protocol_skip(struct thread *t)
{
    t->ring[step_of(t)->ring].taken++;
}

void protocol_take(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    struct progress *r = &t->ring[s->ring];
    struct touch *u = &r->touch[r->taken % x->p->ring[s->ring].stages];
    u->taken_index = r->taken++;
    u->taken = now(t);
}

/* Waits as try_wait.parity does for turn `turn` (-1: what a fresh barrier shows as complete). True where t passes. */
bool protocol_pass(struct run *x, struct thread *t, enum side side)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    int index = side == FULL ? r->taken : r->filled;
    int stage = index % ring->stages, turn = index / ring->stages - (side == EMPTY);
    struct mbarrier *b = barrier_of(x, t, s->ring, t->block, stage, side);
    if (((index / ring->stages + s->phase) & 1) != (turn & 1)) {
        FAULT(x, t, stage, "PROTOCOL-PHASE",
              "waits on the %s barrier of ring %s for parity %d, where %s with parity %d; write phase = %d",
              side_name[side], ring->name, (index / ring->stages + s->phase) & 1,
              turn < 0 ? "a fresh barrier lets pass who waits" : "the stage's turn completes", turn & 1, side == EMPTY);
        return false;
    }
    if (b->completed < turn || !knows_turns(x, t, b, s->ring, side, turn > 0 ? turn : 0)) {
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
    b->waited[t->number] = turn;
    b->waited_at[t->number] = now(t);
    if (side == FULL)
        take_stage(x, t, s->ring, index);
    return !x->failed;
}

/* Waits until the stages that t filled last are released, which completes turn index / stages of each empty barrier. */
bool protocol_drain(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    int stages = x->p->ring[s->ring].stages, filled = t->ring[s->ring].filled;
    for (int index = filled > stages ? filled - stages : 0; index < filled; index++) {
        struct mbarrier *b = barrier_of(x, t, s->ring, t->block, index % stages, EMPTY);
        int turn = index / stages;
        if (!knows_turns(x, t, b, s->ring, EMPTY, turn)) {
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
        b->waited[t->number] = turn;
        b->waited_at[t->number] = now(t);
    }
    return true;
}

/* Index that was copied into the stage last. */
static int *content_of(struct run *x, const struct thread *t, int ring, int block, int stage)
{
    return &barrier_of(x, t, ring, block, stage, FULL)->content;
}

/* ---- bulk rings ------------------------------------------------------------------------------------------------ */

bool protocol_readers_are_through(struct run *x, struct thread *t, int ring, int block, int index)
{
    int stages = x->p->ring[ring].stages, stage = index % stages, before = index - stages;
    if (before < 0)
        return true;
    for (int i = 0; i < x->thread_count; i++) {
        struct thread *o = &x->thread[i];
        const struct progress *r = &o->ring[ring];
        if (o->block != block || !r->touch || !r->reads)
            continue;
        const struct touch *u = &r->touch[stage];
        bool through = r->taken > before; /* else it may read the stage still, or skip it */
        if (through && u->taken_index == before)
            through = knows(t, o, u->taken);
        if (through && u->read_index == before)
            through = u->read_over != NEVER && knows(t, o, u->read_over);
        if (through || (r->skips && u->taken_index != before))
            continue;
        const char *what = protocol_has_mbarriers(x->p, ring) ? "wait for the empty barrier before it"
                                                              : "a barrier must stand between";
        FAULT(x, t, stage, "PROTOCOL-OVERWRITE", "%s a stage of ring %s that role %s may still read%s; %s",
              step_of(t)->op == PLAN_WRITE ? "writes" : "copies into", x->p->ring[ring].name, role_name(x, o),
              block == t->block ? "" : " in another block of the cluster", what);
        return false;
    }
    return true;
}

/* The tile that the FILL would bring, or what an EXPECT counts of such, is in the stage: the item before left it. */
static bool is_left(const struct run *x, const struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const int stages = x->p->ring[s->ring].stages;
    if (!s->reuse || !x->trips->reuses || t->flow.depth != 2 || t->flow.loop[0].turn == 0)
        return false;
    return t->flow.loop[1].turn < stages && t->flow.loop[1].end >= stages && t->ring[s->ring].filled >= stages;
}

void protocol_expect(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    int index = t->ring[s->ring].filled, stages = x->p->ring[s->ring].stages;
    arrive(x, t, s->ring, t->block, index % stages, FULL, index / stages, 1, s->count - (is_left(x, t) ? s->reuse : 0));
}

/* Bytes that t brings to each block by its FILL: of a ring of PEERS each thread sends its part. */
static int bytes_of(const struct run *x, const struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const int others = x->p->ring[s->ring].filler == PLAN_FILL_PEERS ? s->count / t->lanes : 0;
    return t->lane > 0 ? others : s->count - others * (t->lanes - 1);
}

void protocol_fill_bulk(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    struct progress *r = &t->ring[s->ring];
    int stages = x->p->ring[s->ring].stages, index = r->filled, stage = index % stages, turn = index / stages;
    const bool sent = x->p->ring[s->ring].filler == PLAN_FILL_PEERS;
    unsigned blocks = sent ? x->neighbours[s->ring][t->block] : protocol_sharing(&x->cluster, s->tensor, t->block);
    if (r->filling >> protocol_slot(x->p, s) & 1) {
        FAULT(x, t, stage, "PROTOCOL-ORDER", "fills %s a second time in one stage; each tensor once",
              x->p->tensor[s->tensor].name);
        return;
    }
    const bool left = is_left(x, t);
    if (left)
        *content_of(x, t, s->ring, t->block, stage) = index;
    for (int block = 0; blocks >> block && !left; block++) {
        if (!(blocks >> block & 1))
            continue;
        if (!protocol_readers_are_through(x, t, s->ring, block, index))
            return;
        struct mbarrier *b = barrier_of(x, t, s->ring, block, stage, FULL);
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
        *content_of(x, t, s->ring, block, stage) = index;
        b->bytes -= bytes_of(x, t);
        note_sent(t, block, stage);
        join(b->gathered, t->clock, x->width);
        settle(x, t, b, s->ring, stage, FULL);
    }
    if (advance(&r->filling, r->fills, protocol_slot(x->p, s)))
        r->filled++;
}

/* ---- what comes into the buffers of bulk stores ------------------------------------------------------------------ */

/* The buffer's last store was made by t, behind what all wrote there, and has read it: so all have read, too, what came
 * before they wrote. */
void protocol_fill_own(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    const int into = plan_number(ring->into);
    struct progress *r = &t->ring[s->ring];
    const struct progress *buffers = &t->ring[into];
    int index = r->filled, stage = index % ring->stages, before = index - ring->stages;
    struct mbarrier *b = barrier_of(x, t, s->ring, t->block, stage, FULL);
    if (r->filling >> protocol_slot(x->p, s) & 1) {
        FAULT(x, t, stage, "PROTOCOL-ORDER", "fills %s a second time in one stage; each tensor once",
              x->p->tensor[s->tensor].name);
        return;
    }
    if (before >= 0 && (buffers->stored <= before || buffers->touch[stage].store_over == NEVER)) {
        FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
              "copies into a buffer of ring %s that the store of its last turn may still read; write store_wait %d "
              "before it",
              x->p->ring[into].name, ring->stages - 1);
        return;
    }
    if (b->completed != index / ring->stages) {
        FAULT(x, t, stage, "PROTOCOL-BYTES",
              "brings bytes after the full barrier completed without them; expect %d bytes a stage before the copies",
              ring->tx_bytes);
        return;
    }
    b->bytes -= s->count;
    join(b->gathered, t->clock, x->width);
    settle(x, t, b, s->ring, stage, FULL);
    if (advance(&r->filling, r->fills, protocol_slot(x->p, s)))
        r->filled++;
}

bool protocol_source_is_here(struct run *x, struct thread *t, int index)
{
    const int ring = step_of(t)->ring, source = protocol_source_of(x->p, ring);
    if (source < 0 || !t->ring[source].reads)
        return true;
    struct progress *r = &t->ring[source];
    const int stage = index % x->p->ring[ring].stages;
    if (r->touch[stage].taken_index != index) {
        FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
              "writes a buffer of ring %s into which a copy of ring %s may still be on its way; write wait_full before "
              "it",
              x->p->ring[ring].name, x->p->ring[source].name);
        return false;
    }
    r->released = r->holds;
    return true;
}

/* ---- rings that threads write and arrive for --------------------------------------------------------------------- */

void protocol_write_stage(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    struct progress *r = &t->ring[s->ring];
    int index = r->filled, stage = index % x->p->ring[s->ring].stages;
    if (!protocol_readers_are_through(x, t, s->ring, t->block, index))
        return;
    r->filling |= 1u << protocol_slot(x->p, s);
    r->touch[stage].write_index = index;
    r->touch[stage].written = now(t);
    r->touch[stage].fenced = NEVER;
    r->written = true;
}

void protocol_arrive_full(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    int index = r->filled, stage = index % ring->stages;
    int arrivals = protocol_arrivals_of_lane(&x->p->role[t->role], s, t->lanes, t->lane);
    if (r->filling != r->fills) {
        FAULT(x, t, stage, "PROTOCOL-ORDER",
              "arrives on the full barrier of ring %s before the stage is written; write all its tensors first",
              ring->name);
        return;
    }
    r->filling = 0;
    r->filled++;
    if (arrivals > 0)
        arrive(x, t, s->ring, t->block, stage, FULL, index / ring->stages, arrivals, 0);
}

/* What all writers wrote into the stage with `index` is there for t, and where it reads asynchronously, for its proxy.
 */
static bool writes_are_here(struct run *x, struct thread *t, int index)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    int stage = index % ring->stages;
    for (int i = 0; i < x->thread_count; i++) {
        struct thread *o = &x->thread[i];
        const struct progress *w = &o->ring[s->ring];
        if (o->block != t->block || !w->fills)
            continue;
        const struct touch *u = &w->touch[stage];
        if (u->write_index > index) {
            FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
                  "reads a stage of ring %s that role %s may have written again; release it after this step",
                  ring->name, role_name(x, o));
            return false;
        }
        if (u->write_index != index || !knows(t, o, u->written)) {
            FAULT(
                x, t, stage, "PROTOCOL-BARRIER",
                "reads a stage of ring %s that other threads of role %s may still write; a barrier must stand between "
                "their writes and the arrive, or every warp arrive for itself",
                ring->name, role_name(x, o));
            return false;
        }
        if (s->count != 0 && (u->fenced == NEVER || !knows(t, o, u->fenced))) {
            FAULT(
                x, t, stage, "PROXY",
                "reads a stage of ring %s asynchronously, whose writes by role %s the asynchronous proxy may not see; "
                "write fence_async between the writes and the arrive",
                ring->name, role_name(x, o));
            return false;
        }
    }
    return true;
}

/* ---- reading and releasing -------------------------------------------------------------------------------------- */

/* The index of the stage that t's READ is of; -1 after a fault. */
static int index_to_read(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    const struct progress *r = &t->ring[s->ring];
    bool waits = protocol_has_mbarriers(x->p, s->ring);
    int newest = r->taken - r->takes;
    if (!waits && !r->takes && x->p->derived) {
        FAULT(x, t, 0, "PROTOCOL-READ",
              "reads ring %s, of which the text goes on to the next stage at a take step; write take before it",
              ring->name);
        return -1;
    }
    if (!waits && newest >= s->back)
        return newest - s->back;
    int nth = r->holds - 1 - s->back;
    if (!waits) {
        FAULT(x, t, 0, "PROTOCOL-READ",
              "reads a stage of ring %s before the first is taken; write back = %d or less, or take before it",
              ring->name, newest > 0 ? newest : 0);
        return -1;
    }
    if (nth < 0) {
        FAULT(x, t, 0, "PROTOCOL-READ",
              "reads a stage of ring %s without having waited until it is full; write wait_full before it", ring->name);
        return -1;
    }
    int index = r->order[nth % ring->stages];
    if (nth < r->released) {
        FAULT(x, t, index % ring->stages, "PROTOCOL-READ",
              ring->filler == PLAN_FILL_OWN
                  ? "reads a stage of ring %s that this role has written over; write it after this step"
                  : "reads a stage of ring %s that this role has released; release it after this step",
              ring->name);
        return -1;
    }
    const struct progress *first = &first_lane(x, t)->ring[s->ring];
    if (first->released > nth && ring->filler != PLAN_FILL_OWN) { /* each thread writes where it alone has read */
        FAULT(
            x, t, index % ring->stages, "PROTOCOL-BARRIER",
            "reads a stage of ring %s that another thread of the role may have released; a barrier must stand between "
            "this step and the release",
            ring->name);
        return -1;
    }
    return index;
}

void protocol_read_stage(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    int index = index_to_read(x, t), stage = index % ring->stages;
    if (index < 0)
        return;
    if (ring->filler == PLAN_FILL_CP_ASYNC ? !protocol_copies_are_here(x, t, index)
                                           : ring->filler == PLAN_FILL_ARRIVE && !writes_are_here(x, t, index))
        return;
    if ((ring->filler == PLAN_FILL_BULK || ring->filler == PLAN_FILL_PEERS) &&
        *content_of(x, t, s->ring, t->block, stage) != index) {
        FAULT(x, t, stage, "PROTOCOL-OVERWRITE",
              "reads a stage of ring %s into which the next copy may have begun; every reader's release must be waited "
              "for before that copy",
              ring->name);
        return;
    }
    struct touch *u = &r->touch[stage];
    if (u->read_index != index || u->read_over != NEVER)
        u->read_group = -1;
    u->read_index = index;
    u->read_over = NEVER;
    r->unfenced |= s->count == 0 && (ring->filler == PLAN_FILL_BULK || ring->filler == PLAN_FILL_PEERS);
    if (s->count != 0)
        u->read_group = t->mma_groups;
    else if (u->read_group < 0)
        u->read_over = now(t);
    r->in_flight |= u->read_over == NEVER;
    if (ring->filler == PLAN_FILL_CP_ASYNC && !r->takes && s->back == 0 &&
        advance(&r->reading, r->reads, protocol_slot(x->p, s))) {
        u->taken_index = index;
        u->taken = now(t);
        r->taken++;
    }
}

int *protocol_turned(struct thread *t, const struct plan_step *s)
{
    int number = plan_number(s->loop);
    return number >= 0 && number < PROTOCOL_MAX_VARIABLES ? &t->turned[number] : NULL;
}

/* The role's bulk stores read the stages: its text counts those that it holds, and frees as many as the step says. */
static bool text_counts(const struct run *x, const struct thread *t, int ring)
{
    const struct plan_role *role = &x->p->role[t->role];
    for (int i = 0; i < role->step_count; i++)
        if (role->step[i].op == PLAN_READ && role->step[i].ring == ring && role->step[i].to)
            return true;
    return false;
}

/* Stages that the text of a derived RELEASE frees, whatever the step keeps: one; with `back` none before the first turn
 * is over of the loop that it names. */
static int released_by_text(struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const int *turns = protocol_turned(t, s);
    return !s->back || (turns && *turns > 0);
}

void protocol_release(struct run *x, struct thread *t)
{
    const struct plan_step *s = step_of(t);
    const struct plan_ring *ring = &x->p->ring[s->ring];
    struct progress *r = &t->ring[s->ring];
    int before = r->released;
    for (; !x->failed && r->holds - r->released > s->count; r->released++) {
        int index = r->order[r->released % ring->stages], stage = index % ring->stages;
        for (int i = 0; i < t->lanes && t->lane == 0; i++) { /* the executor's other threads read too */
            struct thread *o = &first_lane(x, t)[i];
            const struct progress *q = &o->ring[s->ring];
            if (!q->reads)
                continue;
            /* A template's release fences what its threads read by itself: blocks/ring.cuh. */
            if (x->p->derived && q->unfenced) {
                FAULT(x, t, stage, "PROXY",
                      "releases a stage of ring %s that threads read themselves: an arrival does not hold the next "
                      "bulk copy back from those reads (seen on an H200); write fence_async between them",
                      ring->name);
                return;
            }
            const struct touch *u = &q->touch[stage];
            bool over = q->taken > index && knows(t, o, u->taken);
            if (over && u->read_index == index)
                over = u->read_over != NEVER && knows(t, o, u->read_over);
            if (over)
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
        for (int block = 0; block < x->cluster.blocks && t->lane == 0; block++)
            if (x->neighbours[s->ring][t->block] >> block & 1 &&
                !arrive(x, t, s->ring, block, stage, EMPTY, index / ring->stages, protocol_arrivals(s), 0))
                return;
    }
    int released = r->released - before;
    if (x->p->derived && !x->failed && !text_counts(x, t, s->ring) && released != released_by_text(t))
        FAULT(x, t, -1, "PROTOCOL-RELEASE",
              "releases %d stages of ring %s, but what is emitted for the step releases %d; write a release step for "
              "each stage that is taken",
              released, ring->name, released_by_text(t));
}
