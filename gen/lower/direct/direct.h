/* Inside the lowering of programs without dots.
 *
 * One role of threads runs the program's operations in their order. Tiles that are loaded, reduced or carried have a
 * place in registers, in a layout by vectors of neighbouring columns (plan_layout); expressions have none and are
 * evaluated at their use. lower_direct.c walks the operations; direct_step.c, direct_reduce.c and direct_loop.c make
 * the steps, direct_rank.c those of ranks and segments of rows, direct_pairs.c those of two elements at once;
 * direct_layout.c chooses vectors, threads and layouts; direct_value.c says an expression of the program in leaves of
 * the Plan; direct_keep.c finds tiles that several loops load.
 */
#ifndef TW_GEN_LOWER_DIRECT_DIRECT_H
#define TW_GEN_LOWER_DIRECT_DIRECT_H

#include "lower/lower.h"

enum { DIRECT_MAX_LAYOUTS = 2, DIRECT_MAX_WHOLE = 4, DIRECT_MAX_STEPS = 512, DIRECT_MAX_WORDS = 32 };

/* What an operation of the program has become. */
struct direct_op {
    int uses;   /* roots of expressions that read it */
    int turned; /* those of them that are operands of transposed vectors */
    int place;  /* plan_some: where its tile is now */
    int loop;   /* LOOP: plan_some(index into plan.loop) */
    int ahead;  /* LOOP: plan_some(node that stands for its variable) while a turn's loads are made before it; 0 */
    bool plain; /* LOOP: nothing within a turn makes threads wait for each other */
    int part;   /* REDUCE whose loop's end completes it: plan_some(place of what this thread has) */
    int shift;  /* LOAD: elements of a vector in memory before its own first; see plan_step.shift */
    int window; /* LOAD: plan_some(place of the window that it begins in), whose first `skip` rows are not its own, and
                   of the one that it ends in */
    int window2, skip, skip2;
    bool beside; /* LOAD: its registers are those of windows */
    bool vector; /* a tile of one row or column that is transposed: rows are columns to whoever reads it */
    int picks;   /* LOAD: operations that pick a column of it */
    bool aside;  /* LOAD or STORE of one row that is another operation's column: moved as a column */
};

struct direct_shape {
    int rows, cols;
};

/* A word that names were made of, and the number behind the last of them. */
struct direct_word {
    const char *word;
    int number;
};

struct direct {
    const struct program_lowering *l;
    const struct program *program;
    struct plan *plan;
    struct plan_role *role;
    struct direct_op *op;
    int vector, threads;
    bool persistent; /* blocks take item after item */
    bool *whole;     /* by symbol: `vector` divides it, as launches check */
    struct direct_shape extent[DIRECT_MAX_LAYOUTS + DIRECT_MAX_WHOLE]; /* of the tiles that plan.layout holds: those are
                                                       as wide as their threads, and what is more is outside */
    int barrier;                                                       /* plan_some(the block's), once there is one */
    int depth;                                                         /* loops around the step in hand: */
    int around[PROGRAM_MAX_DEPTH + 1];                                 /* of plan.loop */
    int loaded[PROGRAM_MAX_DEPTH + 1]; /* registers of tiles that the body at that depth has loaded */
    int most_loaded, gathered;         /* `gathered` of the body in hand: of rows by numbers */
    bool op_ahead;                     /* what is loaded is a later turn's */
    int *memo, *stamp, stamps;
    int *kept;    /* by operation: plan_some(place) of a load whose tiles stay for later loops */
    bool swapped; /* ROW and COLUMN change places in what is imported */
    struct direct_word word[DIRECT_MAX_WORDS];
    int word_count;
    int layout; /* of the step in hand; -1: any */
    struct direct_number {
        int node, place; /* of plan.fused; plan_some */
    } * number;          /* row numbers of the body in hand that have places, where many are a number apart */
    int number_count;
    struct direct_operand {
        int node, place;   /* of the program's graph; plan_some */
        int64_t otherwise; /* where threads have more than the tile */
    } * operand;           /* what ranks and segments of the body in hand take, which others read there too */
    int operand_count;
    bool scattered; /* many rows by numbers for each row of a tile */
    int shapes;     /* layouts at first in plan.layout; behind them those of rows that threads have whole */
    int whole_row;  /* plan_some(layout of such rows) of the load in hand; 0: it is none */
    const struct program_tile *tile; /* whose coordinates INDEX leaves are */
    int misfit; /* plan_some: operation whose tile the threads hold in another way than its reader wants it */
};

/* ---- direct_layout.c --------------------------------------------------------------------------------------------- */

/* Uses of operations, transposed vectors, by the program alone. */
void direct_survey(const struct program *, struct direct_op *op, bool *reached);

/* Elements of one access: the most that every load and store can make where rows of whole accesses are checked at
 * launch, 1 where elements move alone. whole[i] is set for symbols that must then be multiples of it. */
int direct_vector(const struct spec *, const struct spec_kernel *, struct direct_op *op, bool *whole);

/* Whether the tile holds for all elements of a vector or for none. */
bool direct_is_whole(const struct direct *d, const struct program_tile *tile);

/* Layouts and threads. 0, 1 faults, 3. */
int direct_layouts(struct direct *d);

/* Whether several rows by numbers are read for each row of a tile. */
bool direct_is_scattered(const struct program *p);

/* Whether the threads of a row have all of each row of what the operation loads: its columns are picked alone. */
bool direct_is_picked(const struct direct_op *op);

/* The layout of such rows, -1: there are too many. */
int direct_whole_row(const struct direct *d, int rows, int cols);

/* The layout for a tile of these extents, -1: there is none. */
int direct_layout_of(const struct direct *d, int rows, int cols);

/* The extents that the threads of that layout have for a tile: its own, or more. */
struct direct_shape direct_held(const struct direct *d, int rows, int cols);

/* ---- direct_value.c ---------------------------------------------------------------------------------------------- */

/* The node of plan.fused for a node of the program as the operations' places are now; -1 out of memory. */
int direct_value(struct direct *d, int node);

/* A coordinate (of plan.fused) written so that row or column is its last term. A condition of the program, written so
 * that it compares row or column with what is the same for all threads. -1 out of memory. */
int direct_last(struct direct *d, int made);
int direct_condition(struct direct *d, int node);

/* A condition of plan.fused as the rows and columns between which it holds, and what else it asks; -1: nothing. */
struct direct_bounds {
    int row_first, row_end, column_first, column_end, other;
};
int direct_bounds(struct direct *d, int made, struct direct_bounds *bounds); /* 0 or 3 */
int direct_within(struct direct *d, const struct direct_bounds *bounds); /* the condition; -1: none, -2: no memory */

/* Whether the node of plan.fused reads such a leaf. */
bool direct_reads(const struct direct *d, int made, enum expr_op op, int64_t which);

/* Whether the value is 0 wherever the tile does not hold, as what loads give there is. */
bool direct_zero_outside(const struct direct *d, int node, const struct program_tile *tile);

/* ---- direct_keep.c ----------------------------------------------------------------------------------------------- */

/* Whether the body is without other loops and without reductions that its end does not complete. */
bool direct_is_plain(const struct direct *d, int loop);

/* Turns of the loop whose loads stay in registers for the loops behind it that load the same: 0, or how many. `load`
 * receives the operations, at most `most`; *all says that there are never more turns. A later loop of the same group
 * has the same turns, and `first` is then the loop that loads. */
struct direct_keep {
    int turns, first, load[8], load_count;
    bool all;
};
void direct_keep(struct direct *d, int loop, struct direct_keep *keep);

/* Whether the load's place in its tensor is that of the turn alone: its coordinates read no tile. */
bool direct_is_free(const struct direct *d, int load);

/* The place that holds what the load of a later loop would load; 0: none. `kept` is by operation. */
int direct_kept(struct direct *d, const struct direct_keep *keep, const int *kept, int load);

/* ---- direct_window.c --------------------------------------------------------------------------------------------- */

/* Whether loads of some tensor have rows in common. */
bool direct_has_windows(const struct direct *d);

/* Loads the windows that the load and others behind it have in common, if any: op[].window of all of them. */
int direct_windows(struct direct *d, int load);

/* ---- direct_step.c ----------------------------------------------------------------------------------------------- */

/* All return 0, 1 with a fault in diags, or 3 out of memory; places are numbers that steps take, 0 out of memory. */

int direct_refuse(struct direct *d, int op, const char *text);
int direct_failed(struct direct *d, int op); /* why an import gave no node */
int direct_add_step(struct direct *d, struct plan_step step);
int direct_meet(struct direct *d, const char *why); /* a barrier of all threads */

const char *direct_new_name(struct direct *d, const char *word); /* the word, or one like it that is free */
const char *direct_word_of(const struct direct *d, int op, const char *otherwise);
int direct_new_place(struct direct *d, const char *word, struct direct_shape tile, enum tw_dtype dtype, bool packed,
                     int turns);
int direct_new_scratch(struct direct *d, const char *word, struct direct_shape shape, enum tw_dtype dtype, int bytes);

int direct_value_of(struct direct *d, const struct program_tile *tile); /* the node of plan.fused for its value */

/* Where the tile holds: a condition, -1 everywhere, -2 out of memory. Its rows and columns as `which` asks. And the
 * same for what threads have beyond the tile alone, with `both` (-1: none). */
enum { DIRECT_ROWS = 1, DIRECT_COLUMNS = 2 };
int direct_validity(struct direct *d, const struct program_tile *tile, int which);
int direct_beyond(struct direct *d, const struct program_tile *tile, int which, int both);

void direct_hold(struct direct *d, int place, bool gathered); /* its registers live as long as the body around */
int direct_load(struct direct *d, int op);
int direct_load_into(struct direct *d, int op, int place);
int direct_load_guarded(struct direct *d, int op, int place, int guard); /* where the condition holds too; -1: none */
int direct_pick(struct direct *d, int op);
int direct_store(struct direct *d, int op);

/* ---- direct_reduce.c --------------------------------------------------------------------------------------------- */

enum tw_dtype direct_value_dtype(enum expr_type type); /* of values in registers */
int direct_set(struct direct *d, int place, int node); /* every element of the place to the node's value there */
int direct_identity(struct direct *d, const struct program_op *reduce);

/* A place of what each thread has of the reduction, set to its identity; direct_reduce then adds to it, and
 * direct_complete makes whole results of several at once. Without the first, direct_reduce does all three. */
int direct_begin_reduction(struct direct *d, int op);
int direct_reduce(struct direct *d, int op);
int direct_complete(struct direct *d, const int *op, int count);
int direct_transpose(struct direct *d, int op);

/* ---- direct_rank.c ----------------------------------------------------------------------------------------------- */

int direct_rank(struct direct *d, int op);
int direct_segment(struct direct *d, int op);

/* ---- direct_within.c --------------------------------------------------------------------------------------------- */

/* Whether row numbers, whatever the data, and all columns lie within the tensor: rows that the tile does not have are
 * then loaded as others are, and nobody looks at them. */
bool direct_within_tensor(const struct direct *d, const struct program_op *gather);

/* ---- direct_pairs.c ---------------------------------------------------------------------------------------------- */

/* The node with places for what is computed in pairs there (reads_pair); steps set them. -1: no memory, or told. */
int direct_pairs(struct direct *d, int node, int layout);

/* ---- direct_loop.c ----------------------------------------------------------------------------------------------- */

int direct_loop_variable(struct direct *d,
                         int loop); /* of every loop before the walk, as equal ranges are looked for */
int direct_lower_loop(struct direct *d, int loop);

/* ---- lower_direct.c ---------------------------------------------------------------------------------------------- */

int direct_lower_body(struct direct *d, int first, int end);

#endif
