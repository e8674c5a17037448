/* The exploration's state, shared by protocol_run.c (set-up, schedule, end) and protocol_steps.c (what a step does). */
#ifndef TW_GEN_PLAN_PROTOCOL_RUN_H
#define TW_GEN_PLAN_PROTOCOL_RUN_H

#include "plan/protocol.h"

typedef uint16_t tick; /* a component of a clock */
enum { TICKS = 65000, NEVER = 0 };

/* What one thread did with one stage of a ring. Turn t of stage s is the (t * stages + s)-th stage taken. */
struct touch {
    int read_index; /* newest stage index read here, -1: none */
    int read_group; /* its newest group of asynchronous reads */
    tick read_over; /* when the reads were over; NEVER: they may still run */
    int copy_index; /* newest index copied here by this thread's cp.async */
    int copy_group;
    tick copy_over;
    int write_index; /* newest index written here */
    tick written, fenced;
    int store_index; /* newest index stored from here */
    int store_group;
    tick store_over;
};

/* A thread's counters of one ring: stages taken so far. */
struct progress {
    int filled, read, released, stored;
    int filled_here;           /* in this turn of "tiles" */
    unsigned filling, reading; /* tensors of the stage in hand that are done */
    unsigned fills, reads;     /* tensors that this role fills or reads at all */
    int elected;               /* the thread that stores for this one */
    struct touch *touch;       /* by stage */
};

struct thread {
    int role, instance, lane, block;
    int step, depth, tile;
    struct {
        int begin, left;
    } loop[PROTOCOL_MAX_DEPTH];
    bool at_barrier, done;
    int barrier_turn;
    int mma_groups, copy_groups, stores; /* closed so far */
    tick *clock;
    struct progress *ring;
    struct { /* newest bytes or arrival sent to another block's barrier, by block */
        tick at;
        int step, stage;
    } sent[PROTOCOL_MAX_BLOCKS];
};

struct mbarrier {
    int arrivals; /* of a turn */
    int pending;
    int64_t bytes;  /* still to come in this turn */
    int completed;  /* turns */
    int component;  /* in the clocks */
    tick *before;   /* what happened before the newest completion */
    tick *gathered; /* and before the next one, as far as it goes */
    int *waited;    /* by thread: newest turn that it waited for, -1: none */
    tick *waited_at;
};

struct meeting { /* a named barrier of one block, or of one instance */
    int expected, arrived, turn;
    tick *gathered, *before;
};

struct run {
    const struct plan *p;
    const struct protocol_trips *trips;
    struct diag_set *diags;
    struct protocol_cluster cluster;
    int thread_count, width;
    struct thread *thread;
    int *first_barrier;       /* by ring: index of stage 0's full barrier in block 0 */
    struct mbarrier *barrier; /* by ring, block, stage, side */
    int barrier_count;
    struct meeting *meeting; /* by named barrier, block, instance */
    int most_instances;
    unsigned neighbours[16][PROTOCOL_MAX_BLOCKS];
    char *memory, *memory_end; /* one block, handed out from the front */
    bool failed;
};

/* ---- clocks ---------------------------------------------------------------------------------------------------- */

static inline void join(tick *restrict to, const tick *restrict from, int width)
{
    for (int i = 0; i < width; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

static inline int number(const struct run *x, const struct thread *t)
{
    return (int)(t - x->thread);
}

static inline tick now(const struct run *x, const struct thread *t)
{
    return t->clock[number(x, t)];
}

/* `t` knows that `other` got to that tick. */
static inline bool knows(const struct run *x, const struct thread *t, const struct thread *other, tick at)
{
    return t->clock[number(x, other)] >= at;
}

/* ---- faults ---------------------------------------------------------------------------------------------------- */

#define FAULT(x, t, stage, rule, ...)                                                                                  \
    ((x)->failed = true, protocol_fault((x)->p, (x)->diags, (t)->role, stage, (t)->step, rule, __VA_ARGS__))

static inline const struct plan_step *step_of(const struct run *x, const struct thread *t)
{
    return &x->p->role[t->role].step[t->step];
}

static inline const char *role_name(const struct run *x, const struct thread *t)
{
    return x->p->role[t->role].name;
}

enum side { FULL, EMPTY };

static inline struct mbarrier *barrier_of(struct run *x, int ring, int block, int stage, enum side side)
{
    int stages = x->p->ring[ring].stages;
    return &x->barrier[x->first_barrier[ring] + (block * stages + stage) * 2 + (int)side];
}

/* Makes t's next step. False where it must wait, or after a fault (x->failed). */
bool protocol_step(struct run *x, struct thread *t);

/* A filler waits on the ring's empty barriers in some role: its stages are used again. */
bool protocol_is_refilled(const struct plan *p, int ring);

#endif
