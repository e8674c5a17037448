/* Inside the meaning of programs: what its parts share. meaning.c runs the operations, meaning_tape.c evaluates an
 * operand node by node over a whole tile, meaning_nodes.c holds the arithmetic of one node with its bound,
 * meaning_dot.c sums, meaning_memory.c reads and writes tensors.
 *
 * A value v with bound e says: every lowering has a number in [v - e, v + e] there. e = 0 is equality with v, which
 * fp32 then holds exactly; infinity: anything; NaN: an element of a tensor was read that there is not, and nothing may
 * use the value. Lowerings may leave a rounding out (fused multiply-add), which the same interval covers.
 */
#ifndef TW_GEN_PROGRAM_MEANING_MEANING_H
#define TW_GEN_PROGRAM_MEANING_MEANING_H

#include <math.h>

#include "program/program.h"

/* Half an ulp of fp32 relative to the value, and half of its least denormal. */
#define MEANING_UNIT 0x1p-24
#define MEANING_LEAST 0x1p-150

/* Cells, each with its bound. REAL cells are doubles, INT and PRED cells int64_t. The bound of a PRED is 0, or 1 where
 * a lowering may find either. */
struct meaning_cells {
    union {
        double *real;
        int64_t *whole;
        void *any;
    } at;
    double *bound; /* zeros where `exact` once meaning_bounds was asked for them */
    bool exact;    /* every bound is 0 */
    bool zeroed;
    int64_t valid; /* of an operand of a dot: cells that are valid */
};

/* bound[0..count), written with zeros where the cells are exact. */
double *meaning_bounds(struct meaning_cells *cells, int64_t count);

/* ---- turns and items (meaning_items.c) --------------------------------------------------------------------------- */

/* Turns: `turns` numbers from `first` on, or the entries of a list at these places. */
struct meaning_turns {
    int64_t first, by, turns;
    const double *list; /* NULL: none */
    int64_t entries;
};

/* From `first` by `by` up to `to`, or these from the last on. */
void meaning_count_turns(struct meaning_turns *c, int64_t to, bool down);

/* Part i of the turns: every so many-th from the i-th of the lowest on; parts <= 1: one of two halves. */
struct meaning_turns meaning_part_of(const struct meaning_turns *c, int i, int parts);

/* ---- arithmetic of one node (meaning_nodes.c) -------------------------------------------------------------------- */

/* result = op(arg...) for `count` cells; operands have the types that the op takes, INT ones of a REAL op converted.
 * `type` is the result's, `operand_type` the operands' of a comparison. */
struct meaning_node {
    enum expr_op op;
    enum expr_type type, operand_type;
    enum tw_dtype dtype; /* CAST */
    bool free;           /* CAST: the bound is that of rounding and of not rounding (program_run.free_casts) */
    struct meaning_cells *arg[3];
    struct meaning_cells *result;
    int64_t count;
};
void meaning_compute(const struct meaning_node *node);

/* INT cells as REAL ones. */
void meaning_convert(const struct meaning_cells *from, struct meaning_cells *to, int64_t count);

/* The value as an element of the dtype, as tw_dtype_store rounds it. */
double meaning_round(enum tw_dtype dtype, double value);

/* Bound of a value that fp32 is to hold: `carried` came with its operands. */
static inline double meaning_rounded(double value, double carried)
{
    double near = fabs((double)(float)value - value), far = (fabs(value) + carried) * MEANING_UNIT + MEANING_LEAST;
    return carried == 0 ? near : carried + far;
}

/* ---- sums (meaning_sums.c) --------------------------------------------------------------------------------------- */

/* What is known of a sum beside its value. Zero-initialised but for `quantum`, which begins as MEANING_ZEROS. */
struct meaning_sum {
    double magnitude, carried; /* sums of the terms' magnitudes and bounds */
    int64_t terms;
    int quantum; /* every term is a multiple of 2 to this power */
};
enum { MEANING_ZEROS = 1 << 20, MEANING_ENDLESS = -(1 << 20) }; /* all terms are 0; one is not finite */

/* The quantum of some cells. */
int meaning_quantum(const double *cell, int64_t count);

/* The bound of a sum that is made in any order with `bits` of mantissa. 0 where every partial sum is exact. */
double meaning_sum_bound(double value, const struct meaning_sum *sum, int bits);

/* A carried value to which turns add: its first value, one term; then what a turn made of it, with the terms that the
 * turn added where they are known. The bound of `now` becomes that of all terms in any order. */
void meaning_sum_begin(struct meaning_sum *sum, const struct meaning_cells *cells, int64_t count);
void meaning_sum_go_on(struct meaning_sum *sum, const struct meaning_sum *terms, const struct meaning_cells *was,
                       struct meaning_cells *now, int64_t count);

/* result (m x n), which holds c, += a (m x k) b (k x n), REAL cells with bounds. */
struct meaning_dot {
    int64_t m, n, k;
    struct meaning_cells a, b, result;
    bool has_c;
    int bits;            /* of the mantissa in which the products are added; 0: in integers of 32 bits */
    bool products_round; /* the product of two operands is no fp32 number */
    double least;        /* normal number of the operands' types: what is less is aligned as if it were that */
    double *scratch;     /* 2 n + k doubles */
};
void meaning_dot(struct meaning_dot *d);

/* meaning_slices.c. A dot's second operand may be a SLICE, turned or not, whose cells hold its first rows:
 * wrong_row gives the first of these that is not within the LOAD, or not known, or -1. multiply is the dot either way:
 * rows of a that have one first row are multiplied together, with what is put into d's b for them. */
struct meaning_state;
int meaning_wrong_row(const struct program_op *slice, const struct meaning_cells *first);
void meaning_multiply(const struct meaning_state *state, int op, struct meaning_dot *d);

/* Bits of mantissa in which the tensor cores of Hopper add products of this type. */
int meaning_dot_bits(enum tw_dtype dtype);

/* The least normal number of a floating type; 0 of integers. */
double meaning_least_normal(enum tw_dtype dtype);

/* A reduction of a tile, part by part, into one cell for each row or column. */
struct meaning_part;
struct meaning_reduction {
    enum program_reduction reduction;
    bool over_rows, whole;  /* whole: INT cells */
    int64_t columns, count; /* of the tile; cells of the result */
    struct meaning_cells result;
    struct meaning_sum *sum; /* `count` */
    double *low, *high;      /* `count` each: of MAX and MIN the interval of what lowerings have */
    double *value, *bound;   /* `columns` each: scratch */
};
void meaning_reduce_begin(struct meaning_reduction *r);

/* Takes in the cells that are valid. Returns the number in the part of one that must not be used, or -1. */
int64_t meaning_reduce(struct meaning_reduction *r, const struct meaning_part *part);
void meaning_reduce_end(struct meaning_reduction *r);

/* What RANK or SEGMENT `op` gives of its operand, and of the numbers beside it, over the whole tile. Of a row in which
 * one of them is not known exactly nothing is known. `value` is left in any order. */
void meaning_rank(const struct program_op *op, struct meaning_cells *value, const struct meaning_cells *number,
                  struct meaning_cells *result);

/* ---- operands (meaning_tape.c) ----------------------------------------------------------------------------------- */

/* What leaves read while a program runs. */
struct meaning_state {
    const struct program *p;
    const struct spec_kernel *kernel;
    const struct program_data *data;
    int64_t at[SPEC_MAX_AXES];    /* by axis */
    int64_t *loop;                /* by operation: of a LOOP its variable */
    struct meaning_cells *result; /* by operation: rows x columns of its tile */
    void *scratch;                /* for the tape in hand */
    bool free_casts;              /* bounds are to hold whatever the casts here round */
};

/* One operand of one operation, made ready: its nodes in order of evaluation, each over what it varies along (nothing,
 * rows, columns, both), then over both where another wants it so. */
struct meaning_slot {
    int op;   /* enum expr_op, or one of meaning_tape.c's own */
    int node; /* of the graph; -1 */
    enum expr_type type;
    int along;     /* MEANING_ROWS | MEANING_COLUMNS */
    int arg[3];    /* slots */
    int index;     /* EXPR_TENSOR: first of its slots in tape.index */
    int wide[4];   /* the same value along more, by `along`; -1: none yet */
    int real;      /* the same value as REAL; -1 */
    size_t offset; /* into the scratch */
    struct meaning_cells cells;
};

struct meaning_tape {
    struct meaning_slot *slot;
    int count, capacity;
    int *index;
    int index_count, index_capacity;
    int value, valid;             /* slots; valid -1: everywhere */
    int64_t rows, columns, chunk; /* extents; rows that are evaluated at once */
    size_t bytes;                 /* of scratch */
    int64_t work;                 /* cells of all slots over the whole tile */
    enum expr_type type;
    struct memory memory;
};

/* The part of a tile that meaning_next gives: `rows` rows from `row` on, all columns, row-major. */
struct meaning_part {
    int64_t row, rows, count;
    struct meaning_cells *value;
    const int64_t *valid;  /* NULL: everywhere */
    const double *unknown; /* the bounds of `valid`; NULL: all are known */
};

/* Prepares `tile` of the program, or the INT node `node` alone where tile is NULL. `map` has an int for each node of
 * the graph. 0, or 3 out of memory. */
int meaning_prepare(struct meaning_tape *tape, const struct program *p, const struct program_tile *tile, int node,
                    int *map);
void meaning_tape_free(struct meaning_tape *tape);

/* Starts at the first row; then gives part after part until it returns false. */
void meaning_start(struct meaning_tape *tape, const struct meaning_state *state, struct meaning_part *part);
bool meaning_next(struct meaning_tape *tape, const struct meaning_state *state, struct meaning_part *part);

/* ---- items (meaning_items.c)
 * ----------------------------------------------------------------------------------------------
 */

/* Steps along an axis, 1 where no items run along it; -1 where the extent overflows. */
int64_t meaning_steps(const struct program *p, int axis, const int64_t *symbol);

uint64_t meaning_scrambled(uint64_t x);

/* What a turn adds to the carried value of a PARAM, as a node; -1 where it does anything else with it. */
int meaning_added(const struct program *p, int param);

/* Whether the operation gives sums of which more is to be known than the value: a REDUCE to sums, and a PARAM that
 * turns add to. */
bool meaning_is_sum(const struct program *p, int number);

/* ---- tensors (meaning_memory.c) ---------------------------------------------------------------------------------- */

/* The coordinates of a load or store, evaluated. */
struct meaning_box {
    int tensor, rank;
    int64_t extent[SPEC_MAX_RANK], stride[SPEC_MAX_RANK]; /* elements, dense */
    int64_t start[SPEC_MAX_RANK], limit[SPEC_MAX_RANK];   /* limit: first coordinate outside, at most the extent */
    int64_t length[SPEC_MAX_RANK];                        /* of a span; 0: one place */
    int column;                                           /* the dim along the columns; -1 */
    int gathered;                                         /* the dim that row numbers address; -1 */
    int64_t columns;
    const struct spec_window *window; /* NULL: rows are spans, or come by number */
};

/* Where a place of dim d may be: 0 to so many less one, of a window's taps or of the extent. */
int64_t meaning_room(const struct meaning_box *box, int d);

/* Offset of the first column's element of `row` as if all columns were inside, and the columns that are: from
 * *from to *to; an empty range where the row is outside. `number` is the gathered row's. */
int64_t meaning_row(const struct meaning_box *box, int64_t row, int64_t number, int64_t *from, int64_t *to);

/* The LOAD or GATHER into its cells; number: of its rows, by row, or NULL. */
void meaning_load(const struct meaning_state *state, int op, const struct meaning_box *box, const int64_t *number);

struct meaning_output {
    enum tw_dtype dtype;
    double *to, *bound;      /* bound may be NULL */
    unsigned char *done;     /* may be NULL */
    struct meaning_sum *sum; /* by element where the program adds to it; else NULL */
    int64_t count;
    bool add; /* this operation adds */
};

static inline void meaning_swap(struct meaning_cells *a, struct meaning_cells *b)
{
    struct meaning_cells c = *a;
    *a = *b;
    *b = c;
}

/* What PICK `op` of the program takes of its tile; `result` by operation. */
void meaning_pick(const struct program *p, int op, struct meaning_cells *result);

/* `to` receives the cells of `from`, rows x columns, with rows and columns exchanged. */
void meaning_turn(const struct meaning_cells *from, int64_t rows, int64_t columns, struct meaning_cells *to);

/* Writes or adds the valid cells of a part's row that are inside. Returns the column of a cell that must not be used,
 * or -1. */
int64_t meaning_write(const struct meaning_output *out, const struct meaning_part *part, int64_t row, int64_t columns,
                      enum expr_type type, int64_t offset, int64_t step, int64_t from, int64_t to);

/* Behind the last addition: bounds of what was added. */
void meaning_finish(const struct meaning_output *out);

#endif
