/* Between the files of the tracer: trace.c (a kernel's program from its table), trace_ops.c (the words of programs),
 * trace_fields.c (axes, tile, grid, ahead, via), trace_family.c (families that are modules), trace_access.c
 (coordinates), trace_loop.c (loops), trace_tile.c (shapes, indices, edges), trace_lua.c
 * (what plain Lua must not decide by), trace_rank.c (ranks and segments of rows), trace_check.c (what a whole program
 * must fulfil).
 *

 * They run below sandbox_try: an error leaves through longjmp, so whatever is allocated hangs on the spec's arena, on
 * the kernel's graph or on Lua. */
#ifndef TW_GEN_READ_TRACE_H
#define TW_GEN_READ_TRACE_H

#include "program/program.h"
#include "read/read.h"

/* A body that is being traced: the item's own, and one for each loop around. Each gets a number of its own when it is
 * entered, so that a value that outlives its body is known. */
struct trace_body {
    int number;
    int loop; /* LOOP op; -1: the item */
};

struct trace {
    struct reader *r;
    struct program *p;
    struct trace_body body[PROGRAM_MAX_DEPTH + 1];
    int capacity;    /* of p->op */
    int depth;       /* of the innermost body */
    int bodies;      /* numbers given */
    int provisional; /* > 0: carried extents and types are not known yet; the body is traced again */
};

/* ---- trace_fields.c ---------------------------------------------------------------------------------------------- */

int trace_axis(const struct spec_kernel *k, const char *name); /* its position, -1 */
void trace_grid(struct reader *r, int table);

/* A dim without axes belongs to the one axis of its extent, else to the axis that is called as its symbol (R and r). */
void trace_infer_axes(struct reader *r);

/* Puts tile and cluster of an architecture's fields over those of p; true: it has some. Leaves tables on the stack. */
bool trace_arch_fields(struct reader *r, int table, const char *arch, struct program *p);

/* Reads `ahead` and `via`, by the names of operations, and `direction` and `split`, by those of loops. */
void trace_how(struct reader *r, int table);

/* The extent of an axis as far as grid or a tensor with axes tells, a node; -1. */
int trace_known_extent(struct reader *r, int axis);

/* ---- trace.c, trace_tune.c ------------------------------------------------------------------------------------- */

/* Traces the kernel's function, on top of the stack and left there, to p: false where it has a fault. Nothing is told
 * of it. */
bool trace_quietly(struct reader *r, struct program *p);

/* Traces the function, on top of the stack, with the values of `tune` for tiles and clusters: with each, and with each
 * two of different fields, as far as there are not too many. */
void trace_tunes(struct reader *r);

/* ---- trace_family.c ---------------------------------------------------------------------------------------------- */

/* Pushes the table of the kernel's family; false, and nothing: it has none that is a module. */
bool module_push(struct reader *r);

/* Raises an error of the module. */
void module_fault(struct reader *r, const char *name, const char *what);

/* Sets the constants of the family in the table on top of the stack. */
void module_put_constants(struct reader *r);

/* ---- trace_sizes.c ----------------------------------------------------------------------------------------------- */

/* Axes that the kernel gives no tile get the one that the family chooses on the architecture. What it chooses for other
 * fields that the spec leaves out are `to`'s entries of the architecture then, whatever they were; and where the kernel
 * says nothing of `ahead`, the draft's fields have what the family chose last. */
void module_sizes(struct reader *r, const char *arch, struct program *p, struct spec_choices *to);

int trace_fused(lua_State *L);  /* fused("epilogue", value): the kernel's function of it; the value where it has none */
int trace_given(lua_State *L);  /* given "C": the kernel has such a tensor, scalar or function */
int trace_axes(lua_State *L);   /* axes(t.X): a list of names, "" where a dim has none */
int trace_places(lua_State *L); /* places(t.X, by, ...): by its axes the values of the table, then the others */
int trace_dtype(lua_State *L);  /* dtype(t.X): "bf16" */
int trace_extent(lua_State *L); /* extent "k": of an axis, as an expression of dims */
int trace_constant(lua_State *L);  /* constant "stride": of the family's constants; constant(x): a number, or nil */
int trace_magnitude(lua_State *L); /* magnitude(x): a number, or nil */
int trace_refuse(lua_State *L);    /* refuse("stride", "it is 0; write 1"): a fault of the kernel, at its field */

/* ---- trace_tile.c ------------------------------------------------------------------------------------------------ */

/* Replaces leaves of a node. -1 keeps a leaf; `index` NULL keeps INDEX leaves. */
struct trace_leaves {
    int row, column;  /* nodes */
    const int *index; /* by axis: node, -1 and -2 as program_tile.index: an error */
};
int trace_replace(struct trace *t, int node, const struct trace_leaves *leaves);

bool trace_has(const struct trace *t, int node, enum expr_op op); /* the node needs such a leaf */

/* The operations whose results the node needs, in an array on top of the Lua stack, to be popped. */
int trace_leaf_operations(const struct trace *t, int node, int **leaf);

/* The node differs from turn to turn of the loop that LOOP op `loop` begins. */
bool trace_varies(const struct trace *t, int node, int loop);

/* Conjunction of two conditions, -1: true. */
int trace_and(struct trace *t, int a, int b);

/* a + b <= c for all items and turns, as far as structure tells. */
bool trace_at_most(const struct trace *t, int a, int64_t b, int c);
bool trace_natural(const struct trace *t, int node); /* never negative */

/* The value at `index` as what an operation takes: indices resolved, node and dtype in place. */
struct program_tile trace_take(struct trace *t, int index);
struct program_tile trace_resolve(struct trace *t, const struct value *v);

/* "128 x 64" */
const char *trace_shape(struct trace *t, int rows, int columns);

/* Which way the tile runs along an axis: EXPR_ROW, EXPR_COLUMN; EXPR_OP_COUNT: neither, both, or it is not known. */
enum expr_op trace_runs_along(const struct trace *t, const struct program_tile *tile, int axis);

/* ---- trace_ops.c ------------------------------------------------------------------------------------------------- */

struct program_op trace_op(enum program_kind kind); /* empty */

/* Appends an operation in the current body; its location is the running line, at `word`. Returns its index. */
int trace_append(struct trace *t, const struct program_op *op, const char *word);

/* The value that operation `op` gives; its tile is set but for the node. */
struct value trace_result(struct trace *t, int op);
enum expr_type trace_type(enum tw_dtype dtype); /* of a tile's leaf */

/* While a program is traced, `load` is a word. */
void trace_open_load(struct reader *r, bool open);

/* Marks the tensor as read; an error where the kernel writes it. */
struct spec_tensor *trace_read(struct trace *t, int tensor, const char *word);

void trace_expect_arguments(lua_State *L, const char *word, int least, int most, const char *form);

/* The operand at `index`, whose extents must be known by now. */
struct program_tile trace_take_known(struct trace *t, int index, const char *word);

/* Indices of a result of which one direction remains: those that do not run along `gone`. */
void trace_keep_indices(struct trace *t, struct program_tile *tile, enum expr_op gone, enum expr_op kept);

/* ---- trace_rank.c ------------------------------------------------------------------------------------------------ */

int trace_rank(lua_State *L);    /* row_rank(x) */
int trace_segment(lua_State *L); /* row_segment_sum(x, numbers), ...; upvalue: enum program_reduction */

/* ---- trace_slice.c ----------------------------------------------------------------------------------------------- */

int trace_slice(lua_State *L); /* slice(tile, first, length) */

/* The tile is the second operand of a dot with so many rows: of a slice each has its own first row, or all have one. */
void trace_slice_for(struct trace *t, const struct program_tile *tile, int rows);

/* ---- trace_window.c --------------------------------------------------------------------------------------------- */

int trace_im2col(lua_State *L); /* im2col(t.X, pixels, tap, ..., channels, windows) */

/* ---- trace_access.c ---------------------------------------------------------------------------------------------- */

/* What a load or store addresses. */
struct trace_access {
    int tensor;
    struct program_coordinate at[SPEC_MAX_RANK];
    bool span[SPEC_MAX_RANK];
    int gathered;                /* dim, -1 */
    struct program_tile numbers; /* of a gather */
    struct program_tile tile;    /* extents, indices and conditions; set by trace_lay_out */
};

/* Reads the tensor at argument 1 and a coordinate for each dim behind it, then behind_least to behind_most arguments
 * more, which are left alone. */
struct trace_access trace_read_access(struct trace *t, const char *word, int behind_least, int behind_most,
                                      bool numbers);

/* The tile from the coordinates. `upright`, above 0: it is one column of so many rows, along which a single span runs,
 * or all spans where they make as many; 0: the last span makes the columns. */
void trace_lay_out(struct trace *t, const char *word, struct trace_access *a, int upright);

int trace_span(lua_State *L);  /* span(start, length [, limit]) */
int trace_range(lua_State *L); /* range(from, to [, step]) */
int trace_list(lua_State *L);  /* list(t.X, place, ..., from, to) */

/* rows(span): the coordinates of the span at that index of the stack, n x 1, as far as its limit. */
struct value trace_span_rows(struct trace *t, int index);

/* ---- trace_loop.c ------------------------------------------------------------------------------------------------ */

int trace_loop(lua_State *L); /* loop(name, range, { first values }, body [, options]) */

/* ---- trace_check.c ----------------------------------------------------------------------------------------------- */

/* Reports what is wrong with the program as a whole. */
void trace_check(struct trace *t);

#define TYPE_AT "place of the item"
#define TYPE_SIZES "sizes of the tile"
#define TYPE_SPAN "span"
#define TYPE_ALL "span of everything"
#define TYPE_RANGE "range"

struct trace_span {
    int start, limit; /* nodes; limit -1 */
    int64_t length;
    int body, epoch; /* as in struct value */
};
struct trace_range {
    int from, to;
    int64_t step;
    int list;                                    /* tensor, -1 */
    struct program_coordinate at[SPEC_MAX_RANK]; /* of the list: places of its leading dims */
    int body, epoch;
};

/* Raises an error where a span or range belongs to a turn or a program that is over. */
void trace_check_place(struct trace *t, int body, int epoch);

/* The trace that runs, or an error that `word` belongs into a program. */
struct trace *trace_of(lua_State *L, const char *word);

#endif
