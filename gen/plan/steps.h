/* What the roles of a Plan do, step by step, and where it happens: the program's order, which the protocol check proves
 * and the text is emitted from. plan.h includes it. */
#ifndef TW_GEN_PLAN_STEPS_H
#define TW_GEN_PLAN_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype.h"
#include "spec/diag.h"
#include "spec/spec.h"

/* ---- roles and their order ------------------------------------------------------------------------------------- */

/* What a role does, in the order of its program. Semantics for the protocol check (plan/protocol.c):
 * i is the number of stages of `ring` that this role has taken so far; its stage is i % stages. */
enum plan_op {
#define PLAN_OP(id, name, doc) PLAN_##id,
#include "plan/plan_ops.def"
#undef PLAN_OP
    PLAN_OP_COUNT
};

/* An INDEX leaf of plan.fused, where a warpgroup or a warp holds fragments: the column of the element, counted from the
 * first of the thread, or by how much its row lies below the thread's first. Both are constants of the unrolled text.
 * WARP: which of the warps along the item's rows it is, one number for all of a thread's elements. */
enum { PLAN_INDEX_COLUMN, PLAN_INDEX_ROW, PLAN_INDEX_WARP };

/* Numbers that a step may lack are one higher in it, so that 0 says "none" and a step need not name what it lacks. */
static inline int plan_some(int number)
{
    return number + 1;
}
static inline int plan_number(int field) /* -1: none */
{
    return field - 1;
}

/* Who fills a ring's stages: see plan_ring. */
enum plan_filler {
    PLAN_FILL_BULK,
    PLAN_FILL_CP_ASYNC,
    PLAN_FILL_THREADS,
    PLAN_FILL_ARRIVE,
    PLAN_FILL_PEERS,
    PLAN_FILL_OWN,
    PLAN_FILL_COUNT
};

enum plan_reduction { PLAN_NO_REDUCTION, PLAN_SUM, PLAN_MAX, PLAN_MIN, PLAN_REDUCTION_COUNT };

/* What a matrix instruction adds to: what is in its accumulator; that, but zero in a loop's first turn; zero. */
enum plan_start { PLAN_FROM_SUM, PLAN_FROM_ZERO_FIRST, PLAN_FROM_ZERO };

/* In `only`: the instance whose turn follows the last that has begun of the loop that shares its turns. */
enum { PLAN_NEXT = -1 };

struct plan_step {
    enum plan_op op;
    int ring;              /* -1 where the step has none */
    int tensor;            /* FILL, READ, WRITE, STORE, GLOBAL: the tensor; else -1 */
    int count;             /* see plan_ops.def */
    int phase;             /* WAIT_FULL, ASK, WAIT_EMPTY: parity that is waited for at i / stages == 0 */
    int arrivals;          /* RELEASE, ARRIVE: of one instance on each barrier, 4 where every warp arrives; 0 is 1 */
    const char *call;      /* block function whose call this is in the emitted text; LOOP, WHEN: the class's name */
    int place, place2;     /* plan_some(index into plan.place); place2: register operand of MMA; of a READ the
                              second of two elements; registers that a SCRATCH_WRITE takes from or a
                              SCRATCH_READ gives to. LOOP, WHEN, WRITE, STORE: late places */
    int to;                /* READ: plan_some(tensor) to whose place `at` a bulk store takes the tile; 0: threads or
                              instructions read it */
    int node;              /* plan_some(node of plan.fused): what the step computes or stores */
    int node2;             /* plan_some(node of plan.fused): of a FILL with a node, the element beside it; 0: none */
    int at[SPEC_MAX_RANK]; /* plan_some(node of plan.fused): coordinates of the tile in its tensor; of an
                              MMA the first row that it takes of its second operand's tile, the same for a warp */
    int back;              /* READ: stages before the one that was taken last */
    int ahead; /* FILL of a cp_async ring: turns of `loop` between it and the one that takes the stage. GLOBAL
                  that loads for a store: chunks of the store between it and the one that takes it; for rows: 1,
                  what `loop` takes first in the item that comes next */
    int least; /* LOOP, WHEN: what the class's number is at least; all steps that name it say the same.
                  MMA: enum plan_start */
    int less;  /* LOOP: trips that are peeled off */
    int most;  /* LOOP: more trips than these are never left for it; 0: not known */
    int block; /* MMA, TOUCH: plan_some(block of an executor's rows) that it is of alone; 0: all blocks. Of columns,
                  where the instruction has blocks_n, and a TOUCH `cols`, of one block */
    int part;  /* LOOP right in one of a count: its trips end behind (that one's trip + 1) / part of all; 0: it takes
                  all. WHEN with a late place: chunks go out within the first 1 / part of the trips; 0: one a trip */
    int share; /* LOOP: instances that take its turns in turn; 0: each instance takes all */
    int only;  /* BARRIER, BARRIER_ARRIVE: plan_some(instance) that alone makes it, or PLAN_NEXT; 0: all */

    /* Roles whose threads hold tiles in a layout. A GLOBAL with a place loads it, one with a node stores that; one
       with both loads what the node, which a store computes, needs of the tensor. */
    int layout; /* plan_some(index into plan.layout): how the threads hold the tile of rows x cols in hand */
    int rows, cols;
    int shift; /* GLOBAL that loads: vectors in memory begin so many elements before the threads' own. TOUCH of
                  windows: the tile begins so many elements within a vector of `window`, and ends in window2 */
    int more;  /* GLOBAL that loads a window: rows of a thread beyond the tile's; see plan_place.more */
    int window, window2; /* TOUCH of windows: plan_some(index into plan.place). Of a step for ranks and segments
                            of rows: window, the place of what is counted, or of the numbers that name columns */
    int skip, skip2;     /* rows of them before the tile's */
    int loop;            /* LOOP: plan_some(index into plan.loop), its variable and range. MMA, RELEASE, FILL: the
                            loop whose turns decide, where least, back or ahead says so */
    int reuse;    /* FILL: 1 where it is left out in an item's first turns, as many as the ring has stages, where the
                     block's item before had the same tile: its last turns left it there. EXPECT: bytes of the stage
                     that do not come then. The loop's turns go round: they begin as many before where those of the
                     item before began. All such rings of a loop have as many stages */
    bool kept;    /* LOOP: the first count turns, as far as they are there, each with tiles of its own; no waits */
    int inside;   /* plan_some(node of plan.fused): elements where it does not hold load 0, are not stored or reduced.
                     LOOP of parts: threads that have no row for which it holds make no trip */
    bool partial; /* `inside` may hold for a part of a vector; of a store `first` and `end` may lie within one */
    int first, end; /* partial GLOBAL that stores: plan_some(node of plan.fused), the columns that are inside. STORE:
                       end, rows of the item's tile from this one on are not written; 0: all are. FILL: end, rows
                       of the tile from this one on arrive as zeros; 0: those outside of the tensor */
    bool adds;      /* GLOBAL that stores: adds to what is there, in any order */
    bool once;      /* GLOBAL: nobody touches the elements again, they need not stay in caches. WRITE: its
                       arithmetic stands once, in a loop of chunks, though it is short */
    enum plan_reduction reduction; /* TOUCH: of node into place, or of the place among the lanes of a warp;
                                      SCRATCH_READ: of what is read */
    bool over_rows;                /* of a reduction: along the layout's rows; else along its columns */
    const char *why;               /* why the step is there, for people; or NULL */
};

/* The ring, or tensor, of a step whose kind has one, else -1: a step without need not say so. (Fences and waits of
 * cp.async and of stores are of all rings, and name one for the reader.) */
int plan_step_ring(const struct plan_step *step);
int plan_step_tensor(const struct plan_step *step);

struct plan_role {
    const char *name;      /* "producer" */
    int instances;         /* identical executors: consumer warpgroups, or warps */
    int first_warp, warps; /* of all instances together */
    int registers;         /* setmaxnreg budget a thread, 0: no setmaxnreg */
    bool one_thread;       /* its first thread makes all steps, the others none */
    int resting;           /* instances, the last ones, that may have no rows of the item that is their last; of its
                              steps they make WAIT_FULL and RELEASE alone, and what is late goes out behind; 0: none */
    struct plan_step *step;
    int step_count;
};

/* The END of the LOOP or WHEN at `step`; step_count where it has none. */
int plan_body_end(const struct plan_role *role, int step);

/* Instances of some role may go past a block's last item (resting). */
struct plan;
bool plan_rests(const struct plan *p);

/* Some FILL is left out where the item before left its tile (reuse). */
bool plan_reuses(const struct plan *p);

/* Steps of that kind for the ring. */
int plan_count_steps(const struct plan_role *role, enum plan_op op, int ring);

/* A named barrier: BARRIER and BARRIER_ARRIVE steps refer to it by `count`. All executors of the roles that meet there
 * have `threads` threads together; or, where one role meets there, each instance has so many and meets alone, at
 * hardware barrier id + instance. With turns one role takes part, instance j waits at barrier id + j until instance
 * j - 1 (for 0 the last) arrives there, and `threads` are those of two instances. */
struct plan_barrier {
    const char *name;
    int id; /* hardware barrier, 1..15; 0 is the block's */
    int threads;
    bool turns;
};

/* ---- places ---------------------------------------------------------------------------------------------------- */

enum plan_place_kind {
#define PLAN_PLACE(id, name, doc) PLAN_PLACE_##id,
#include "plan/plan_places.def"
#undef PLAN_PLACE
    PLAN_PLACE_COUNT
};

/* Where a value of one executor lives: registers of its threads, or shared memory of its own. No two places overlap. */
struct plan_place {
    const char *name; /* "o", "p" */
    enum plan_place_kind kind;
    enum tw_dtype dtype;
    int rows, cols; /* of the tile; ROWS: cols 1; COLUMNS: rows 1 */
    int registers;  /* a thread; 0: shared */
    int bytes;      /* SHARED: of one instance */
    int shared;     /* SHARED: index into plan.shared, which has a part for each instance; else -1 */
    int layout;     /* plan_some(index into plan.layout): how the threads hold it */
    int turns;      /* tiles of so many turns of a loop that are held at once; 0: one */
    bool packed;    /* elements lie as in memory, a vector in whole words */
    bool narrow;    /* whole numbers of 32 bits, computed as such */
    bool block;     /* of an executor's blocks of rows, or of columns, it holds one at a time: of the one that a step
                       names */
    int more;       /* a window on a tensor: each thread has so many rows more, below its own */
};

/* How the threads of an executor hold a tile of rows x cols: thread t has in rows
 *     t / across + i * down,  i < rows / down,    or, where apart is 1,  t / across * (rows / down) + i,
 * the vectors of `vector` neighbouring elements that begin at columns
 *     (t % across + j * across) * vector,  j < cols / (across * vector).
 * A tile of one row is held alike in every row of threads, a tile of one column in every thread of a row. */
struct plan_layout {
    int rows, cols;
    int down, across; /* threads; powers of two, down * across of them in all */
    int vector;       /* elements of one access */
    int apart;        /* rows from one of a thread's to its next: down, or 1 */
    int alike;        /* threads beside each other that hold the same: t / alike stands for t above; 0: one */
};

/* The variable of a loop; LOOP leaves of plan.fused are numbers of these. TILE leaves are numbers of places. */
struct plan_loop {
    const char *name;
    int from, to; /* nodes of plan.fused */
    int step;
    int first;     /* plan_some(node of plan.fused): turns go down from this number; 0: up from `from` */
    int operation; /* plan_some(LOOP of the program that it is of) */
    int parts;     /* blocks that have every so many-th turn of it, and a combine puts together; 0: none */
};

/* Work items of a block: of axis `axis` (of plan.axis) it takes `tile` elements; the last varies fastest. AT leaves of
 * plan.fused are where they begin. */
struct plan_item {
    int axis, tile;
    int extent; /* node of plan.fused: of the axis */
    bool counted; /* extent is how many tiles it has instead */
    int filled; /* plan_some(node of plan.fused): items from there on have nothing to store, as data say,
                   and are not taken; 0: all are. One item of a Plan has it */
    int along;  /* filled: the axis of plan.axis by whose places it is known, which items are walked by;
                   its own: it is asked of each item; -1: it is one for all */
    bool share; /* no items run along it: which of an item's turns are the block's. Of two in turn the
                   first is the number of the first, of at least one; the other how many, of all */
};

#endif
