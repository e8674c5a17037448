/* The Plan: one entry point on one architecture, fully decided.
 *
 * Everything after it (templates, host code, the runner, `plan --json`) reads only this. Nothing is decided twice:
 * where a number can be computed from another, plan_finish computes it, and the checks compute it again and compare.
 * Plain data; strings and arrays live in the Plan's arena; symbolic sizes are nodes of `graph`, integers over
 * `symbol` (the spec's dims, then sm_count).
 */
#ifndef TW_GEN_PLAN_PLAN_H
#define TW_GEN_PLAN_PLAN_H

#include "dtype.h"
#include "plan/sink.h"
#include "spec/arena.h"
#include "spec/diag.h"
#include "spec/expr.h"
#include "spec/spec.h"
#include "swizzle.h"

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* A number that the family's templates read by name and no structure below holds: tile.m, schedule.group. */
struct plan_value {
    const char *name; /* dotted: "tile.m" */
    int64_t integer;
    const char *text; /* a word, or NULL: the integer counts */
};

/* Why a field has its value. */
struct plan_reason {
    const char *field, *value, *reason;
};

/* ---- tensors and tensor maps ----------------------------------------------------------------------------------- */

/* How a tensor's elements reach the threads. */
enum plan_access {
    PLAN_ACCESS_TMA,      /* tensor map and bulk tensor copies */
    PLAN_ACCESS_CP_ASYNC, /* 16-byte cp.async */
    PLAN_ACCESS_GLOBAL,   /* plain loads or stores, predicated */
    PLAN_ACCESS_COUNT
};

/* A tile is what a block computes, a box what one TMA instruction moves. Extents stand in memory order, innermost
 * last, as in the spec. */
struct plan_tensor {
    const char *name;
    struct diag_loc loc;           /* in the spec; line 0: unknown */
    enum tw_dtype dtype;
    int rank;
    int dim[SPEC_MAX_RANK];        /* nodes: extents in elements */
    int stride[SPEC_MAX_RANK];     /* nodes: elements; the default where the caller passes 0. Innermost 1 */
    const char *axis[SPEC_MAX_RANK];
    bool out;
    enum plan_access access;
    int tile[SPEC_MAX_RANK];       /* 0: not tiled in this dim */
    int box[SPEC_MAX_RANK];        /* TMA: one instruction's extents, after the multicast split */
    int boxes;                     /* boxes of a tile that lie beside each other along the innermost dim */
    int box_bytes;                 /* bytes between two of them in shared memory: a whole column of the tile */
    int gathered;                  /* plan_some(dim) whose places are row numbers. TMA: the box is one row, and the tile
                                      one box (or row of boxes) for each of its rows. 0: none */
    int multicast;                 /* blocks of the cluster that receive each box; each loads 1/multicast of the tile */
    enum tw_swizzle swizzle;       /* of its tile in shared memory */
    int tile_bytes;                /* of the whole tile in shared memory */
    int align;                     /* bytes: what address, rows and (where `whole_rows`) the inner extent must divide by */
    bool whole_rows;               /* stores of whole 16-byte chunks: the inner extent counts too */
    int map;                       /* index into plan.map, -1: none. Other maps of the tensor are of parts of its box */
};

/* One cuTensorMapEncodeTiled call, innermost dim first as the driver has it. */
struct plan_map {
    const char *name;              /* parameter's name: "A_map" */
    int tensor;
    int rank;
    int box[SPEC_MAX_RANK];
    enum tw_swizzle swizzle;
    int l2_promotion;              /* CUtensorMapL2promotion */
};

/* ---- kernel parameters ----------------------------------------------------------------------------------------- */

enum plan_param_kind {
    PLAN_PARAM_MAP,
    PLAN_PARAM_POINTER,
    PLAN_PARAM_DIM,
    PLAN_PARAM_STRIDE,
    PLAN_PARAM_SCALAR,
    PLAN_PARAM_WORKSPACE /* address of plan.workspace_bytes bytes, 0 before and behind each launch */
};

/* One parameter of the kernel; offset as the CUDA ABI packs them (each aligned to its own alignment). */
struct plan_param {
    enum plan_param_kind kind;
    const char *name;    /* A_map, D, M, D_stride0, alpha */
    const char *type;    /* CUDA text of the type */
    int tensor;          /* MAP, POINTER, STRIDE */
    int index;           /* MAP: of plan.map; DIM: symbol; STRIDE: dim of the tensor; SCALAR: of plan.scalar */
    int offset, bytes, align;
};

/* ---- shared memory, rings, barriers ---------------------------------------------------------------------------- */

/* One region of dynamic shared memory. offset is from a base that is aligned to plan.shared_align. */
struct plan_shared {
    const char *name;    /* "ab.A", "ab.full", "D" */
    int offset, bytes, align;
    int count;           /* stages or buffers in it; each bytes / count */
};

enum plan_filler { PLAN_FILL_BULK, PLAN_FILL_CP_ASYNC, PLAN_FILL_THREADS, PLAN_FILL_ARRIVE, PLAN_FILL_COUNT };

/* Stages that one side fills and another drains.
 * BULK: a full and an empty mbarrier a stage. full completes after full_arrivals arrivals and tx_bytes bytes; empty after
 * empty_arrivals arrivals. CP_ASYNC: commit groups and block barriers. THREADS: buffers that threads write and bulk
 * stores read. ARRIVE: as BULK, but threads of a role write the stage and arrive on full; tx_bytes is 0. A ring without
 * tensors passes values on: a WRITE is of all of them, a READ likewise. */
struct plan_ring {
    const char *name;
    int stages;
    enum plan_filler filler;
    int tensor[8], tensor_count;
    int full_arrivals, tx_bytes, empty_arrivals;
    int full_shared, empty_shared; /* index into plan.shared, -1: none */
};

/* ---- roles and their order ------------------------------------------------------------------------------------- */

/* What a role does, in the order of its program. Semantics for the protocol check (plan/protocol.c):
 * i is the number of stages of `ring` that this role has taken so far; its stage is i % stages. */
enum plan_op {
#define PLAN_OP(id, name, doc) PLAN_##id,
#include "plan/plan_ops.def"
#undef PLAN_OP
    PLAN_OP_COUNT
};

/* Numbers that a step may lack are one higher in it, so that 0 says "none" and a step need not name what it lacks. */
static inline int plan_some(int number)
{
    return number + 1;
}
static inline int plan_number(int field) /* -1: none */
{
    return field - 1;
}

enum plan_reduction { PLAN_NO_REDUCTION, PLAN_SUM, PLAN_MAX, PLAN_MIN, PLAN_REDUCTION_COUNT };

/* What a matrix instruction adds to: what is in its accumulator; that, but zero in a loop's first turn; zero. */
enum plan_start { PLAN_FROM_SUM, PLAN_FROM_ZERO_FIRST, PLAN_FROM_ZERO };

struct plan_step {
    enum plan_op op;
    int ring;          /* -1 where the step has none */
    int tensor;        /* FILL, READ, WRITE, STORE, GLOBAL: the tensor; else -1 */
    int count;         /* see plan_ops.def */
    int phase;         /* WAIT_FULL, WAIT_EMPTY: parity that is waited for at i / stages == 0 */
    int arrivals;      /* RELEASE, ARRIVE: of one instance on each barrier, 4 where every warp arrives; 0 is 1 */
    const char *call;  /* block function whose call this is in the emitted text; LOOP, WHEN: the class's name */
    int place, place2; /* plan_some(index into plan.place); place2: register operand of MMA; registers that a
                          SCRATCH_WRITE takes from or a SCRATCH_READ gives to */
    int node;          /* plan_some(node of plan.fused): what the step computes or stores */
    int at[SPEC_MAX_RANK]; /* plan_some(node of plan.fused): coordinates of the tile in its tensor */
    int back;          /* READ: stages before the one that was taken last */
    int ahead;         /* FILL of a cp_async ring: turns of `loop` between it and the one that takes the stage. GLOBAL
                          that loads for a store: chunks of the store between it and the one that takes it */
    int least;         /* LOOP, WHEN: what the class's number is at least; all steps that name it say the same.
                          MMA: enum plan_start */
    int less;          /* LOOP: trips that are peeled off */
    int most;          /* LOOP: more trips than these are never left for it; 0: not known */
    int share;         /* LOOP: instances that take its turns in turn; 0: each instance takes all */
    int only;          /* BARRIER, BARRIER_ARRIVE: plan_some(instance) that alone makes the step; 0: all */

    /* Roles whose threads hold tiles in a layout. A GLOBAL with a place loads it, one with a node stores that; one
       with both loads what the node, which a store computes, needs of the tensor. */
    int layout;        /* plan_some(index into plan.layout): how the threads hold the tile of rows x cols in hand */
    int rows, cols;
    int shift;         /* GLOBAL that loads: vectors in memory begin so many elements before the threads' own. TOUCH of
                          windows: the tile begins so many elements within a vector of `window`, and ends in window2 */
    int more;          /* GLOBAL that loads a window: rows of a thread beyond the tile's; see plan_place.more */
    int window, window2; /* TOUCH of windows: plan_some(index into plan.place) */
    int skip, skip2;     /* rows of them before the tile's */
    int loop;          /* LOOP: plan_some(index into plan.loop), its variable and range. MMA, RELEASE, FILL: the
                          loop whose turns decide, where least, back or ahead says so */
    bool kept;         /* LOOP: the first count turns, as far as they are there, each with tiles of its own; no waits */
    int inside;        /* plan_some(node of plan.fused): elements where it does not hold load 0, are not stored or reduced */
    bool partial;      /* `inside` may hold for a part of a vector; of a store `first` and `end` may lie within one */
    int first, end;    /* partial GLOBAL that stores: plan_some(node of plan.fused), the columns that are inside. STORE:
                          end, rows of the item's tile from this one on are not written; 0: all are. FILL: end, rows
                          of the tile from this one on arrive as zeros; 0: those outside of the tensor */
    bool adds;         /* GLOBAL that stores: adds to what is there, in any order */
    bool once;         /* GLOBAL: nobody touches the elements again, they need not stay in caches */
    enum plan_reduction reduction; /* TOUCH: of node into place, or of the place among the lanes of a warp; SCRATCH_READ:
                                      of what is read */
    bool over_rows;    /* of a reduction: along the layout's rows; else along its columns */
    const char *why;   /* why the step is there, for people; or NULL */
};

/* The ring, or tensor, of a step whose kind has one, else -1: a step without need not say so. (Fences and waits of
 * cp.async and of stores are of all rings, and name one for the reader.) */
int plan_step_ring(const struct plan_step *step);
int plan_step_tensor(const struct plan_step *step);

struct plan_role {
    const char *name;         /* "producer" */
    int instances;            /* identical executors: consumer warpgroups, or warps */
    int first_warp, warps;    /* of all instances together */
    int registers;            /* setmaxnreg budget a thread, 0: no setmaxnreg */
    bool one_thread;          /* its first thread makes all steps, the others none */
    struct plan_step *step;
    int step_count;
};

/* A named barrier: BARRIER and BARRIER_ARRIVE steps refer to it by `count`. All executors of the roles that meet there
 * have `threads` threads together; or, where one role meets there, each instance has so many and meets alone, at
 * hardware barrier id + instance. With turns one role takes part, instance j waits at barrier id + j until instance j - 1 (for 0
 * the last) arrives there, and `threads` are those of two instances. */
struct plan_barrier {
    const char *name;
    int id;                   /* hardware barrier, 1..15; 0 is the block's */
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
    const char *name;         /* "o", "p" */
    enum plan_place_kind kind;
    enum tw_dtype dtype;
    int rows, cols;           /* of the tile; ROWS: cols 1; COLUMNS: rows 1 */
    int registers;            /* a thread; 0: shared */
    int bytes;                /* SHARED: of one instance */
    int shared;               /* SHARED: index into plan.shared, which has a part for each instance; else -1 */
    int layout;               /* plan_some(index into plan.layout): how the threads hold it */
    int turns;                /* tiles of so many turns of a loop that are held at once; 0: one */
    bool packed;              /* elements lie as in memory, a vector in whole words */
    int more;                 /* a window on a tensor: each thread has so many rows more, below its own */
};

/* How the threads of an executor hold a tile of rows x cols: thread t has in rows
 *     t / across + i * down,  i < rows / down,    or, where apart is 1,  t / across * (rows / down) + i,
 * the vectors of `vector` neighbouring elements that begin at columns
 *     (t % across + j * across) * vector,  j < cols / (across * vector).
 * A tile of one row is held alike in every row of threads, a tile of one column in every thread of a row. */
struct plan_layout {
    int rows, cols;
    int down, across;         /* threads; powers of two, down * across of them in all */
    int vector;               /* elements of one access */
    int apart;                /* rows from one of a thread's to its next: down, or 1 */
};

/* The variable of a loop; LOOP leaves of plan.fused are numbers of these. TILE leaves are numbers of places. */
struct plan_loop {
    const char *name;
    int from, to;             /* nodes of plan.fused */
    int step;
    int first;                /* plan_some(node of plan.fused): turns go down from this number; 0: up from `from` */
    int operation;            /* plan_some(LOOP of the program that it is of) */
};

/* Work items of a block: of axis `axis` (of plan.axis) it takes `tile` elements; the last varies fastest. AT leaves of
 * plan.fused are where they begin. */
struct plan_item {
    int axis, tile;
    int extent;               /* node of plan.fused */
};

/* ---- instructions ---------------------------------------------------------------------------------------------- */

/* A matrix instruction and how its operands are read from shared memory. */
struct plan_mma {
    const char *name;         /* "mma" */
    const char *kind;         /* "wgmma" or "mma.sync" */
    int m, n, k;
    enum tw_dtype input, accumulator;
    int blocks_m, blocks_n;   /* instruction tiles of one executor (warpgroup or warp) along m and n */
    int k_steps;              /* instructions along k in one stage */
    struct {
        int tensor;
        bool mn_major;        /* transposed operand */
        int leading_bytes, stride_bytes; /* descriptor offsets; see blocks/wgmma_dot.cuh */
        int k_bytes;          /* from one instruction to the next along k, within a box */
        int block_bytes;      /* from one m (or n) block to the next */
    } operand[2];
};

/* ---- the whole ------------------------------------------------------------------------------------------------- */

struct plan_launch {
    int grid[3];              /* nodes; persistent kernels: min(tiles, resident blocks) */
    int block;                /* threads */
    int cluster[3];
    int shared_bytes;         /* dynamic */
    int min_blocks;           /* second number of __launch_bounds__, 0: none */
    bool programmatic;        /* starts before the previous kernel has ended, and waits for it by griddepcontrol.wait */
};

struct plan {
    const char *kernel;       /* NAME of the spec */
    const char *entry;        /* NAME, or NAME__VARIANT */
    const char *variant;      /* "", "unaligned" */
    const char *arch;         /* "sm_90a" */
    const char *family;       /* NULL: user's template */
    const char *template_name;
    bool derived;             /* the template emits the steps: there is no other text to compare them with */
    struct diag_loc loc;

    const char **symbol;      /* dims, then "sm_count" */
    int64_t *symbol_multiple;
    int symbol_count;
    struct expr_graph graph;  /* integers over symbols */
    const char *axis[SPEC_MAX_AXES];
    int axis_count;

    struct plan_tensor *tensor;
    int tensor_count;
    struct plan_map *map;
    int map_count;
    struct spec_scalar *scalar;
    int scalar_count;
    struct plan_param *param;
    int param_count, param_bytes;
    struct plan_shared *shared;
    int shared_count, shared_align;
    struct plan_ring *ring;
    int ring_count;
    struct plan_barrier *barrier;
    int barrier_count;
    struct plan_place *place;
    int place_count;
    struct plan_role *role;
    int role_count;
    struct plan_layout *layout;
    int layout_count;
    struct plan_loop *loop;
    int loop_count;
    struct plan_item *item;
    int item_count;
    int item_ring;                   /* plan_some(ring that passes the items of "tiles" on from role to role): each turn
                                        begins with what was read or written last; 0: the items' order is static */
    struct plan_mma *mma;
    int mma_count;
    struct plan_value *value;
    int value_count;
    struct plan_launch launch;
    int64_t workspace_bytes;         /* of device memory, zero before and behind each launch; one at a time uses it */

    struct expr_graph fused;         /* of the steps' arithmetic; its tensor numbers are plan.tensor's */

    int registers_estimate;          /* a thread of the fullest role */
    int register_limit;              /* more in the cubin is an error; 0: none */
    bool allow_spills;
    int blocks_per_sm;
    int flops, bytes_moved;          /* nodes: operations and compulsory bytes, for roofline and bench */
    struct plan_reason *reason;
    int reason_count;
    struct plan_proofs *proofs;      /* what was proved of other Plans, the caller's; or NULL */
    void *arena;
};

/* ---- what is done with it -------------------------------------------------------------------------------------- */

/* Bytes from the Plan's arena, zeroed; NULL out of memory. */
void *plan_alloc(struct plan *p, size_t bytes);
const char *plan_text(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a place. Returns what a step's `place` takes (plan_some of its index), or 0 out of memory. */
int plan_add_place(struct plan *p, struct plan_place place);
/* The region of shared memory that holds a ring's stages: of that tensor, or for a THREADS ring (tensor -1) of all.
 * NULL where there is none. */
const struct plan_shared *plan_region(const struct plan *p, const struct plan_ring *ring, int tensor);
void plan_free(struct plan *p); /* the graphs too; *p is then zero */

/* Every check named in the design's section 3 but the protocol's: tensor-map rules, shared memory, registers, features of the
 * architecture, transaction bytes and arrival counts. Faults go to diags with rule ids. Returns the number of errors. */
int plan_check(const struct plan *p, struct diag_set *diags);

/* The protocol check: every interleaving of the roles' steps over stages and phases, for deadlock, overwrite before
 * release, read before full and wrong phase. Each fault names role, stage and step. Returns the number of errors. */
int plan_check_protocol(const struct plan *p, struct diag_set *diags);

/* What plan_check_protocol proved, so that Plans of the same steps (of other kernels, architectures, variants) are proved
 * once: see plan/protocol_proofs.c. Threads may share it; NULL out of memory. No Plan that names it may be checked after
 * it is closed. */
struct plan_proofs *plan_proofs_open(const struct memory *memory);
void plan_proofs_close(struct plan_proofs *proofs); /* NULL is fine */

/* The whole Plan, field by field. */
void plan_write(const struct plan *p, const struct sink *sink);
int plan_print_json(const struct plan *p, char **text, size_t *length); /* caller frees; 0, or -1 out of memory */
void plan_print_tables(const struct plan *p, bool why, FILE *out);

#endif
