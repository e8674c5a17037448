/* The protocol check, second half: every interleaving of the executors' steps.
 *
 * WHY ONE SCHEDULE STANDS FOR ALL. A state is a position in each thread's program, with what its late places hold, the
 * phase and counts of each mbarrier and named barrier, and what each copy, group and store has reached. Data decides
 * only how often a loop turns, alike for all (protocol_flow.c); what late places hold follows from that and the steps
 * before, in any schedule (protocol_late.c). So schedules differ only in the order of steps, and two that differ by
 * swapping neighbours which commute lead to the same states (partial-order reduction). Which pairs do not commute is a
 * short list:
 *
 *     arrival or bytes for turn g of an mbarrier      completion of turn g - 1 (they would count for it)
 *     wait for turn g                                 completion of turn g - 1 (until then its parity looks complete)
 *     wait for turn g                                 completion of turn g + 1 (from then on it looks incomplete)
 *     arrival at turn g of a named barrier            completion of turn g - 1 (it would count for it)
 *     copy or write into a stage                      reads of the stage's last turn; reads of this turn
 *     release of a stage                              reads of it by the executor's other threads
 *     write of a buffer                               store of its last turn; fence and store of this turn
 *     copy into a buffer                              store of its last turn; read and write of this turn
 *     write of scratch by a thread                    reads of its last turn by others; reads of this turn
 *
 * Everything else does: arrivals of one turn among each other (the phase completes with the last, whichever it is),
 * waits, reads, steps on different barriers or stages, and all that threads and matrix instructions do to registers,
 * which nobody else sees (protocol_places.c). So one schedule is run, and with it vector clocks: each thread knows, for
 * every other thread, up to which of its steps everything has happened in any schedule, because it waited for a barrier
 * that those steps came before. A pair of the list whose order is not known that way can be swapped by some schedule
 * and is reported, at whichever of the two comes later. If every pair is ordered, all schedules are equivalent to the
 * one that was run: there is one state space, a line, and a deadlock in it is a deadlock in all. This is dynamic
 * partial-order reduction (Flanagan and Godefroid 2005) where a backtracking point is already a fault.
 * tests/unit/plan/protocol_naive.h visits every state of small Plans instead and must agree.
 *
 * TURNS OF A NAMED BARRIER have no number in hardware. A thread that arrives twice before a turn is complete completes
 * it in another's stead; so each arrival must know of the turn before, and no thread comes twice.
 *
 * SHARED TURNS. Who skips a stage has waited for nothing: when it waits for the stage's next turn, it must know by
 * other means that the one between is complete, or it passes on the parity of an older one. Nor does its place in its
 * program say whether it will read a stage; so a copy that comes too early is seen at the read, which finds another's
 * bytes.
 *
 * ASYNCHRONY. Bytes of a copy have no time of their own: they count towards the full barrier's completion, and only who
 * waited for that completion knows of them (each barrier has a component in the clocks beside the threads). Reads of a
 * group last until the MMA_WAIT that covers it, stores until the STORE_WAIT, cp.async copies until the CP_WAIT: ending
 * earlier cannot make a fault.
 *
 * LIMITS. The numbers of loops are those that it is given. A named barrier counts the threads that stand for an
 * executor. Steps say what is read: a matrix instruction whose READ steps are missing reads nothing here.
 */
#include "plan/protocol_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the end --------------------------------------------------------------------------------------------------- */

static int last_step(const struct run *x, const struct thread *t, enum plan_op op, int ring)
{
    const struct plan_role *role = &x->p->role[t->role];
    for (int i = role->step_count - 1; i >= 0; i--)
        if (role->step[i].op == op && role->step[i].ring == ring)
            return i;
    return role->step_count - 1;
}

bool protocol_is_refilled(const struct plan *p, int ring)
{
    for (int r = 0; r < p->role_count; r++)
        if (protocol_has(&p->role[r], PLAN_WAIT_EMPTY, ring, -1))
            return true;
    return false;
}

/* A role may end only when nothing that it started still uses shared memory, and everything it took is given back. */
static void check_end(struct run *x, struct thread *t)
{
    protocol_check_places_end(x, t);
    for (int g = 0; g < x->p->ring_count && !x->failed; g++) {
        const struct progress *r = &t->ring[g];
        const char *name = x->p->ring[g].name;
        for (int i = 0; r->touch && i < x->p->ring[g].stages && !x->failed; i++) {
            const struct touch *u = &r->touch[i];
            if (u->store_index >= 0 && u->store_over == NEVER) {
                t->flow.step = last_step(x, t, PLAN_STORE, g);
                FAULT(x, t, i, "PROTOCOL-EXIT",
                      "the block may end while this store reads its buffer of ring %s; write "
                      "store_wait 0 at the end",
                      name);
            } else if (u->read_index >= 0 && u->read_over == NEVER) {
                t->flow.step = last_step(x, t, PLAN_READ, g);
                FAULT(x, t, i, "PROTOCOL-EXIT",
                      "the role ends while a group of reads of ring %s may be unfinished; commit "
                      "it and write mma_wait 0 at the end",
                      name);
            } else if (u->copy_index >= 0 && u->copy_over == NEVER) {
                t->flow.step = last_step(x, t, PLAN_FILL, g);
                FAULT(x, t, i, "PROTOCOL-EXIT",
                      "the block may end while copies into ring %s are in flight; write cp_wait 0 "
                      "at the end",
                      name);
            }
        }
        if (!x->failed && t->lane == 0 && r->holds > r->released && protocol_has_mbarriers(x->p, g) &&
            protocol_is_refilled(x->p, g)) {
            t->flow.step =
                last_step(x, t, protocol_has(&x->p->role[t->role], PLAN_RELEASE, g, -1) ? PLAN_RELEASE : PLAN_READ, g);
            int left = r->holds - r->released, stages = x->p->ring[g].stages;
            FAULT(x, t, r->order[r->released % stages] % stages, "PROTOCOL-RELEASE",
                  "the role ends with %d stage%s of ring %s unreleased; write release with count 0 after the loop",
                  left, left > 1 ? "s" : "", name);
        }
    }
}

/* What is filled is taken: as often, by every reader. */
static void check_balance(struct run *x)
{
    for (int i = 0; i < x->thread_count && !x->failed; i++)
        for (int g = 0; g < x->p->ring_count && !x->failed; g++) {
            struct thread *t = &x->thread[i];
            for (int o = 0; o < x->thread_count && !x->failed && t->ring[g].fills; o++) {
                const struct thread *u = &x->thread[o];
                if (!protocol_has_mbarriers(x->p, g) || u->block != t->block || !u->ring[g].reads || t->lane != 0 ||
                    u->lane != 0 || u->ring[g].taken == t->ring[g].filled ||
                    (x->sets[g] > 1 && u->instance != t->instance))
                    continue;
                t->flow.step = last_step(x, t, protocol_fill_op(x->p, g), g);
                FAULT(x, t, u->ring[g].taken % x->p->ring[g].stages, "PROTOCOL-EXIT",
                      "fills %d stages of ring %s of which role %s takes %d; both must loop alike", t->ring[g].filled,
                      x->p->ring[g].name, role_name(x, u), u->ring[g].taken);
            }
        }
}

/* A block may end only when nothing can come from its cluster any more: it must know of the last that was sent. */
static void check_cluster_end(struct run *x)
{
    for (int block = 0; block < x->cluster.blocks && x->cluster.blocks > 1; block++)
        for (int i = 0; i < x->thread_count && !x->failed; i++) {
            struct thread *t = &x->thread[i];
            bool known = t->sent[block].at == NEVER;
            for (int o = 0; o < x->thread_count && !known; o++)
                known = x->thread[o].block == block && knows(&x->thread[o], t, t->sent[block].at);
            if (known)
                continue;
            t->flow.step = t->sent[block].step;
            FAULT(x, t, t->sent[block].stage, "PROTOCOL-EXIT",
                  "may arrive at a block of the cluster that has ended; write a drain step at the end of the role that "
                  "fills");
        }
}

static int waits_for(struct run *x, const struct thread *t, char *out, size_t size)
{
    const struct plan_step *s = step_of(t);
    const char *call = protocol_step_name(s);
    if (s->op == PLAN_BARRIER) {
        snprintf(out, size, "%s waits at step %d %s for the others at barrier %s", role_name(x, t), t->flow.step + 1,
                 call, x->p->barrier[s->count].name);
        return -1;
    }
    const struct plan_ring *ring = &x->p->ring[s->ring];
    const struct progress *r = &t->ring[s->ring];
    int stage = (s->op == PLAN_WAIT_FULL ? r->taken : r->filled) % ring->stages;
    for (int i = s->op == PLAN_DRAIN ? 0 : ring->stages; i < ring->stages && i < r->filled; i++) {
        int index = r->filled - 1 - i;
        if (barrier_of(x, t, s->ring, t->block, index % ring->stages, EMPTY)->completed <= index / ring->stages)
            stage = index % ring->stages;
    }
    snprintf(out, size, "%s waits at step %d %s until stage %d of ring %s is %s", role_name(x, t), t->flow.step + 1,
             call, stage, ring->name, s->op == PLAN_WAIT_FULL ? "full" : "empty");
    return stage;
}

/* Nobody can go on. Names the cause where a count shows it, else what each role waits for. */
static void deadlock(struct run *x)
{
    char all[600] = "", one[200];
    struct thread *first = NULL;
    for (int i = 0; i < x->thread_count; i++) {
        struct thread *t = &x->thread[i];
        if (t->done)
            continue;
        const struct plan_step *s = step_of(t);
        int stage = waits_for(x, t, one, sizeof one);
        first = first ? first : t;
        if (!strstr(all, one) && strlen(all) + strlen(one) + 8 < sizeof all) {
            strcat(all, all[0] ? "; " : "");
            strcat(all, one);
        }
        if (s->op != PLAN_WAIT_FULL)
            continue;
        const struct progress *r = &t->ring[s->ring];
        const struct mbarrier *b = barrier_of(x, t, s->ring, t->block, stage, FULL);
        if (r->holds - r->released >= x->p->ring[s->ring].stages && protocol_is_refilled(x->p, s->ring)) {
            FAULT(x, t, stage, "PROTOCOL-RELEASE",
                  "waits for ring %s while it holds all %d stages unreleased; write a release step in the loop",
                  x->p->ring[s->ring].name, x->p->ring[s->ring].stages);
            return;
        }
        if (b->pending == 0 && b->bytes != 0) {
            FAULT(
                x, t, stage, "PROTOCOL-BYTES",
                "waits for ever: %lld bytes %s than the full barrier of ring %s expects; expect what the copies bring",
                (long long)(b->bytes > 0 ? b->bytes : -b->bytes), b->bytes > 0 ? "fewer come" : "more come",
                x->p->ring[s->ring].name);
            return;
        }
    }
    int stage = waits_for(x, first, one, sizeof one);
    FAULT(x, first, stage < 0 ? 0 : stage, "PROTOCOL-DEADLOCK", "no role can go on: %s", all);
}

/* ---- setting up ------------------------------------------------------------------------------------------------- */

static void *take(struct run *x, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    char *start = x->memory;
    x->memory += bytes;
    return x->memory <= x->memory_end ? start : NULL;
}

/* The same of what no step changes: from the end on, so that the image of a fresh run ends where it begins. */
static void *take_fixed(struct run *x, size_t bytes)
{
    x->memory_end -= (bytes + 15) & ~(size_t)15;
    return x->memory <= x->memory_end ? x->memory_end : NULL;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

static bool set_up(struct run *x)
{
    const struct plan *p = x->p;
    int touches = 0, side_by_side = 0;
    x->cluster = protocol_cluster(p);
    x->most_instances = 1;
    for (int g = 0; g < p->ring_count; g++) {
        touches += p->ring[g].stages;
        side_by_side +=
            protocol_has_mbarriers(p, g) ? p->ring[g].stages * 2 * x->cluster.blocks * protocol_stage_sets(p, g) : 0;
    }
    for (int r = 0; r < p->role_count; r++) {
        x->thread_count += p->role[r].instances * protocol_lanes(p, r) * x->cluster.blocks;
        x->most_instances = p->role[r].instances > x->most_instances ? p->role[r].instances : x->most_instances;
    }
    x->barrier_count = side_by_side;
    int meetings = p->barrier_count * x->cluster.blocks * x->most_instances;
    x->width = (x->thread_count + side_by_side + meetings + CLOCK_UNIT - 1) / CLOCK_UNIT * CLOCK_UNIT;
    size_t threads = (size_t)x->thread_count, clock = round_up((size_t)x->width * sizeof(tick));
    size_t most_steps = 0;
    for (int r = 0; r < p->role_count; r++)
        most_steps = (size_t)p->role[r].step_count > most_steps ? (size_t)p->role[r].step_count : most_steps;
    size_t bytes =
        round_up(threads * sizeof(struct thread)) +
        threads *
            (clock + round_up(most_steps + 1) + (size_t)(p->ring_count + 2) * round_up((most_steps + 1) * sizeof(int)) +
                   round_up((size_t)p->ring_count * sizeof(struct progress)) +
                   (size_t)touches * (sizeof(struct touch) + sizeof(int)) + (size_t)p->ring_count * 32 +
                   round_up((size_t)p->place_count * sizeof(struct held))) +
        2 * round_up((size_t)p->ring_count * sizeof(int)) + round_up((size_t)p->barrier_count * sizeof(bool)) +
        round_up((size_t)side_by_side * sizeof(struct mbarrier)) +
        (size_t)side_by_side * (2 * clock + round_up(threads * sizeof(int)) + round_up(threads * sizeof(tick))) +
        round_up((size_t)meetings * sizeof(struct meeting)) +
        (size_t)meetings * (2 * clock + round_up(threads * sizeof(int)));
    x->block = x->thread_count <= PROTOCOL_MAX_THREADS && p->ring_count <= 16 ? calloc(1, bytes) : NULL;
    x->memory = x->block;
    x->memory_end = x->block ? x->block + bytes : NULL;
    return x->block != NULL;
}

/* The innermost LOOP around all FILLs, TAKEs and READs of the ring, -1: none. */
static int scope_of(const struct plan_role *role, const int *end, int ring)
{
    int scope = -1, first = -1, last = -1;
    for (int i = 0; i < role->step_count; i++)
        if (role->step[i].ring == ring &&
            (role->step[i].op == PLAN_FILL || role->step[i].op == PLAN_TAKE || role->step[i].op == PLAN_READ)) {
            first = first < 0 ? i : first;
            last = i;
        }
    for (int i = 0; i < first; i++)
        if (role->step[i].op == PLAN_LOOP && end[i] > last)
            scope = i;
    return scope;
}

static const int *make_stops(struct run *x, const struct plan_role *role, const struct progress *r, int ring)
{
    int *stop = take_fixed(x, ((size_t)role->step_count + 1) * sizeof *stop);
    stop[role->step_count] = role->step_count;
    for (int i = role->step_count - 1; i >= 0; i--) {
        const struct plan_step *s = &role->step[i];
        bool taking = r->takes ? s->op == PLAN_TAKE : s->op == PLAN_READ && s->back == 0;
        stop[i] = protocol_is_flow(s->op) || (taking && s->ring == ring) ? i : stop[i + 1];
    }
    return stop;
}

static void make_thread(struct run *x, struct thread *t, int role, int instance, int lane, int block)
{
    const struct plan *p = x->p;
    const struct plan_role *q = &p->role[role];
    int lanes = protocol_lanes(p, role);
    *t = (struct thread){.number = (int)(t - x->thread),
                         .program = q->step,
                         .steps = q->step_count,
                         .role = role,
                         .instance = instance,
                         .lane = lane,
                         .lanes = lanes,
                         .block = block};
    t->done = q->step_count == 0;
    t->clock = take(x, (size_t)x->width * sizeof(tick));
    t->ring = take(x, (size_t)p->ring_count * sizeof(struct progress));
    for (int g = 0; g < p->ring_count; g++) {
        struct progress *r = &t->ring[g];
        bool first_only = lane > 0 && (p->ring[g].filler == PLAN_FILL_BULK || p->ring[g].filler == PLAN_FILL_OWN);
        bool as_one = lane > 0 && protocol_has_mbarriers(p, g) && protocol_reads_as_one(q, g);
        r->fills = first_only ? 0 : protocol_own_tensors(p, q, protocol_fill_op(p, g), g);
        r->reads = as_one ? 0 : protocol_own_tensors(p, q, PLAN_READ, g);
        r->takes = protocol_has(q, PLAN_TAKE, g, -1);
        r->skips = protocol_has(q, PLAN_SKIP, g, -1);
        r->scope = scope_of(q, x->code->end[role], g);
        r->takes_here = -1;
        r->elected = t->number - lane;
        if (protocol_has(q, PLAN_STORE, g, -1) && !protocol_buffers_are_private(p, role, g))
            r->elected -= instance * lanes;
        if (r->fills || r->reads || protocol_has(q, PLAN_WRITE, g, -1)) {
            r->touch = take(x, (size_t)p->ring[g].stages * sizeof(struct touch));
            r->order = take(x, (size_t)p->ring[g].stages * sizeof(int));
        }
        r->stop = r->fills && r->reads && p->ring[g].filler != PLAN_FILL_BULK ? make_stops(x, q, r, g) : NULL;
        for (int i = 0; r->touch && i < p->ring[g].stages; i++)
            r->touch[i] = (struct touch){.taken_index = -1,
                                         .read_index = -1,
                                         .read_group = -1,
                                         .copy_index = -1,
                                         .write_index = -1,
                                         .store_index = -1};
    }
    t->place = take(x, (size_t)p->place_count * sizeof(struct held));
    int *busy = take_fixed(x, ((size_t)q->step_count + 1) * sizeof *busy);
    busy[q->step_count] = q->step_count;
    for (int i = q->step_count - 1; i >= 0; i--)
        busy[i] = protocol_is_idle(x, t, &q->step[i]) ? busy[i + 1] : i;
    t->busy = busy;
    bool *resets = take_fixed(x, (size_t)q->step_count + 1);
    for (int i = 1; i < q->step_count; i++)
        for (int k = i; (q->step[i - 1].op == PLAN_LOOP || q->step[i - 1].op == PLAN_WHEN) &&
                        k < x->code->end[role][i - 1] && !resets[i];
             k++)
            resets[i] = q->step[k].op == PLAN_LOOP && protocol_turned(t, &q->step[k]);
    t->resets = resets;
    int *loop = take_fixed(x, ((size_t)q->step_count + 1) * sizeof *loop);
    loop[q->step_count] = q->step_count;
    for (int i = q->step_count - 1; i >= 0; i--)
        loop[i] = q->step[i].op == PLAN_LOOP ? i : loop[i + 1];
    t->loop = loop;
    for (int i = 0; i < p->place_count; i++)
        t->place[i] = (struct held){.write_group = -1, .read_group = -1, .touched = true, .loose = true};
}

static void make_barriers(struct run *x)
{
    const struct plan *p = x->p;
    int next = 0;
    x->first_barrier = take_fixed(x, (size_t)p->ring_count * sizeof(int));
    x->sets = take_fixed(x, (size_t)p->ring_count * sizeof(int));
    x->barrier = take(x, (size_t)x->barrier_count * sizeof(struct mbarrier));
    for (int g = 0; g < p->ring_count; g++) {
        x->first_barrier[g] = next;
        x->sets[g] = protocol_stage_sets(p, g);
        for (int block = 0; block < x->cluster.blocks; block++)
            x->neighbours[g][block] = protocol_neighbours(p, &x->cluster, g, block);
        const int barriers = x->cluster.blocks * x->sets[g] * p->ring[g].stages * 2;
        for (int i = 0; protocol_has_mbarriers(p, g) && i < barriers; i++) {
            struct mbarrier *b = &x->barrier[next];
            b->component = x->thread_count + next++;
            b->arrivals = b->pending = i % 2 == EMPTY ? p->ring[g].empty_arrivals : p->ring[g].full_arrivals;
            b->before = take(x, (size_t)x->width * sizeof(tick));
            b->gathered = take(x, (size_t)x->width * sizeof(tick));
            b->waited = take(x, (size_t)x->thread_count * sizeof(int));
            b->waited_at = take(x, (size_t)x->thread_count * sizeof(tick));
            for (int t = 0; t < x->thread_count; t++)
                b->waited[t] = -2;
        }
    }
    int meetings = p->barrier_count * x->cluster.blocks * x->most_instances;
    x->meeting = take(x, (size_t)meetings * sizeof(struct meeting));
    for (int i = 0; i < meetings; i++) {
        x->meeting[i].component = x->thread_count + x->barrier_count + i;
        x->meeting[i].came = take(x, (size_t)x->thread_count * sizeof(int));
        x->meeting[i].before = take(x, (size_t)x->width * sizeof(tick));
        x->meeting[i].gathered = take(x, (size_t)x->width * sizeof(tick));
    }
    x->alone = take_fixed(x, (size_t)p->barrier_count * sizeof(bool));
    for (int b = 0; b < p->barrier_count; b++) {
        x->alone[b] = protocol_barrier_is_private(p, b);
        for (int r = 0; r < p->role_count; r++) {
            bool meets = false;
            for (int s = 0; s < p->role[r].step_count; s++)
                meets |= (p->role[r].step[s].op == PLAN_BARRIER || p->role[r].step[s].op == PLAN_BARRIER_ARRIVE) &&
                         p->role[r].step[s].count == b;
            int lanes = protocol_lanes(p, r);
            int executors = p->barrier[b].turns ? 2 : x->alone[b] ? 1 : p->role[r].instances;
            for (int i = 0; meets && i < x->cluster.blocks * x->most_instances; i++)
                x->meeting[b * x->cluster.blocks * x->most_instances + i].expected += lanes * executors;
        }
    }
}

/* Every thread and barrier as it is before the first step. */
static bool set_out(struct run *x)
{
    const struct plan *p = x->p;
    if (!set_up(x))
        return false;
    x->thread = take(x, (size_t)x->thread_count * sizeof(struct thread));
    struct thread *t = x->thread;
    for (int block = 0; block < x->cluster.blocks; block++)
        for (int r = 0; r < p->role_count; r++)
            for (int i = 0; i < p->role[r].instances; i++)
                for (int lane = 0; lane < protocol_lanes(p, r); lane++)
                    make_thread(x, t++, r, i, lane, block);
    make_barriers(x);
    x->bytes = (size_t)(x->memory - x->block);
    return true;
}

static int explore(struct run *x)
{
    bool moved = true;
    int left = 1;
    while (moved && left > 0 && !x->failed) {
        moved = false;
        left = 0;
        for (int i = 0; i < x->thread_count && !x->failed; i++) {
            struct thread *t = &x->thread[i];
            moved = (!t->done && protocol_go(x, t)) || moved;
            if (!t->done && !x->failed && t->flow.step >= t->steps) {
                t->done = true;
                check_end(x, t);
            }
            left += !t->done;
        }
    }
    if (!x->failed && left > 0)
        deadlock(x);
    if (!x->failed)
        check_balance(x);
    if (!x->failed)
        check_cluster_end(x);
    return x->failed;
}

/* ---- runs of one Plan ------------------------------------------------------------------------------------------- */

struct protocol_runs {
    struct run first; /* before the first step */
    char *image;      /* of its block, as it was then */
    int count;        /* runs */
    int64_t steps;    /* of them */
};

struct protocol_runs *protocol_runs_open(const struct plan *p, const struct protocol_code *code)
{
    struct protocol_runs *runs = calloc(1, sizeof *runs);
    if (!runs)
        return NULL;
    runs->first = (struct run){.p = p, .code = code};
    runs->image = set_out(&runs->first) ? malloc(runs->first.bytes) : NULL;
    if (runs->image)
        memcpy(runs->image, runs->first.block, runs->first.bytes);
    return runs;
}

void protocol_runs_close(struct protocol_runs *runs)
{
    if (!runs)
        return;
    free(runs->first.block);
    free(runs->image);
    free(runs);
}

int protocol_runs_run(struct protocol_runs *runs, const struct protocol_trips *trips, struct diag_set *diags)
{
    struct run x = runs->first;
    x.trips = trips;
    x.diags = diags;
    if (runs->image) {
        memcpy(x.block, runs->image, x.bytes);
        int faults = explore(&x);
        runs->count++;
        runs->steps += x.steps;
        return faults;
    }
    diag_report(diags, DIAG_ERROR, x.p->loc, x.p->kernel, NULL, "PROTOCOL-LIMIT",
                "%s: %d threads and %d rings are too many to explore, or memory is out; nothing is proved", x.p->arch,
                x.thread_count, x.p->ring_count);
    return 1;
}

void protocol_runs_again(struct protocol_runs *runs, int64_t steps)
{
    runs->count++;
    runs->steps += steps;
}

void protocol_runs_count(const struct protocol_runs *runs, struct plan_proof *proof)
{
    proof->threads = runs->first.thread_count;
    proof->runs = runs->count;
    proof->steps = runs->steps;
}

int protocol_run(const struct plan *p, const struct protocol_code *code, const struct protocol_trips *trips,
                 struct diag_set *diags)
{
    struct protocol_runs *runs = protocol_runs_open(p, code);
    int faults = 1;
    if (runs)
        faults = protocol_runs_run(runs, trips, diags);
    else
        diag_report(diags, DIAG_ERROR, p->loc, p->kernel, NULL, "PROTOCOL-LIMIT",
                    "%s: memory is out; nothing is proved", p->arch);
    protocol_runs_close(runs);
    return faults;
}
