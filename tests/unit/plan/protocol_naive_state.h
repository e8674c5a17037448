/* The state that protocol_naive.h walks through: a small Plan's threads, barriers and stages. */
#ifndef TW_TESTS_UNIT_PROTOCOL_NAIVE_STATE_H
#define TW_TESTS_UNIT_PROTOCOL_NAIVE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/protocol.h"

enum {
    NAIVE_THREADS = 12,
    NAIVE_RINGS = 3,
    NAIVE_STAGES = 4,
    NAIVE_TENSORS = 2,
    NAIVE_BLOCKS = 2,
    NAIVE_DEPTH = 5,
    NAIVE_PLACES = 4,
    NAIVE_BARRIERS = 3,
    NAIVE_INSTANCES = 4,
    NAIVE_TABLE = 1 << 14, /* at first */
    NAIVE_STATES = 700000
};

struct naive_touch {
    int8_t read, read_group, copy, copy_group, written, stored, store_group;
    bool read_over, copy_over, fenced, store_over;
};

struct naive_place {
    int8_t write_group, shape, read_group, writes, reads;
    bool touched, fenced;
    int8_t packed, held, all; /* chunks of a late place; all: that were held at first */
};

struct naive_thread {
    uint8_t step, depth, next, begin[NAIVE_DEPTH];
    int8_t turn[NAIVE_DEPTH], end[NAIVE_DEPTH];
    bool done;
    uint8_t at_barrier; /* 1: waits, 2: may go on */
    int8_t mma_groups, copy_groups, stores;
    struct {
        int8_t filled, taken, holds, released, stored, filled_here, order[NAIVE_STAGES];
        uint8_t filling, reading;
        struct naive_touch touch[NAIVE_STAGES];
    } ring[NAIVE_RINGS];
    struct naive_place place[NAIVE_PLACES];
};

struct naive_state {
    struct {
        int32_t bytes;
        int8_t pending, turns; /* turns: only where strict */
        bool phase;
    } barrier[NAIVE_RINGS][NAIVE_BLOCKS][NAIVE_STAGES][2];
    struct { /* part of a tile that one block's copy brings */
        int8_t index;
        bool flying;
        uint8_t role, step; /* the FILL */
    } part[NAIVE_RINGS][NAIVE_BLOCKS][NAIVE_STAGES][NAIVE_TENSORS][NAIVE_BLOCKS];
    uint16_t arrived[NAIVE_BARRIERS][NAIVE_BLOCKS][NAIVE_INSTANCES]; /* threads, in the barrier's turn */
    struct naive_thread thread[NAIVE_THREADS];
};

struct naive {
    const struct plan *p;
    const struct protocol_trips *trips;
    struct protocol_code code;
    struct protocol_cluster cluster;
    int threads;
    struct {
        int role, instance, lane, lanes, block, elected[NAIVE_RINGS], scope[NAIVE_RINGS];
        unsigned fills[NAIVE_RINGS], reads[NAIVE_RINGS];
        bool takes[NAIVE_RINGS], skips[NAIVE_RINGS];
    } who[NAIVE_THREADS];
    bool strict; /* an arrival that counts for another turn than its stage's is a fault, harm or not */
    size_t used; /* bytes of a state */
    size_t most; /* states */
    const char *fault;
    uint64_t *seen; /* hashes of states, in a table of `room`, a power of two; 0: free */
    size_t states, room;
};

/* The step that thread t, q of the state, stands at; it makes that LOOP, WHEN or END; whether the turn it is in is
 * another instance's; and the stages of a cp.async ring that its role reads in this turn of the loop around its FILLs
 * and READs (protocol_naive_loops.c). */
const struct plan_step *naive_step_of(const struct naive *n, const struct naive_thread *q, int t);
void naive_loop(const struct naive *n, struct naive_thread *q, int t);
bool naive_is_foreign(const struct naive *n, const struct naive_thread *q, int t);
int naive_reads_here(const struct naive *n, const struct naive_thread *at, int t, int g);

/* What comes into buffers that are stored, by an OWN ring: whether no store reads the buffer of its index i any more;
 * and of the THREADS ring's buffer of that index whether it is there, for t to write over (protocol_naive_seen.c). */
bool naive_buffer_is_free(const struct naive *n, const struct naive_state *s, int t, int ring, int i);
bool naive_writes_over(const struct naive *n, struct naive_state *s, int t, int ring, int i);

/* Whether nothing that was asked about before is like this state (protocol_naive_seen.c). */
bool naive_is_new(struct naive *n, const struct naive_state *s);

#endif
