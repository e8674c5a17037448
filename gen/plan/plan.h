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
#include "plan/field_reads.h"
#include "plan/list.h"
#include "plan/sink.h"
#include "plan/steps.h"
#include "spec/arena.h"
#include "spec/diag.h"
#include "spec/expr.h"
#include "spec/spec.h"
#include "spec/window.h"
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
    struct diag_loc loc; /* in the spec; line 0: unknown */
    enum tw_dtype dtype;
    int rank;
    int dim[SPEC_MAX_RANK];       /* nodes: extents in elements */
    int stride[SPEC_MAX_RANK];    /* nodes: elements; the default where the caller passes 0. Innermost 1 */
    int64_t fixed[SPEC_MAX_RANK]; /* the stride that the text has as a number, and a launch must have; 0: an argument */
    const char *axis[SPEC_MAX_RANK];
    bool out, pointers; /* pointers: each index of dim 0 has an address of its own (plan/map_pointers.h) */
    int maps;           /* so many maps has it, an array: each index of dim 0 one, of its slice; 0: one is of all */
    enum plan_access access;
    int tile[SPEC_MAX_RANK]; /* 0: not tiled in this dim */
    int box[SPEC_MAX_RANK];  /* TMA: one instruction's extents, after the multicast split */
    int boxes;               /* boxes of a tile that lie beside each other along the innermost dim */
    int box_bytes;           /* bytes between two of them in shared memory: a whole column of the tile */
    int gathered;            /* plan_some(dim) whose places are row numbers. TMA: the box is one row, and the tile
                                one box (or row of boxes) for each of its rows. 0: none */
    int run;                 /* gathered, by TMA: so many rows, from a multiple of that on, have numbers that count up,
                                and another map brings them in one box where all are there; 1: single rows alone */
    int multicast;           /* blocks of the cluster that receive each box; each loads 1/multicast of the tile */
    enum tw_swizzle swizzle; /* of its tile in shared memory */
    int tile_bytes;          /* of the whole tile in shared memory */
    int align;               /* bytes that address, rows and (with `whole_rows`) the inner extent divide by */
    bool whole_rows;         /* stores of whole 16-byte chunks: the inner extent counts too */
    const char *cache;       /* "evict_first": what becomes of it in the L2 where bulk copies bring it; NULL: as ever */
    bool prefetch;           /* the L2 is asked for it as blocks begin, 128 bytes a thread: by an address of its own,
                                TMA: for the beginnings of rows; else for all of it */
    int map;                 /* index into plan.map, -1: none. Other maps of the tensor are of parts of its box */
    /* Of its tile's rows, by an im2col map, and box[0] counts them; dims 0: rows are the tensor's own. */
    struct spec_window window;
};

/* One cuTensorMapEncodeTiled call, or EncodeIm2col where the tensor has windows: then box is channels, 1, ..., pixels.
 * Innermost dim first as the driver has it. Where slices have maps of their own, it is each one's but for the address.
 */
struct plan_map {
    const char *name; /* parameter's name: "A_map" */
    int tensor;
    int rank;
    int box[SPEC_MAX_RANK];
    enum tw_swizzle swizzle;
    int l2_promotion; /* CUtensorMapL2promotion */
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

/* One parameter of the kernel; offset as the CUDA ABI packs them (each aligned to its own alignment). A MAP of as many
 * times 128 bytes as there are maps is an array of them. */
struct plan_param {
    enum plan_param_kind kind;
    const char *name; /* A_map, D, M, D_stride0, alpha */
    const char *type; /* CUDA text of the type */
    int tensor;       /* MAP, POINTER, STRIDE */
    int index;        /* MAP: of plan.map; DIM: symbol; STRIDE: dim of the tensor; SCALAR: of plan.scalar */
    int offset, bytes, align;
};

/* ---- shared memory, rings, barriers ---------------------------------------------------------------------------- */

/* One region of dynamic shared memory. offset is from a base that is aligned to plan.shared_align. */
struct plan_shared {
    const char *name; /* "ab.A", "ab.full", "D" */
    int offset, bytes, align;
    int count; /* stages or buffers in it; each bytes / count */
};

/* Stages that one side fills and another drains.
 * BULK: a full and an empty mbarrier a stage. full completes after full_arrivals arrivals and tx_bytes bytes; empty
 * after empty_arrivals arrivals. CP_ASYNC: commit groups and block barriers. THREADS: buffers that threads write and
 * bulk stores read. ARRIVE: as BULK, but threads of a role write the stage and arrive on full; tx_bytes is 0. A ring
 * without tensors passes values on: a WRITE is of all of them, a READ likewise. PEERS: as BULK, but what comes is sent
 * by the threads of the other blocks that share the ring, each block its FILL to all of them; a RELEASE tells them.
 * OWN: bulk copies of each instance for itself, into its buffers of the THREADS ring `into`, before it writes there;
 * each has full barriers of its own, and a buffer is free again behind the wait for its store. */
struct plan_ring {
    const char *name;
    int stages;
    enum plan_filler filler;
    int tensor[8], tensor_count;
    int full_arrivals, tx_bytes, empty_arrivals;
    int peers, into;               /* PEERS: blocks of the cluster that share it; OWN: plan_some(ring) */
    int full_shared, empty_shared; /* index into plan.shared, -1: none */
};

/* ---- instructions ---------------------------------------------------------------------------------------------- */

/* A matrix instruction and how its operands are read from shared memory. */
struct plan_mma {
    const char *name; /* "mma" */
    const char *kind; /* "wgmma", "tcgen05" or "mma.sync" */
    int m, n, k;
    enum tw_dtype accumulator;
    int blocks_m, blocks_n; /* instruction tiles of one executor (warpgroup or warp) along m and n */
    int k_steps;            /* instructions along k in one stage */
    struct {
        int tensor; /* -1: in registers */
        enum tw_dtype dtype;
        bool mn_major;                   /* transposed operand */
        int leading_bytes, stride_bytes; /* descriptor offsets; see blocks/wgmma_dot.cuh */
        int k_bytes;                     /* from one instruction to the next along k, within a box */
        int block_bytes;                 /* from one m (or n) block to the next */
    } operand[2];
};

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* What the protocol check looked at. */
struct plan_proof {
    int threads;   /* that were followed, each for all that do the same; of all blocks of a cluster */
    int runs;      /* sets of numbers of turns that the loops were given; 0: nothing was proved */
    int turns;     /* that a loop made at most, but where many turns of loops around it were looked at */
    int64_t steps; /* that the threads took, in all runs */
};

struct plan_launch {
    int grid[3]; /* nodes; persistent kernels: min(tiles, resident blocks) */
    int block;   /* threads */
    int cluster[3];
    int shared_bytes;  /* dynamic */
    int min_blocks;    /* second number of __launch_bounds__, 0: none */
    bool once;         /* as many blocks as items: each takes one, if data do not say that it is none */
    bool programmatic; /* starts before the previous kernel has ended, and waits for it by griddepcontrol.wait */
};

struct plan {
    const char *kernel;  /* NAME of the spec */
    const char *entry;   /* NAME, or NAME__VARIANT */
    const char *variant; /* "", "unaligned" */
    const char *arch;    /* "sm_90a" */
    const char *family;  /* NULL: user's template */
    const char *template_name;
    bool derived; /* the template emits the steps: there is no other text to compare them with */
    struct diag_loc loc;

    const char **symbol; /* dims, then "sm_count" */
    int64_t *symbol_multiple;
    int64_t *symbol_fixed; /* of each the number that stands for it in the text, -1: any; NULL: none is fixed */
    int symbol_count;
    struct expr_graph graph; /* integers over symbols */
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
    int item_ring; /* plan_some(ring that passes the items of "tiles" on from role to role): each turn
                      begins with what was read or written last; 0: the items' order is static */
    struct plan_mma *mma;
    int mma_count;
    struct plan_value *value;
    int value_count;
    struct plan_launch launch;
    int64_t workspace_bytes; /* of device memory, zero before and behind each launch but for the records of a list; one
                                at a time uses it */
    int workspace;           /* plan_some(node of graph): so many more, where sizes or the grid decide; 0: none */

    struct plan_list *list;  /* NULL: no loop goes by a list */
    struct expr_graph fused; /* of the steps' arithmetic; its tensor numbers are plan.tensor's */
    int *divisor;            /* nodes of graph, over sizes alone, by which functions divide: a launch may make none 0 */
    int divisor_count;
    int registers_estimate, register_limit; /* a thread of the fullest role; more in the cubin is an error, 0: none */
    bool allow_spills;
    int blocks_per_sm;
    int flops, bytes_moved;       /* nodes: operations and compulsory bytes, for roofline and bench */
    struct plan_visible *visible; /* which of them masks let in (plan/visible.h); NULL: all, or it is not known */
    int items;                    /* plan_some(node): that blocks count in 32 bits: launches of 2^31 are refused */
    int boxes;                    /* plan_some(node): boxes that bulk copies load, where moving them is all the work */
    struct plan_reason *reason;
    int reason_count;
    struct field_reads reads; /* of the kernel's fields */
    struct plan_proof proof;
    struct plan_proofs *proofs; /* what was proved of other Plans, the caller's; or NULL */
    void *arena;
};

/* What its enums are called, in JSON, tables, templates and messages (words.c). */
extern const char *const plan_access_word[PLAN_ACCESS_COUNT], *const plan_filler_word[PLAN_FILL_COUNT];
extern const char *const plan_op_word[PLAN_OP_COUNT], *const plan_place_word[PLAN_PLACE_COUNT];
extern const char *const plan_reduction_word[PLAN_REDUCTION_COUNT];

/* ---- what is done with it -------------------------------------------------------------------------------------- */

/* Bytes from the Plan's arena, zeroed; NULL out of memory. */
void *plan_alloc(struct plan *p, size_t bytes);
const char *plan_text(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a place. Returns what a step's `place` takes (plan_some of its index), or 0 out of memory. */
int plan_add_place(struct plan *p, struct plan_place place);
/* The region of shared memory that holds a ring's stages: of that tensor, or for a THREADS ring (tensor -1) of all.
 * NULL where there is none. */
const struct plan_shared *plan_region(const struct plan *p, const struct plan_ring *ring, int tensor);
/* Blocks of a cluster; and where blocks have shares of items those of three: between two others one has but a part;
 * where a last wave may be halved those of two. */
int plan_cluster(const struct plan *p);
int plan_blocks(const struct plan *p);
void plan_free(struct plan *p); /* the graphs too; *p is then zero */

/* Every check named in the design's section 3 but the protocol's: tensor-map rules, shared memory, registers, features
 * of the architecture, transaction bytes, arrival counts. Faults go to diags with rule ids. Returns how many. */
int plan_check(const struct plan *p, struct diag_set *diags);

/* Of a Plan that a lowering could not finish, what holds whatever its tiles are: strides of the tensors that bulk
 * copies reach, conversions of its functions. */
void plan_check_alone(const struct plan *p, struct diag_set *diags);

/* The protocol check: every interleaving of the roles' steps over stages and phases, for deadlock, overwrite before
 * release, read before full and wrong phase. Each fault names role, stage and step. Where there is none, p->proof says
 * how much was looked at. Returns the number of errors. */
int plan_check_protocol(struct plan *p, struct diag_set *diags);

/* What plan_check_protocol proved, so that Plans of the same steps (of other kernels, architectures, variants) are
 * proved once: see plan/protocol_proofs.c. Threads may share it; NULL out of memory. No Plan that names it may be
 * checked after it is closed. */
struct plan_proofs *plan_proofs_open(const struct memory *memory);
void plan_proofs_close(struct plan_proofs *proofs); /* NULL is fine */

/* The whole Plan, field by field. */
void plan_write(const struct plan *p, const struct sink *sink);
int plan_print_json(const struct plan *p, char **text, size_t *length); /* caller frees; 0, or -1 out of memory */
void plan_print_tables(const struct plan *p, bool why, FILE *out);

#endif
