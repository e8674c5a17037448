/* A second opinion on the protocol check: visits every state that any schedule of a small Plan can reach, one step or
 * one arriving copy at a time, with what the hardware does and no more: mbarriers whose waits see one parity bit, bytes
 * that arrive whenever they like. No clocks, no knowledge of turns, and no reduction but that loop ends, which nobody
 * else can see, are no steps of their own. A fault is what would go wrong for real: a stage read without its bytes,
 * overwritten while it is read, a schedule that stops.
 */
#ifndef TW_TESTS_UNIT_PROTOCOL_NAIVE_H
#define TW_TESTS_UNIT_PROTOCOL_NAIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/protocol.h"

enum {
    NAIVE_THREADS = 10,
    NAIVE_RINGS = 2,
    NAIVE_STAGES = 4,
    NAIVE_TENSORS = 2,
    NAIVE_BLOCKS = 2,
    NAIVE_DEPTH = 3,
    NAIVE_STATES = 700000
};

struct naive_touch {
    int8_t read, read_group, copy, copy_group, written, stored, store_group;
    bool read_over, copy_over, fenced, store_over;
};

struct naive_thread {
    uint8_t step, depth, tile, begin[NAIVE_DEPTH], left[NAIVE_DEPTH];
    bool done, at_barrier, turn;
    int8_t mma_groups, copy_groups, stores;
    struct {
        int8_t filled, read, released, stored, filled_here;
        uint8_t filling, reading;
        struct naive_touch touch[NAIVE_STAGES];
    } ring[NAIVE_RINGS];
};

struct naive_state {
    struct naive_thread thread[NAIVE_THREADS];
    struct {
        bool phase;
        int8_t pending;
        int32_t bytes;
    } barrier[NAIVE_RINGS][NAIVE_BLOCKS][NAIVE_STAGES][2];
    struct { /* part of a tile that one block's copy brings */
        int8_t index;
        bool flying;
    } part[NAIVE_RINGS][NAIVE_BLOCKS][NAIVE_STAGES][NAIVE_TENSORS][NAIVE_BLOCKS];
    struct {
        int8_t arrived;
        bool turn;
    } meeting[2][NAIVE_BLOCKS][NAIVE_THREADS];
};

struct naive {
    const struct plan *p;
    const struct protocol_trips *trips;
    struct protocol_cluster cluster;
    int threads;
    struct {
        int role, instance, lane, block, elected[NAIVE_RINGS];
        unsigned fills[NAIVE_RINGS], reads[NAIVE_RINGS];
    } who[NAIVE_THREADS];
    const char *fault;
    uint64_t *seen;
    size_t states;
};

static inline bool naive_fault(struct naive *n, const char *what)
{
    n->fault = n->fault ? n->fault : what;
    return false;
}

static inline void naive_settle(struct naive *n, struct naive_state *s, int g, int block, int stage, int side)
{
    const struct plan_ring *ring = &n->p->ring[g];
    if (s->barrier[g][block][stage][side].pending == 0 && s->barrier[g][block][stage][side].bytes == 0) {
        s->barrier[g][block][stage][side].phase = !s->barrier[g][block][stage][side].phase;
        s->barrier[g][block][stage][side].pending = (int8_t)(side ? ring->empty_arrivals : ring->full_arrivals);
    }
}

static inline bool naive_arrive(struct naive *n, struct naive_state *s, int g, int block, int stage, int side,
                                int arrivals, int bytes)
{
    bool alive = false;
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

/* Some reader in the block has not finished with stage index `before`. */
static inline bool naive_is_read(const struct naive *n, const struct naive_state *s, int g, int block, int before)
{
    for (int t = 0; t < n->threads && before >= 0; t++) {
        if (n->who[t].block != block || !n->who[t].reads[g])
            continue;
        const struct naive_touch *u = &s->thread[t].ring[g].touch[before % n->p->ring[g].stages];
        if (s->thread[t].ring[g].read <= before || (u->read == before && !u->read_over))
            return true;
    }
    return false;
}

static inline int naive_tile_stages(const struct naive *n, const struct naive_state *s, int t, int g)
{
    const struct plan_role *r = &n->p->role[n->who[t].role];
    int trips = 1, stack[8], depth = 0, reads = 0;
    for (int i = 0; i < r->step_count; i++) {
        const struct plan_step *e = &r->step[i];
        if (e->op == PLAN_LOOP) {
            stack[depth++] = trips;
            if (e->count > 0 || strcmp(e->call, "tiles") != 0)
                trips *= protocol_trip(n->p, n->trips, n->who[t].role, i, s->thread[t].tile);
        } else if (e->op == PLAN_END) {
            trips = stack[--depth];
        } else if (e->op == PLAN_READ && e->ring == g) {
            reads += trips;
        }
    }
    return reads / __builtin_popcount(n->who[t].reads[g]);
}

/* One step of thread t in s. False where it cannot move, or after a fault. */
static inline bool naive_step(struct naive *n, struct naive_state *s, int t)
{
    const struct plan_role *role = &n->p->role[n->who[t].role];
    struct naive_thread *q = &s->thread[t];
    const struct plan_step *e = &role->step[q->step];
    int g = e->ring, block = n->who[t].block, next = q->step + 1;
    bool bulk = g >= 0 && n->p->ring[g].filler == PLAN_FILL_BULK, first = n->who[t].lane == 0;
    int S = g >= 0 ? n->p->ring[g].stages : 1;
    int slot = e->op == PLAN_FILL || e->op == PLAN_READ ? protocol_slot(n->p, e) : 0;
    switch (e->op) {
    case PLAN_LOOP: {
        int trips = protocol_trip(n->p, n->trips, n->who[t].role, q->step, q->tile);
        if (trips == 0) {
            next = protocol_loop_end(role, q->step) + 1;
        } else {
            q->begin[q->depth] = q->step;
            q->left[q->depth++] = (uint8_t)trips;
        }
        break;
    }
    case PLAN_END: {
        const struct plan_step *b = &role->step[q->begin[q->depth - 1]];
        if (b->count == 0 && strcmp(b->call, "tiles") == 0) {
            q->tile++;
            for (int i = 0; i < NAIVE_RINGS; i++)
                q->ring[i].filled_here = 0;
        }
        if (--q->left[q->depth - 1] > 0)
            next = q->begin[q->depth - 1] + 1;
        else
            q->begin[--q->depth] = 0;
        break;
    }
    case PLAN_WAIT_EMPTY:
    case PLAN_WAIT_FULL: {
        bool full = e->op == PLAN_WAIT_FULL;
        if (full ? !n->who[t].reads[g] : !first)
            break;
        int i = full ? q->ring[g].read : q->ring[g].filled;
        if (s->barrier[g][block][i % S][!full].phase == ((i / S + e->phase) & 1))
            return false;
        break;
    }
    case PLAN_DRAIN:
        for (int i = q->ring[g].filled > S ? q->ring[g].filled - S : 0; first && i < q->ring[g].filled; i++)
            if (s->barrier[g][block][i % S][1].phase == ((i / S) & 1))
                return false;
        break;
    case PLAN_EXPECT:
        if (first && !naive_arrive(n, s, g, block, q->ring[g].filled % S, 0, 1, e->count))
            return false;
        break;
    case PLAN_FILL: {
        int i = q->ring[g].filled, stage = i % S;
        if (bulk && !first)
            break;
        if (!bulk && n->who[t].reads[g] && q->ring[g].filled_here >= naive_tile_stages(n, s, t, g))
            break;
        unsigned to = bulk ? protocol_sharing(&n->cluster, e->tensor, block) : 1u << block;
        for (int b = 0; b < n->cluster.blocks; b++) {
            if (!(to >> b & 1))
                continue;
            if (naive_is_read(n, s, g, b, i - S))
                return naive_fault(n, "overwritten while read");
            if (bulk && s->part[g][b][stage][slot][block].flying)
                return naive_fault(n, "two copies in flight to one place");
            s->part[g][b][stage][slot][block].index = (int8_t)i;
            s->part[g][b][stage][slot][block].flying = bulk;
        }
        if (!bulk) {
            struct naive_touch *u = &q->ring[g].touch[stage];
            bool in_flight = u->copy == i && !u->copy_over;
            u->copy = (int8_t)i;
            u->copy_group = q->copy_groups;
            u->copy_over = n->p->tensor[e->tensor].access == PLAN_ACCESS_GLOBAL && !in_flight;
        }
        q->ring[g].filling |= (uint8_t)(1u << slot);
        if (q->ring[g].filling == n->who[t].fills[g]) {
            q->ring[g].filling = 0;
            q->ring[g].filled++;
            q->ring[g].filled_here++;
        }
        break;
    }
    case PLAN_READ: {
        if (!n->who[t].reads[g])
            break;
        int i = q->ring[g].read, stage = i % S;
        for (int o = 0; o < n->threads; o++) {
            const struct naive_touch *u = &s->thread[o].ring[g].touch[stage];
            if (!bulk && n->who[o].block == block && n->who[o].fills[g] &&
                (s->thread[o].ring[g].filled <= i || u->copy != i || !u->copy_over))
                return naive_fault(n, "read before the copies are there");
        }
        unsigned from = bulk ? protocol_sharing(&n->cluster, e->tensor, block) : 0;
        for (int b = 0; b < n->cluster.blocks; b++)
            if (from >> b & 1 &&
                (s->part[g][block][stage][slot][b].index != i || s->part[g][block][stage][slot][b].flying))
                return naive_fault(n, "read without its bytes");
        struct naive_touch *u = &q->ring[g].touch[stage];
        u->read_group = u->read == i && u->read_group >= 0 ? u->read_group : -1;
        u->read = (int8_t)i;
        u->read_group = e->count ? q->mma_groups : u->read_group;
        u->read_over = u->read_group < 0;
        q->ring[g].reading |= (uint8_t)(1u << slot);
        if (q->ring[g].reading == n->who[t].reads[g]) {
            q->ring[g].reading = 0;
            q->ring[g].read++;
        }
        break;
    }
    case PLAN_MMA_COMMIT:
        q->mma_groups = (int8_t)(q->mma_groups + first);
        break;
    case PLAN_MMA_WAIT:
    case PLAN_CP_WAIT:
    case PLAN_STORE_WAIT:
        for (int r = 0; r < n->p->ring_count; r++)
            for (int i = 0; i < NAIVE_STAGES; i++) {
                struct naive_touch *u = &q->ring[r].touch[i];
                u->read_over |= e->op == PLAN_MMA_WAIT && u->read_group < q->mma_groups - e->count;
                u->copy_over |= e->op == PLAN_CP_WAIT && u->copy_group < q->copy_groups - e->count;
                u->store_over |= e->op == PLAN_STORE_WAIT && u->store_group < q->stores - e->count;
            }
        break;
    case PLAN_RELEASE:
        while (first && q->ring[g].read - q->ring[g].released > e->count) {
            int i = q->ring[g].released;
            for (int b = 0; b < n->cluster.blocks; b++)
                if (protocol_neighbours(n->p, &n->cluster, g, block) >> b & 1 &&
                    !naive_arrive(n, s, g, b, i % S, 1, protocol_arrivals(e), 0))
                    return false;
            q->ring[g].released++;
        }
        break;
    case PLAN_CP_COMMIT:
        q->copy_groups++;
        break;
    case PLAN_BARRIER: {
        int where = protocol_barrier_is_private(n->p, e->count) ? n->who[t].instance : 0, expected = 0;
        for (int o = 0; o < n->threads; o++)
            for (int i = 0; i < n->p->role[n->who[o].role].step_count; i++)
                if (n->p->role[n->who[o].role].step[i].op == PLAN_BARRIER &&
                    n->p->role[n->who[o].role].step[i].count == e->count && n->who[o].block == block &&
                    (!protocol_barrier_is_private(n->p, e->count) || n->who[o].instance == where)) {
                    expected++;
                    break;
                }
        if (!q->at_barrier) {
            q->at_barrier = true;
            q->turn = s->meeting[e->count][block][where].turn;
            if (++s->meeting[e->count][block][where].arrived == expected) {
                s->meeting[e->count][block][where].arrived = 0;
                s->meeting[e->count][block][where].turn = !q->turn;
            }
            return true;
        }
        if (s->meeting[e->count][block][where].turn == q->turn)
            return false;
        q->at_barrier = q->turn = false;
        break;
    }
    case PLAN_WRITE: {
        int i = q->ring[g].stored, stage = i % S, lead = n->who[t].elected[g];
        const struct naive_touch *u = &s->thread[lead].ring[g].touch[stage];
        if (i >= S && (s->thread[lead].ring[g].stored <= i - S || u->stored != i - S || !u->store_over))
            return naive_fault(n, "buffer written while a store reads it");
        q->ring[g].touch[stage].written = (int8_t)i;
        q->ring[g].touch[stage].fenced = false;
        break;
    }
    case PLAN_FENCE_ASYNC:
        for (int r = 0; r < n->p->ring_count; r++)
            for (int i = 0; i < NAIVE_STAGES; i++)
                q->ring[r].touch[i].fenced = true;
        break;
    case PLAN_STORE: {
        int i = q->ring[g].stored, stage = i % S;
        for (int o = 0; o < n->threads && n->who[t].elected[g] == t; o++)
            if (n->who[o].role == n->who[t].role && n->who[o].block == block && n->who[o].elected[g] == t &&
                (s->thread[o].ring[g].touch[stage].written != i || !s->thread[o].ring[g].touch[stage].fenced))
                return naive_fault(n, "store of what is not written and fenced");
        if (n->who[t].elected[g] == t) {
            q->ring[g].touch[stage].stored = (int8_t)i;
            q->ring[g].touch[stage].store_group = q->stores++;
            q->ring[g].touch[stage].store_over = false;
        }
        q->ring[g].stored++;
        break;
    }
    case PLAN_GLOBAL:
    case PLAN_OP_COUNT:
        break;
    default:
        return naive_fault(n, "a step that is not explored");
    }
    q->step = (uint8_t)next;
    if (next >= role->step_count) {
        q->done = true;
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
            if (refilled && first && q->ring[r].read > q->ring[r].released)
                return naive_fault(n, "ends with stages unreleased");
        }
    }
    return !n->fault;
}

static inline bool naive_step_and_loops(struct naive *n, struct naive_state *s, int t)
{
    if (!naive_step(n, s, t))
        return false;
    while (!s->thread[t].done && !n->fault) {
        enum plan_op op = n->p->role[n->who[t].role].step[s->thread[t].step].op;
        if ((op != PLAN_LOOP && op != PLAN_END && op != PLAN_GLOBAL) || !naive_step(n, s, t))
            break;
    }
    return !n->fault;
}

/* 64 bits of a state; small Plans have less than 2^20 states, so that two fall together is one chance in a million. */
static inline bool naive_is_new(struct naive *n, const struct naive_state *s)
{
    uint64_t hash = 1469598103934665603u, word;
    for (size_t i = 0; i + 8 <= sizeof *s; i += 8) {
        memcpy(&word, (const char *)s + i, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    hash |= 1;
    size_t at = (size_t)(hash >> 10) & (((size_t)1 << 20) - 1);
    while (n->seen[at] && n->seen[at] != hash)
        at = (at + 1) & (((size_t)1 << 20) - 1);
    if (n->seen[at])
        return false;
    n->seen[at] = hash;
    n->states++;
    return true;
}

/* What goes wrong in some schedule, or NULL. *states receives how many were visited. */
static inline const char *naive_explore(const struct plan *p, const struct protocol_trips *trips, size_t *states)
{
    struct naive n = {.p = p, .trips = trips, .cluster = protocol_cluster(p), .seen = calloc((size_t)1 << 20, 8)};
    static struct naive_state start;
    memset(&start, 0, sizeof start);
    for (int block = 0; block < n.cluster.blocks; block++)
        for (int r = 0; r < p->role_count; r++)
            for (int i = 0; i < p->role[r].instances; i++)
                for (int lane = 0; lane < protocol_lanes(p, r); lane++) {
                    int t = n.threads++;
                    assert_true(n.threads <= NAIVE_THREADS);
                    n.who[t].role = r;
                    n.who[t].instance = i;
                    n.who[t].lane = lane;
                    n.who[t].block = block;
                    for (int g = 0; g < p->ring_count; g++) {
                        bool one = lane > 0 && p->ring[g].filler == PLAN_FILL_BULK;
                        n.who[t].fills[g] = one ? 0 : protocol_own_tensors(p, &p->role[r], PLAN_FILL, g);
                        n.who[t].reads[g] = one && protocol_reads_as_one(&p->role[r], g)
                                                ? 0
                                                : protocol_own_tensors(p, &p->role[r], PLAN_READ, g);
                        n.who[t].elected[g] = t - lane;
                        if (protocol_has(&p->role[r], PLAN_STORE, g, -1) && !protocol_buffers_are_private(p, r, g))
                            n.who[t].elected[g] -= i * protocol_lanes(p, r);
                        for (int k = 0; k < NAIVE_STAGES; k++)
                            start.thread[t].ring[g].touch[k] =
                                (struct naive_touch){-1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0};
                    }
                }
    for (int g = 0; g < p->ring_count; g++)
        for (int b = 0; b < NAIVE_BLOCKS; b++)
            for (int k = 0; k < NAIVE_STAGES; k++) {
                start.barrier[g][b][k][0].pending = (int8_t)p->ring[g].full_arrivals;
                start.barrier[g][b][k][1].pending = (int8_t)p->ring[g].empty_arrivals;
                for (int i = 0; i < NAIVE_TENSORS * NAIVE_BLOCKS; i++)
                    start.part[g][b][k][i / NAIVE_BLOCKS][i % NAIVE_BLOCKS].index = -1;
            }
    size_t room = 1024, count = 0;
    struct naive_state *stack = malloc(room * sizeof *stack), s, to;
    memset(&to, 0, sizeof to);
    stack[count++] = start;
    naive_is_new(&n, &start);
    while (count > 0 && !n.fault) {
        assert_true(n.states < NAIVE_STATES);
        memcpy(&s, &stack[--count], sizeof s);
        bool moved = false, done = true;
        if (count + 64 > room)
            stack = realloc(stack, (room *= 2) * sizeof *stack);
        for (int t = 0; t < n.threads && !n.fault; t++) {
            done &= s.thread[t].done;
            if (s.thread[t].done)
                continue;
            memcpy(&to, &s, sizeof s);
            if (!naive_step_and_loops(&n, &to, t))
                continue;
            moved = true;
            if (naive_is_new(&n, &to))
                memcpy(&stack[count++], &to, sizeof to);
        }
        for (int i = 0; i < NAIVE_RINGS * NAIVE_BLOCKS * NAIVE_STAGES * NAIVE_TENSORS * NAIVE_BLOCKS && !n.fault; i++) {
            int source = i % 2, slot = i / 2 % 2, stage = i / 4 % 4, block = i / 16 % 2, g = i / 32;
            if (g >= p->ring_count || !s.part[g][block][stage][slot][source].flying)
                continue;
            memcpy(&to, &s, sizeof s);
            const struct plan_tensor *tensor = &p->tensor[p->ring[g].tensor[slot]];
            to.part[g][block][stage][slot][source].flying = false;
            int bytes = 0; /* as the FILL says, not as it should */
            for (int r = 0; r < p->role_count; r++)
                for (int k = 0; k < p->role[r].step_count; k++)
                    if (p->role[r].step[k].op == PLAN_FILL && p->role[r].step[k].ring == g &&
                        &p->tensor[p->role[r].step[k].tensor] == tensor)
                        bytes = p->role[r].step[k].count;
            to.barrier[g][block][stage][0].bytes -= bytes;
            naive_settle(&n, &to, g, block, stage, 0);
            moved = true;
            if (naive_is_new(&n, &to))
                memcpy(&stack[count++], &to, sizeof to);
        }
        if (!moved && !done)
            naive_fault(&n, "deadlock");
        for (int t = 0; t < n.threads && !moved && done; t++)
            for (int o = 0; o < n.threads; o++)
                for (int g = 0; g < p->ring_count; g++)
                    if (p->ring[g].filler == PLAN_FILL_BULK && n.who[t].block == n.who[o].block && n.who[t].lane == 0 &&
                        n.who[t].fills[g] && n.who[o].reads[g] &&
                        s.thread[t].ring[g].filled != s.thread[o].ring[g].read)
                        naive_fault(&n, "stages filled that nobody reads");
    }
    free(stack);
    free(n.seen);
    *states = n.states;
    return n.fault;
}

#endif
