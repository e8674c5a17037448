/* A Program: what one work item of a kernel computes, as operations on tiles in sequential order.
 *
 * The tracer (trace.c) runs the spec's Lua function once on symbolic values and gives this; meaning.c evaluates it in
 * double precision; derive.c lowers it to an architecture. Nothing here knows a thread, a barrier or shared memory.
 *
 * TILES. A tile is a matrix of constant extents, rows x columns; an extent of 1 broadcasts. Its elements are one node
 * of `graph`, evaluated at each (ROW, COLUMN): elementwise arithmetic makes nodes, not operations. What an operation
 * gave is the leaf TILE(op): the element of that result at the same ROW and COLUMN, row 0 where it has one row, column
 * 0 where it has one column. INDEX(axis) is the coordinate along an axis of the element in hand, as tile.index says; an
 * operation that takes a tile replaces it by that coordinate, so a traced program holds none. AT(axis) is the first
 * coordinate of the work item; LOOP(op) the variable of a loop around it; SYMBOL a dim.
 *
 * EDGES. valid_row and valid_column are conditions over ROW and COLUMN (and AT, LOOP, SYMBOL, data): elements where one
 * does not hold lie outside of a tensor or beyond a span's limit. Arithmetic holds where all of its operands do; a dot
 * takes 0 there, a reduction its identity, a store writes nothing. A load gives 0 there. Conditions that structure
 * proves (a tile that divides its extent) are left out. Those of a store's operand are the value's own and those of the
 * place that is written. What a loop carries has the conditions of the first value and of each turn; they do not depend
 * on the loop's variable.
 *
 * ORDER. `op` is a flat list. LOOP is followed by a PARAM for each carried value, by the body, and by END with what is
 * carried on; then one RESULT for each. Every operand was computed earlier, in the same body or in one around it.
 *
 * Plain data in the arena of the Spec; the graph's memory hangs on the Spec. Read-only once traced, so that any number
 * of threads may read it.
 */
#ifndef TW_GEN_PROGRAM_PROGRAM_H
#define TW_GEN_PROGRAM_PROGRAM_H

#include <stdio.h>

#include "dtype.h"
#include "spec/diag.h"
#include "spec/expr.h"
#include "spec/spec.h"
#include "spec/window.h"

enum { PROGRAM_MAX_CARRIED = 8, PROGRAM_MAX_DEPTH = 4 };

/* Every operation: see program_ops.def. */
enum program_kind {
#define PROGRAM_OP(id, name, arguments, doc) PROGRAM_##id,
#include "program/program_ops.def"
#undef PROGRAM_OP
    PROGRAM_KIND_COUNT
};

/* What a row of program_ops.def says. */
struct program_kind_info {
    const char *name, *doc;
    int arguments; /* tiles that it takes; -1: as many as the loop carries */
};
extern const struct program_kind_info program_kinds[PROGRAM_KIND_COUNT];

struct program_tile {
    int node;                    /* of program.graph; -1: no tile */
    int rows, columns;           /* extents; 0 only while traced: any */
    enum tw_dtype dtype;         /* what its elements are exact in: a load's or a cast's own; TW_FP32 for REAL,
                                    TW_INT64 for INT expressions; TW_DTYPE_COUNT for conditions */
    int valid_row, valid_column; /* conditions; -1: everywhere */
    int index[SPEC_MAX_AXES];    /* by axis: node of the coordinate over ROW, COLUMN, AT, LOOP, of a dropped dim too;
                                    -1: the tile has none along the axis; -2: operands disagree, nothing may ask */
};

extern const struct program_tile program_no_tile; /* node -1, of nothing */

/* One coordinate of a load or store: a place, or a span of one of the tile's extents. */
struct program_coordinate {
    int start;   /* INT node: first coordinate */
    int length;  /* elements; 0: one place, and the dim is dropped */
    int limit;   /* INT node: coordinates from here on are outside; -1: the dim's extent alone */
    bool column; /* a span along the tile's columns; else along its rows, of which the last span varies fastest */
};

enum program_reduction { PROGRAM_SUM, PROGRAM_MAX, PROGRAM_MIN, PROGRAM_REDUCTIONS };

struct program_op {
    enum program_kind kind;
    struct diag_loc loc;
    const char *name;         /* given by :as "NAME", of a loop its first argument; or NULL */
    int depth;                /* loops around it; PARAM and END stand in the body, LOOP and RESULT outside */
    struct program_tile tile; /* what it gives; its node is TILE of this op. rows 0 where it gives nothing */

    struct program_tile arg[3]; /* DOT: a (m x k), b (k x n), c (node -1: zero). GATHER: the row numbers (rows x 1,
                                   INT). SLICE: the LOAD, the first row (INT, 1 x 1; or one for each row of the dot's
                                   result, which then is of its own run). STORE: the value, of the place's extents
                                   or 1. SCATTER_ADD: value, row numbers, key (node -1: any order). REDUCE,
                                   TRANSPOSE, STAGE: the operand. RANK: INT of 32 bits without edges; INT32_MAX
                                   stands where x is not valid. SEGMENT: x and its numbers, likewise; the number is
                                   -1 where either is not valid */
    /* LOAD, GATHER, STORE, STORE_ADD, SCATTER_ADD */
    int tensor;                                  /* of the kernel; -1 */
    struct program_coordinate at[SPEC_MAX_RANK]; /* by dim, memory order */
    int gathered;                                /* GATHER, SCATTER_ADD: the dim that the row numbers address */
    struct spec_window window; /* LOAD by im2col: rows are windows, `at` is pixels of the result, taps, channels */
    /* REDUCE, SEGMENT */
    enum program_reduction reduction;
    bool over_rows; /* REDUCE: to 1 x columns; else to rows x 1 */
    /* LOOP, PARAM, END, RESULT */
    int loop;           /* PARAM, END, RESULT: their LOOP */
    int which;          /* PARAM, RESULT: which carried value */
    int from, to, step; /* LOOP: INT nodes over AT, SYMBOL, LOOP, data; step is a positive constant */
    int end;            /* LOOP: its END */
    int list;           /* LOOP: the tensor whose entries the variable takes in turn, the coordinate in its last dim
                           counting from..to, those of the others in `at`; -1: a range */
    int carried;        /* LOOP: values */
    int parts;          /* LOOP: blocks, of a cluster, that share its turns, each with its own carried values, which
                           add up behind it (lower/split.c); 0: one block takes all */
    int part_axis;      /* LOOP with parts: the axis whose place is a block's part */
    bool by_last;       /* LOOP with parts: of no cluster; the last of its blocks does all that stands behind it */
    bool stream;        /* LOOP by_last, of parts 1: a block has some of its turns or all, from number AT(part_axis) on
                           AT(part_axis + 1) of them, as it happens */
    struct program_tile *value; /* LOOP: first values; END: those carried on; by `carried`. */
    int *combine; /* LOOP: what two parts of the turns make together, by `carried`: elementwise nodes in which
                     the PARAM's TILE is of the one part and the RESULT's TILE of the other; NULL: not given */
};

/* Work items: one for each step of each axis, the last axis varying fastest. */
struct program_axis {
    const char *name;
    int extent;      /* INT node over SYMBOL; -1: items do not run along it */
    int tile;        /* elements of the axis that one item takes; 0: the axis has no tile */
    int cluster;     /* items along it that make a cluster, where the spec says so; 0: not given */
    bool chosen;     /* the tile is the family's choice: the spec says none */
    bool share;      /* no items run along it: its place says what of an item's turns a block has */
    const char *why; /* of a chosen one, in the family's words; NULL: it has none */
    struct diag_loc tile_loc, cluster_loc; /* where the kernel says so; line 0: it does not */
};

struct program {
    struct diag_loc loc;
    struct expr_graph *graph; /* the kernel's */
    struct program_axis axis[SPEC_MAX_AXES];
    int axis_count;
    struct program_op *op;
    int op_count;
};

/* The SLICE that an operand is, turned or not; -1: it is none (slice.c). */
int program_slice(const struct program *p, const struct program_tile *operand);

/* ---- tracing (trace.c) ------------------------------------------------------------------------------------------- */

/* The printed program: one operation a line, indented by loop, `plan` shows it. */
void program_print(const struct program *p, const struct spec *spec, const struct spec_kernel *kernel, FILE *out);

/* ---- meaning (meaning.c) ----------------------------------------------------------------------------------------- */

/* NaN and infinities are those of fp32. Max and min, of two values or along rows and columns, let a NaN give way to a
 * number as fmaxf does; of nothing but NaNs along a row comes what comes of no element: minus infinity, infinity.
 * where() takes the chosen side alone; exp2_diff is 0 where both are minus infinity; a cast keeps NaN and infinity, but
 * fp8 takes the largest finite value for infinity and integers 0 for NaN; 0 / 0 is NaN. What may overflow fp32 has no
 * bound.
 *
 * An element of a tensor that is read in an expression outside of the tensor may stand where its tile is not valid, on
 * the side of a where() that is not taken, or behind a & that is false already; elsewhere it is a fault of the data. A
 * place, a row number and an entry of a list must be inside always; a span may begin and end outside.
 */

/* Tensors densely in doubles, row-major in their dims, by tensor of the kernel. Outputs are written where the program
 * stores, and left alone elsewhere. bound[i], where it is not NULL, receives beside each element of output i how far a
 * lowering may lie from it: half an ulp of the output's dtype, and what rounding to fp32 along the way, sums in any
 * order and .approx functions can amount to. 0 where the arithmetic is exact. */
struct program_data {
    const int64_t *symbol; /* by dim of the spec */
    double *const *tensor;
    const int64_t (*extent)[SPEC_MAX_RANK]; /* by tensor, by dim */
    const double *scalar;
    double *const *bound;
};

/* Runs `count` items from the `first` one on, of all or of those whose numbers `item` lists. *items receives how many
 * ran; done[i], where not NULL, marks the elements of output i that were stored. 0; 1 where the data is at fault (a
 * coordinate that leaves its tensor), in *error; 3 out of memory. Threads: none shared; a caller may run parts in
 * parallel, but of a program that adds to a tensor, whose bounds are only known behind the last addition, and which
 * begins with what the tensor holds.
 *
 * Turns in another order, or in halves, come to the same numbers but for rounding. What casts take away within a loop
 * is not in the bounds: all lowerings of the same turns round the same numbers there. Other turns round others: a power
 * relative to the maximum up to now, say. With free_casts in loops bounds also hold what comes of casts within loops,
 * and in a combine, that round nothing. That is the same whatever the turns: two runs whose turns alone differ are not
 * farther apart than both their bounds. With all casts free they hold what no cast rounds, which is what somebody
 * writes who leaves them out. */
enum program_casts { PROGRAM_CASTS_ROUND, PROGRAM_CASTS_FREE_IN_LOOPS, PROGRAM_CASTS_FREE };
struct program_run {
    int64_t first, count; /* count < 0: all that are there; what `item` lists has `first` + `count` numbers */
    const int64_t *item;  /* or NULL */
    unsigned char *const *done;
    const bool *down; /* by operation: LOOPs whose turns go from the last to the first; NULL: none */
    bool halves;      /* loops that have a combine run as two halves of their turns, which it puts together */
    const int *parts; /* by operation: LOOPs with a combine that run as so many parts, where these are above 1, of
                         which each has every so many-th turn; NULL: none. halves goes before */
    enum program_casts free_casts; /* see above */
    int64_t *work;                 /* receives how many nodes of elements and products were evaluated; or NULL */
    int64_t *products; /* of dots, about, those of elements that are valid: a ragged item has few; or NULL */
};
struct program_error {
    struct diag_loc loc;
    char text[512];
};
int program_evaluate(const struct program *p, const struct spec_kernel *kernel, const struct program_data *data,
                     const struct program_run *run, int64_t *items, struct program_error *error);

/* Items of the program on these dims; -1 where a size overflows. */
int64_t program_items(const struct program *p, const int64_t *symbol);

/* A sample of `count` of the items, of which there are no fewer, each once: the first, the last, the one before the
 * last on each axis, which is whole; behind these random ones by seed and the other corners in turns. A smaller sample
 * of the same seed is the beginning of a larger one. */
void program_sample(const struct program *p, const int64_t *symbol, int64_t count, uint64_t seed, int64_t *item);

#endif
