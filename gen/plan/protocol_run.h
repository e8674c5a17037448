/* The exploration's state, shared by protocol_run.c (set-up, schedule, end) and protocol_steps.c,
 * protocol_rings.c and protocol_places.c (what a step does). */
#ifndef TW_GEN_PLAN_PROTOCOL_RUN_H
#define TW_GEN_PLAN_PROTOCOL_RUN_H

#include "plan/protocol.h"

typedef uint16_t tick; /* a component of a clock */
enum { TICKS = 65000, NEVER = 0, STEPS = 20000000 };

/* What one thread did with one stage of a ring. Turn t of stage s is the (t * stages + s)-th stage. */
struct touch {
    int taken_index; /* newest stage index taken here, -1: none */
    tick taken;
    int read_index; /* newest read */
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

/* A thread's counters of one ring. */
struct progress {
    int filled, taken, stored; /* stages so far; skipped ones are taken */
    int holds, released;       /* stages that were taken and not skipped, and those of them that were released */
    int *order;                /* index of the n-th of them, at n % stages */
    int filled_here, takes_here; /* in this turn of the loop around its steps; of cp_async rings */
    int scope;                 /* that loop's LOOP, -1: none */
    const int *stop;           /* by step: the first LOOP, WHEN, END or step that takes a stage from there on; where
                                  takes_here is counted, else NULL */
    unsigned filling, reading; /* tensors of the stage in hand that are done */
    unsigned fills, reads;     /* tensors that this role fills or reads at all */
    bool takes;                /* by TAKE, of a cp_async ring */
    bool skips;                /* another instance takes some of the stages */
    bool unfenced;             /* threads read a stage themselves, and no FENCE_ASYNC followed */
    bool in_flight;            /* a group that is not known to be over may read a stage */
    bool written;              /* since the last FENCE_ASYNC */
    int elected;               /* the thread that stores for this one */
    struct touch *touch;       /* by stage */
};

/* A thread's part in a place. Registers: those of its executor's first thread stand for all. */
struct held {
    int write_group, read_group; /* groups of matrix instructions that write and read the place, -1: none unfinished */
    int shape;                   /* of the instructions of write_group */
    bool touched;                /* since the last MMA_FENCE */
    bool loose;                  /* since the last asynchronous MMA that uses the place */
    int writes, reads;           /* SCRATCH_WRITE and SCRATCH_READ steps so far */
    tick written, fenced, read, read_over;
};

struct thread {
    int number; /* in run.thread */
    const struct plan_step *program;
    int role, instance, lane, lanes, block;
    struct protocol_flow flow;
    int steps;        /* of the program */
    const int *busy;  /* by step: the first from there on at which the thread does something in a turn of its own */
    bool at_barrier, done;
    int barrier_turn;
    int mma_groups, copy_groups, stores; /* closed so far */
    tick *clock;
    struct progress *ring;
    struct held *place;
    struct { /* newest bytes or arrival sent to another block's barrier, by block */
        tick at;
        int step, stage;
    } sent[PROTOCOL_MAX_BLOCKS];
    /* By plan.loop: turns of the loops over that variable since it was declared, where the body around them began. */
    int turned[PROTOCOL_MAX_VARIABLES];
    const bool *resets; /* by step: the body that begins there has such loops */
    const int *loop;    /* by step: the first LOOP from there on, or the number of steps */
};

struct mbarrier {
    int arrivals; /* of a turn */
    int pending;
    int64_t bytes;  /* still to come in this turn */
    int completed;  /* turns */
    int content;    /* full: index of the stage that was copied last */
    int component;  /* in the clocks */
    tick *before;   /* what happened before the newest completion */
    tick *gathered; /* and before the next one, as far as it goes */
    int *waited;    /* by thread: newest turn that it waited for, -1: none */
    tick *waited_at;
};

struct meeting { /* a named barrier of one block, or of one instance */
    int expected, arrived, turn;
    int component; /* in the clocks: turns that are complete */
    int *came;     /* by thread: turns in which it arrived, the newest of them + 1 */
    tick *gathered, *before;
};

struct run {
    const struct plan *p;
    const struct protocol_code *code;
    const struct protocol_trips *trips;
    struct diag_set *diags;
    struct protocol_cluster cluster;
    int thread_count, width;
    struct thread *thread;
    int *first_barrier;       /* by ring: index of stage 0's full barrier in block 0 */
    int *sets;                /* by ring: protocol_stage_sets */
    struct mbarrier *barrier; /* by ring, block, stage, side */
    int barrier_count;
    struct meeting *meeting; /* by named barrier, block, instance */
    bool *alone;             /* by named barrier: each instance meets alone */
    int most_instances;
    unsigned neighbours[16][PROTOCOL_MAX_BLOCKS];
    int steps;               /* of all threads */
    char *block;               /* all that is pointed to: what steps change, then what they do not */
    size_t bytes;              /* of the first */
    char *memory, *memory_end; /* the part of it that is not handed out yet */
    bool failed;
};

/* ---- clocks ---------------------------------------------------------------------------------------------------- */

/* Widths of clocks are multiples of this, so that compilers make vector instructions of what follows. */
enum { CLOCK_UNIT = 16 };

static inline void join(tick *restrict to, const tick *restrict from, int width)
{
    for (int i = 0; i < width; i += CLOCK_UNIT)
        for (int k = 0; k < CLOCK_UNIT; k++)
            to[i + k] = to[i + k] > from[i + k] ? to[i + k] : from[i + k];
}

static inline tick now(const struct thread *t)
{
    return t->clock[t->number];
}

/* `t` knows that `other` got to that tick. */
static inline bool knows(const struct thread *t, const struct thread *other, tick at)
{
    return t->clock[other->number] >= at;
}

/* ---- faults ---------------------------------------------------------------------------------------------------- */

#define FAULT(x, t, stage, rule, ...)                                                                                  \
    ((x)->failed = true, protocol_fault((x)->p, (x)->diags, (t)->role, stage, (t)->flow.step, rule, __VA_ARGS__))

static inline const struct plan_step *step_of(const struct thread *t)
{
    return &t->program[t->flow.step];
}

static inline const char *role_name(const struct run *x, const struct thread *t)
{
    return x->p->role[t->role].name;
}

enum side { FULL, EMPTY };

/* That of t's instance where each has its own. */
static inline struct mbarrier *barrier_of(struct run *x, const struct thread *t, int ring, int block, int stage,
                                          enum side side)
{
    int sets = x->sets[ring], set = sets > 1 ? t->instance : 0, stages = x->p->ring[ring].stages;
    return &x->barrier[x->first_barrier[ring] + ((block * sets + set) * stages + stage) * 2 + (int)side];
}

/* Threads of the executor that t is of, itself included, stand side by side from here. */
static inline struct thread *first_lane(const struct run *x, const struct thread *t)
{
    return &x->thread[t->number - t->lane];
}

/* Notes one more tensor of the stage in hand; true where it was the last of `all`. */
static inline bool advance(unsigned *mask, unsigned all, int slot)
{
    *mask |= 1u << slot;
    if (*mask != all)
        return false;
    *mask = 0;
    return true;
}

/* The thread does nothing at the step, but in another instance's turn. */
bool protocol_is_idle(const struct run *x, const struct thread *t, const struct plan_step *s);

/* Makes t's steps up to the end of its program, one at which it must wait, or a fault (x->failed). False: it made none.
 */
bool protocol_go(struct run *x, struct thread *t);

/* ---- mbarriers and the rings that they carry (protocol_rings.c) ------------------------------------------------- */

bool protocol_pass(struct run *x, struct thread *t, enum side side);  /* WAIT_FULL, WAIT_EMPTY; false: waits */
bool protocol_drain(struct run *x, struct thread *t);                 /* DRAIN; false: waits */
void protocol_expect(struct run *x, struct thread *t);
void protocol_fill_bulk(struct run *x, struct thread *t);
void protocol_fill_own(struct run *x, struct thread *t);
/* What comes into the buffer that t's WRITE of index `index` is for is there, and t's to write over; false: a fault. */
bool protocol_source_is_here(struct run *x, struct thread *t, int index);
void protocol_write_stage(struct run *x, struct thread *t);           /* WRITE of an arrive ring */
void protocol_arrive_full(struct run *x, struct thread *t);           /* ARRIVE */
void protocol_take(struct run *x, struct thread *t);                  /* TAKE, of cp_async rings */
void protocol_skip(struct thread *t);
void protocol_read_stage(struct run *x, struct thread *t);            /* READ of any ring */
void protocol_release(struct run *x, struct thread *t);

/* Every reader of the ring in that block is through with what lay in the stage before `index`, and t knows it. */
bool protocol_readers_are_through(struct run *x, struct thread *t, int ring, int block, int index);
/* All threads' copies of the stage that t's READ is of have landed, and t knows it. */
bool protocol_copies_are_here(struct run *x, struct thread *t, int index);

/* ---- places (protocol_places.c) ---------------------------------------------------------------------------------- */

void protocol_touch(struct run *x, struct thread *t);
bool protocol_hold_late(struct run *x, struct thread *t); /* of a late place; false: a fault */
void protocol_mma(struct run *x, struct thread *t);
void protocol_mma_fence(struct run *x, struct thread *t);
void protocol_write_scratch(struct run *x, struct thread *t);
void protocol_read_scratch(struct run *x, struct thread *t);
void protocol_fence_places(struct run *x, struct thread *t);          /* FENCE_ASYNC */
void protocol_finish_places(struct run *x, struct thread *t, int groups); /* the first `groups` groups are over */
void protocol_check_places_end(struct run *x, struct thread *t);

/* A filler waits on the ring's empty barriers in some role: its stages are used again. */
bool protocol_is_refilled(const struct plan *p, int ring);

/* Where t counts the turns of the loop that a LOOP or RELEASE step names; NULL where it names none. */
int *protocol_turned(struct thread *t, const struct plan_step *s);

#endif
