/* The words of programs: each appends an operation, or makes a value that one takes. */
#include "read/trace.h"

#include <math.h>
#include <string.h>

enum { MOST_OPS = 4096 };

struct trace *trace_of(lua_State *L, const char *word)
{
    struct reader *r = reader_of(L);
    if (!r || !r->program)
        luaL_error(L, "%s belongs into the program of a kernel: program = function(t, at, tile) ... end", word);
    return r ? r->program : NULL;
}

/* ---- operations and what they give ----------------------------------------------------------------------------- */

int trace_append(struct trace *t, const struct program_op *op, const char *word)
{
    struct reader *r = t->r;
    struct program *p = t->p;
    if (r->fused && (op->kind == PROGRAM_REDUCE || op->kind == PROGRAM_RANK || op->kind == PROGRAM_SEGMENT))
        sandbox_fault(r->L, "PROGRAM-CALL", word,
                      "%s is of a whole tile, and %s computes element by element; write it in a program of your own",
                      word, r->fused);
    if (p->op_count == MOST_OPS)
        luaL_error(r->L, "the program has more than %d operations", MOST_OPS);
    if (p->op_count == t->capacity) { /* what a loop's passes drop is used again */
        int capacity = t->capacity ? 2 * t->capacity : 16;
        struct program_op *grown = arena_alloc(r->arena, (size_t)capacity * sizeof *grown);
        reader_check(r, grown);
        if (p->op_count)
            memcpy(grown, p->op, (size_t)p->op_count * sizeof *grown);
        p->op = grown;
        t->capacity = capacity;
    }
    struct program_op *added = &p->op[p->op_count];
    *added = *op;
    added->depth = t->depth;
    int line = 0, token, file = sandbox_token_where(r->L, 1, &line, &token), nth = 0;
    added->loc = sandbox_loc(r->sandbox, r->diags, file, line, 0);
    for (int i = 0; i < p->op_count; i++)
        nth += p->op[i].kind == op->kind && p->op[i].loc.line == line && p->op[i].loc.file == added->loc.file &&
               p->op[i].reduction == op->reduction && p->op[i].over_rows == op->over_rows;
    added->loc.column = token ? sandbox_running_column(r->sandbox, file, line, token, word)
                              : sandbox_call_column(r->sandbox, file, line, word, nth);
    if (r->diags->out_of_memory)
        sandbox_no_memory(r->L);
    if (added->tile.rows || added->tile.columns || t->provisional)
        added->tile.node = made(r, expr_leaf(p->graph, EXPR_TILE, trace_type(added->tile.dtype), p->op_count));
    return p->op_count++;
}

enum expr_type trace_type(enum tw_dtype dtype)
{
    if (dtype == TW_DTYPE_COUNT)
        return EXPR_PRED;
    return tw_dtype_info(dtype)->kind == TW_KIND_FLOAT ? EXPR_REAL : EXPR_INT;
}

struct value trace_result(struct trace *t, int op)
{
    struct value v = {.node = t->p->op[op].tile.node,
                      .epoch = t->r->epoch,
                      .body = t->body[t->depth].number,
                      .tile = t->p->op[op].tile};
    return v;
}

static int push_op(struct trace *t, const struct program_op *op, const char *word)
{
    struct value v = trace_result(t, trace_append(t, op, word));
    push_value(t->r, &v);
    return 1;
}

struct program_op trace_op(enum program_kind kind)
{
    struct program_op op = {.kind = kind, .tensor = -1, .loop = -1, .end = -1, .list = -1, .gathered = -1};
    op.tile = program_no_tile;
    for (int i = 0; i < 3; i++)
        op.arg[i] = program_no_tile;
    return op;
}

/* In a program of a family, which its user does not see, a dtype that does not fit is told of at the tensor that has
 * it, and that counts as one of `as` from then on; of one that was guessed nothing is told. False: the program is the
 * kernel's own. */
static bool refuse_dtype(struct trace *t, struct spec_tensor *tensor, enum tw_dtype as, bool guessed, const char *why)
{
    struct reader *r = t->r;
    if (!reader_kernel(r)->family)
        return false;
    tensor->dtype = as;
    if (guessed)
        return true;
    const char *path = arena_format(r->arena, "%s.dtype", tensor->name);
    reader_check(r, path);
    int aside = reader_aside(r);
    reader_fault(r, path, AT_VALUE, "TENSOR-DTYPE", "%s; write \"%s\"", why, tw_dtype_name(as));
    reader_aside_end(r, aside, false);
    return true;
}

struct program_tile trace_take_known(struct trace *t, int index, const char *word)
{
    struct program_tile tile = trace_take(t, index);
    if ((!tile.rows || !tile.columns) && !t->provisional)
        sandbox_fault(t->r->L, "PROGRAM-SHAPE", word,
                      "%s takes a tile of known extents, this one is %s; combine it with a loaded tile before", word,
                      trace_shape(t, tile.rows, tile.columns));
    return tile;
}

static void refuse_condition(struct trace *t, const struct program_tile *tile, const char *word)
{
    if (t->p->graph->node[tile->node].type == EXPR_PRED)
        sandbox_fault(t->r->L, "PROGRAM-DTYPE", word,
                      "%s takes numbers, this is a condition; where(condition, 1, 0) makes a number of it", word);
}

void trace_expect_arguments(lua_State *L, const char *word, int least, int most, const char *form)
{
    int count = lua_gettop(L);
    if (count < least || count > most)
        sandbox_fault(L, "PROGRAM-CALL", word, "%s takes %d%s argument%s, %d are given; write %s", word, least,
                      most > least ? " or more" : "", most == 1 ? "" : "s", count, form);
}

/* ---- loads and stores ------------------------------------------------------------------------------------------ */

struct spec_tensor *trace_read(struct trace *t, int tensor, const char *word)
{
    struct spec_tensor *read = &reader_kernel(t->r)->tensor[tensor];
    if (read->out)
        sandbox_fault(t->r->L, "PROGRAM-ACCESS", word,
                      "%s is written by this kernel and cannot be read in it; pass what it held before as another "
                      "tensor",
                      read->name);
    read->read = true;
    return read;
}

static int load(lua_State *L)
{
    struct trace *t = trace_of(L, "load");
    struct trace_access a = trace_read_access(t, "load", 0, 0, false);
    const struct spec_tensor *tensor = trace_read(t, a.tensor, "load");
    bool spans = false;
    for (int d = 0; d < tensor->rank; d++)
        spans |= a.span[d];
    if (!spans)
        sandbox_fault(
            L, "PROGRAM-COORDINATE", "load",
            "this is one element of %s, no tile; write t.%s[...] with a place for each dim, or span(start, 1)",
            tensor->name, tensor->name);
    trace_lay_out(t, "load", &a, 0);
    struct program_op op = trace_op(PROGRAM_LOAD);
    op.tensor = a.tensor;
    memcpy(op.at, a.at, sizeof op.at);
    op.tile = a.tile;
    op.tile.dtype = tensor->dtype;
    return push_op(t, &op, "load");
}

/* The numbers of rows, one a row: 1 x n is turned. */
static void upright_numbers(struct trace *t, struct trace_access *a, const char *word)
{
    if (a->gathered < 0)
        sandbox_fault(t->r->L, "PROGRAM-COORDINATE", word,
                      "%s takes the row numbers of one dim as a tile: numbers = load(t.ids, span(at.r, tile.r))", word);
    if (t->p->graph->node[a->numbers.node].type != EXPR_INT)
        sandbox_fault(t->r->L, "PROGRAM-DTYPE", word,
                      "row numbers of %s are whole numbers; load them from an integer tensor", word);
    if (a->numbers.rows == 1 && a->numbers.columns != 1) {
        struct program_op turn = trace_op(PROGRAM_TRANSPOSE);
        struct trace_leaves swap = {made(t->r, expr_leaf(t->p->graph, EXPR_COLUMN, EXPR_INT, 0)),
                                    made(t->r, expr_leaf(t->p->graph, EXPR_ROW, EXPR_INT, 0)), NULL};
        turn.arg[0] = a->numbers;
        turn.tile = a->numbers;
        turn.tile.rows = a->numbers.columns;
        turn.tile.columns = 1;
        turn.tile.valid_row = trace_replace(t, a->numbers.valid_column, &swap);
        turn.tile.valid_column = trace_replace(t, a->numbers.valid_row, &swap);
        for (int i = 0; i < SPEC_MAX_AXES; i++)
            turn.tile.index[i] = trace_replace(t, turn.tile.index[i], &swap);
        int at = trace_append(t, &turn, word); /* moves p->op */
        a->numbers = t->p->op[at].tile;
    }
    if (a->numbers.columns != 1 && !t->provisional)
        sandbox_fault(t->r->L, "PROGRAM-SHAPE", word, "row numbers of %s are n x 1 or 1 x n, these are %s", word,
                      trace_shape(t, a->numbers.rows, a->numbers.columns));
}

static int gather(lua_State *L)
{
    struct trace *t = trace_of(L, "gather");
    struct trace_access a = trace_read_access(t, "gather", 0, 0, true);
    const struct spec_tensor *tensor = trace_read(t, a.tensor, "gather");
    upright_numbers(t, &a, "gather");
    trace_lay_out(t, "gather", &a, 0);
    struct program_op op = trace_op(PROGRAM_GATHER);
    op.tensor = a.tensor;
    memcpy(op.at, a.at, sizeof op.at);
    op.arg[0] = a.numbers;
    op.gathered = a.gathered;
    op.tile = a.tile;
    op.tile.dtype = tensor->dtype;
    return push_op(t, &op, "gather");
}

/* The value at argument `index` laid over the place that is written. */
static struct program_tile take_stored(struct trace *t, const char *word, struct trace_access *a, int index)
{
    lua_State *L = t->r->L;
    struct spec_tensor *tensor = &reader_kernel(t->r)->tensor[a->tensor];
    struct value v = value_at(t->r, index);
    struct program_tile *own = &v.tile;
    trace_lay_out(t, word, a, own->columns == 1 && own->rows > 1 ? own->rows : 0);
    if ((own->rows > 1 && own->rows != a->tile.rows) || (own->columns > 1 && own->columns != a->tile.columns))
        sandbox_fault(L, "PROGRAM-SHAPE", word, "the place in %s is %s, the value is %s; write spans of its extents",
                      tensor->name, trace_shape(t, a->tile.rows, a->tile.columns),
                      trace_shape(t, own->rows, own->columns));
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        own->index[i] = own->index[i] == -1 ? a->tile.index[i] : own->index[i];
    struct program_tile tile = trace_resolve(t, &v);
    refuse_condition(t, &tile, word);
    bool real = t->p->graph->node[tile.node].type == EXPR_REAL;
    bool holds_real = tw_dtype_info(tensor->dtype)->kind == TW_KIND_FLOAT;
    const char *why =
        arena_format(t->r->arena, "%s is written with what is no whole number, and %s holds none but those",
                     tensor->name, tw_dtype_name(tensor->dtype));
    reader_check(t->r, why);
    if (real && !holds_real && !refuse_dtype(t, tensor, TW_BF16, tensor->dtype_guessed, why))
        sandbox_fault(L, "PROGRAM-DTYPE", word,
                      "%s holds %s and the value is no whole number; give it a floating dtype", tensor->name,
                      tw_dtype_name(tensor->dtype));
    if (!own->rows)
        tile.rows = a->tile.rows;
    if (!own->columns)
        tile.columns = a->tile.columns;
    tile.valid_row = trace_and(t, tile.valid_row, a->tile.valid_row);
    tile.valid_column = trace_and(t, tile.valid_column, a->tile.valid_column);
    return tile;
}

static void expect_output(struct trace *t, const struct trace_access *a, const char *word)
{
    const struct spec_tensor *tensor = &reader_kernel(t->r)->tensor[a->tensor];
    if (!tensor->out)
        sandbox_fault(t->r->L, "PROGRAM-ACCESS", word, "%s is no output of this kernel; write out = true in its tensor",
                      tensor->name);
}

static int store_as(lua_State *L, enum program_kind kind, const char *word)
{
    struct trace *t = trace_of(L, word);
    struct trace_access a = trace_read_access(t, word, 1, 1, false);
    expect_output(t, &a, word);
    struct program_op op = trace_op(kind);
    op.tensor = a.tensor;
    op.arg[0] = take_stored(t, word, &a, lua_gettop(L));
    memcpy(op.at, a.at, sizeof op.at);
    trace_append(t, &op, word);
    return 0;
}

static int store(lua_State *L)
{
    return store_as(L, PROGRAM_STORE, "store");
}

static int store_add(lua_State *L)
{
    return store_as(L, PROGRAM_STORE_ADD, "store_add");
}

/* scatter_add(t.X, numbers, span, value [, key]) */
static int scatter_add(lua_State *L)
{
    struct trace *t = trace_of(L, "scatter_add");
    struct trace_access a = trace_read_access(t, "scatter_add", 1, 2, true);
    int rank = reader_kernel(t->r)->tensor[a.tensor].rank;
    expect_output(t, &a, "scatter_add");
    upright_numbers(t, &a, "scatter_add");
    struct program_op op = trace_op(PROGRAM_SCATTER_ADD);
    op.tensor = a.tensor;
    op.gathered = a.gathered;
    op.arg[0] = take_stored(t, "scatter_add", &a, rank + 2);
    op.arg[1] = a.numbers;
    if (lua_gettop(L) == rank + 3) {
        op.arg[2] = trace_take_known(t, rank + 3, "scatter_add");
        if (t->p->graph->node[op.arg[2].node].type != EXPR_INT || op.arg[2].columns != 1)
            sandbox_fault(L, "PROGRAM-DTYPE", "scatter_add",
                          "the key of scatter_add is a whole number for each row, n x 1: sums are made in its order");
    }
    memcpy(op.at, a.at, sizeof op.at);
    trace_append(t, &op, "scatter_add");
    return 0;
}

/* ---- dot, reductions, transposition ---------------------------------------------------------------------------- */

void trace_keep_indices(struct trace *t, struct program_tile *tile, enum expr_op gone, enum expr_op kept)
{
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        if (tile->index[i] >= 0 && trace_has(t, tile->index[i], gone))
            tile->index[i] = trace_has(t, tile->index[i], kept) ? -2 : -1;
}

static bool is_byte_integer(enum tw_dtype dtype)
{
    return dtype == TW_INT8 || dtype == TW_UINT8;
}

static bool is_integer(enum tw_dtype dtype)
{
    return dtype != TW_DTYPE_COUNT && trace_type(dtype) == EXPR_INT;
}

static bool is_float(enum tw_dtype dtype)
{
    return dtype != TW_DTYPE_COUNT && tw_dtype_info(dtype)->kind == TW_KIND_FLOAT;
}

/* The load that gave a tile, turned or not; NULL: it is computed. */
static struct program_op *load_of(struct trace *t, const struct program_tile *tile)
{
    const struct expr_node *n = &t->p->graph->node[tile->node];
    struct program_op *op = n->op == EXPR_TILE ? &t->p->op[n->integer] : NULL;
    if (op && op->kind == PROGRAM_TRANSPOSE)
        return load_of(t, &op->arg[0]);
    return op && op->kind == PROGRAM_LOAD ? op : NULL;
}

/* Both are tiles of a family's tensors: the second that is none of the first's dtype, or the first that is no float, is
 * told of. */
static bool refuse_operands(struct trace *t, struct program_tile *a, struct program_tile *b)
{
    struct program_op *loads[2] = {load_of(t, a), load_of(t, b)};
    struct spec_kernel *k = reader_kernel(t->r);
    if (!loads[0] || !loads[1])
        return false;
    const bool first = !is_float(a->dtype) || (is_float(b->dtype) && a->dtype == TW_FP32);
    struct program_tile *wrong = first ? a : b, *right = first ? b : a;
    enum tw_dtype as = is_float(right->dtype) ? right->dtype : TW_BF16;
    const char *why =
        arena_format(t->r->arena, "%s and %s are multiplied, which are floats of one dtype, not %s and %s",
                     k->tensor[loads[0]->tensor].name, k->tensor[loads[1]->tensor].name, tw_dtype_name(a->dtype),
                     tw_dtype_name(b->dtype));
    reader_check(t->r, why);
    const bool guessed = k->tensor[loads[0]->tensor].dtype_guessed || k->tensor[loads[1]->tensor].dtype_guessed;
    if (!refuse_dtype(t, &k->tensor[loads[first ? 0 : 1]->tensor], as, guessed, why))
        return false;
    wrong->dtype = loads[first ? 0 : 1]->tile.dtype = as;
    return true;
}

static void check_operands(struct trace *t, struct program_tile *a, struct program_tile *b)
{
    lua_State *L = t->r->L;
    bool both_bytes = tw_dtype_bytes(a->dtype < TW_DTYPE_COUNT ? a->dtype : TW_FP32) == 1 &&
                      tw_dtype_bytes(b->dtype < TW_DTYPE_COUNT ? b->dtype : TW_FP32) == 1;
    bool floats = is_float(a->dtype) && is_float(b->dtype) && (a->dtype == b->dtype || both_bytes);
    bool integers = is_byte_integer(a->dtype) && is_byte_integer(b->dtype);
    if (a->columns != b->rows && !(t->provisional && (!a->columns || !b->rows)))
        sandbox_fault(L, "PROGRAM-SHAPE", "dot",
                      "dot(a, b) takes m x k and k x n, these are %s and %s; b:t() turns rows and columns",
                      trace_shape(t, a->rows, a->columns), trace_shape(t, b->rows, b->columns));
    if (!floats && !integers && !t->provisional && !refuse_operands(t, a, b)) {
        const char *x = a->dtype < TW_DTYPE_COUNT ? tw_dtype_name(a->dtype) : "a condition";
        const char *y = b->dtype < TW_DTYPE_COUNT ? tw_dtype_name(b->dtype) : "a condition";
        if ((is_byte_integer(a->dtype) && is_integer(b->dtype)) || (is_integer(a->dtype) && is_byte_integer(b->dtype)))
            sandbox_fault(L, "PROGRAM-DTYPE", "dot",
                          "dot multiplies integers of 8 bits, as they are loaded; these are %s and %s; give it what "
                          "load gives, and compute with the product",
                          x, y);
        sandbox_fault(L, "PROGRAM-DTYPE", "dot",
                      "dot multiplies floats of one dtype; these are %s and %s; write cast(x, \"%s\")", x, y,
                      is_float(b->dtype) && b->dtype != TW_FP32 ? y
                      : is_float(a->dtype)                      ? x
                                                                : "bf16");
    }
}

/* A square second operand fits both ways. Where its columns run along the axis that the first one's do, and its rows
 * along another, it lies the wrong way. */
static void check_square(struct trace *t, const struct program_tile *a, const struct program_tile *b)
{
    if (b->rows != b->columns || b->rows <= 1)
        return;
    for (int axis = 0; axis < t->p->axis_count; axis++) {
        if (trace_runs_along(t, a, axis) != EXPR_COLUMN || trace_runs_along(t, b, axis) != EXPR_COLUMN)
            continue;
        for (int other = 0; other < t->p->axis_count; other++)
            if (other != axis && trace_runs_along(t, b, other) == EXPR_ROW && a->index[other] == -1)
                sandbox_fault(t->r->L, "PROGRAM-AXES", "dot",
                              "dot sums along the first one's columns, which run along %s, as do the second one's "
                              "columns and not its rows, which run along %s; write :t() behind the second",
                              t->p->axis[axis].name, t->p->axis[other].name);
    }
}

/* The accumulator of a dot: zero where there is none. */
static struct program_tile take_accumulator(struct trace *t, int index, const struct program_tile *product)
{
    struct program_tile c = program_no_tile;
    const struct expr_graph *g = t->p->graph;
    if (lua_isnoneornil(t->r->L, index))
        return c;
    c = trace_take(t, index);
    const struct expr_node *n = &g->node[c.node];
    if ((n->op == EXPR_CONST_INT && n->integer == 0) || (n->op == EXPR_CONST_REAL && n->real == 0))
        return program_no_tile;
    if (t->provisional)
        return c;
    if (c.rows != product->rows || c.columns != product->columns)
        sandbox_fault(t->r->L, "PROGRAM-SHAPE", "dot", "the product is %s, the tile that it is added to is %s",
                      trace_shape(t, product->rows, product->columns), trace_shape(t, c.rows, c.columns));
    if (n->type != trace_type(product->dtype))
        sandbox_fault(t->r->L, "PROGRAM-DTYPE", "dot", "the product is %s, the tile that it is added to is %s",
                      tw_dtype_name(product->dtype), c.dtype < TW_DTYPE_COUNT ? tw_dtype_name(c.dtype) : "a condition");
    return c;
}

static int dot(lua_State *L)
{
    struct trace *t = trace_of(L, "dot");
    trace_expect_arguments(L, "dot", 2, 3, "dot(a, b) or dot(a, b, c)");
    struct program_op op = trace_op(PROGRAM_DOT);
    struct program_tile a = op.arg[0] = trace_take_known(t, 1, "dot"), b = op.arg[1] = trace_take_known(t, 2, "dot");
    check_operands(t, &op.arg[0], &op.arg[1]);
    check_square(t, &op.arg[0], &op.arg[1]);
    trace_slice_for(t, &op.arg[1], a.rows);
    a.dtype = op.arg[0].dtype;
    b.dtype = op.arg[1].dtype;
    trace_keep_indices(t, &a, EXPR_COLUMN, EXPR_ROW);
    trace_keep_indices(t, &b, EXPR_ROW, EXPR_COLUMN);
    op.tile = program_no_tile;
    op.tile.rows = a.rows;
    op.tile.columns = b.columns;
    op.tile.dtype = is_byte_integer(a.dtype) && is_byte_integer(b.dtype) ? TW_INT32 : TW_FP32;
    op.tile.valid_row = a.valid_row;
    op.tile.valid_column = b.valid_column;
    struct program_tile c = op.arg[2] = take_accumulator(t, 3, &op.tile);
    struct value part[3] = {{.tile = a}, {.tile = b}, {.tile = c}}, joined = {.tile = op.tile};
    for (int i = 0; i < 3; i++) { /* indices alone are joined */
        part[i].body = t->body[t->depth].number;
        part[i].tile.rows = part[i].tile.columns = 1;
        part[i].tile.valid_row = part[i].tile.valid_column = -1;
    }
    program_merge(t->r, "dot", part, 3, &joined);
    memcpy(op.tile.index, joined.tile.index, sizeof op.tile.index);
    op.tile.valid_row = trace_and(t, op.tile.valid_row, c.valid_row);
    op.tile.valid_column = trace_and(t, op.tile.valid_column, c.valid_column);
    return push_op(t, &op, "dot");
}

static const struct {
    const char *name;
    enum program_reduction reduction;
    bool over_rows;
} reductions[] = {
    {"row_sum", PROGRAM_SUM, false},   {"row_max", PROGRAM_MAX, false},   {"row_min", PROGRAM_MIN, false},
    {"column_sum", PROGRAM_SUM, true}, {"column_max", PROGRAM_MAX, true}, {"column_min", PROGRAM_MIN, true},
};

/* row_sum(x), ...; upvalue: the row of `reductions`. */
static int reduce(lua_State *L)
{
    lua_Integer which = lua_tointeger(L, lua_upvalueindex(1));
    const char *word = reductions[which].name;
    struct trace *t = trace_of(L, word);
    trace_expect_arguments(L, word, 1, 1, "row_sum(tile)");
    struct program_op op = trace_op(PROGRAM_REDUCE);
    op.arg[0] = trace_take_known(t, 1, word);
    refuse_condition(t, &op.arg[0], word);
    op.reduction = reductions[which].reduction;
    op.over_rows = reductions[which].over_rows;
    op.tile = op.arg[0];
    enum expr_op gone = op.over_rows ? EXPR_ROW : EXPR_COLUMN, kept = op.over_rows ? EXPR_COLUMN : EXPR_ROW;
    trace_keep_indices(t, &op.tile, gone, kept);
    *(op.over_rows ? &op.tile.rows : &op.tile.columns) = 1;
    *(op.over_rows ? &op.tile.valid_row : &op.tile.valid_column) = -1;
    if (op.reduction == PROGRAM_SUM)
        op.tile.dtype = trace_type(op.tile.dtype) == EXPR_REAL ? TW_FP32 : TW_INT64;
    return push_op(t, &op, word);
}

/* tile:t() */
static int transpose(lua_State *L)
{
    struct trace *t = trace_of(L, "t");
    struct program_op op = trace_op(PROGRAM_TRANSPOSE);
    if (lua_gettop(L) != 1)
        luaL_error(L, "t takes no arguments: tile:t()");
    struct program_tile a = op.arg[0] = trace_take_known(t, 1, "t");
    struct trace_leaves swap = {made(t->r, expr_leaf(t->p->graph, EXPR_COLUMN, EXPR_INT, 0)),
                                made(t->r, expr_leaf(t->p->graph, EXPR_ROW, EXPR_INT, 0)), NULL};
    op.tile = a;
    op.tile.rows = a.columns;
    op.tile.columns = a.rows;
    op.tile.valid_row = trace_replace(t, a.valid_column, &swap);
    op.tile.valid_column = trace_replace(t, a.valid_row, &swap);
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        op.tile.index[i] = trace_replace(t, a.index[i], &swap);
    return push_op(t, &op, "t");
}

/* pick(tile, column): of a tile as it was loaded. */
static int pick(lua_State *L)
{
    struct trace *t = trace_of(L, "pick");
    trace_expect_arguments(L, "pick", 2, 2, "pick(tile, column)");
    struct program_op op = trace_op(PROGRAM_PICK);
    op.arg[0] = trace_take_known(t, 1, "pick");
    const struct expr_node *n = &t->p->graph->node[op.arg[0].node];
    if (n->op != EXPR_TILE || (t->p->op[n->integer].kind != PROGRAM_LOAD && !t->provisional))
        sandbox_fault(L, "PROGRAM-CALL", "pick", "pick takes a tile as it was loaded; pick first, and compute then");
    if (!lua_isinteger(L, 2) || lua_tointeger(L, 2) < 0 || lua_tointeger(L, 2) >= op.arg[0].columns)
        sandbox_fault(L, "PROGRAM-CALL", "pick", "the tile has %d columns; write a plain number of 0 to %d",
                      op.arg[0].columns, op.arg[0].columns - 1);
    op.which = (int)lua_tointeger(L, 2);
    int at = made(t->r, expr_int(t->p->graph, op.which));
    struct trace_leaves leaves = {made(t->r, expr_leaf(t->p->graph, EXPR_ROW, EXPR_INT, 0)), at, NULL};
    op.tile = op.arg[0];
    op.tile.columns = 1;
    op.tile.valid_row = trace_and(t, op.arg[0].valid_row, trace_replace(t, op.arg[0].valid_column, &leaves));
    op.tile.valid_column = -1;
    for (int i = 0; i < SPEC_MAX_AXES; i++)
        op.tile.index[i] = trace_replace(t, op.tile.index[i], &leaves);
    return push_op(t, &op, "pick");
}

static int stage(lua_State *L)
{
    struct trace *t = trace_of(L, "stage");
    trace_expect_arguments(L, "stage", 1, 1, "stage(tile)");
    struct program_op op = trace_op(PROGRAM_STAGE);
    op.arg[0] = trace_take_known(t, 1, "stage");
    refuse_condition(t, &op.arg[0], "stage");
    op.tile = op.arg[0];
    return push_op(t, &op, "stage");
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static int push_shaped(struct trace *t, const struct value *from, int rows, int columns)
{
    struct value v = *from;
    v.tile.rows = rows;
    v.tile.columns = columns;
    push_value(t->r, &v);
    return 1;
}

/* A tile of one number whose extents come from what it is combined with: zeros(), rows(v), columns(v); of rows(span)
 * the span's coordinates. Upvalue: 0, 1, 2. */
static int fill(lua_State *L)
{
    static const char *const name[] = {"zeros", "rows", "columns"};
    lua_Integer which = lua_tointeger(L, lua_upvalueindex(1));
    struct trace *t = trace_of(L, name[which]);
    trace_expect_arguments(L, name[which], which > 0, which > 0, which ? "rows(0) or rows(-inf)" : "zeros()");
    if (which == 1 && luaL_testudata(L, 1, TYPE_SPAN)) {
        struct value along = trace_span_rows(t, 1);
        push_value(t->r, &along);
        return 1;
    }
    if (which == 0)
        lua_pushinteger(L, 0);
    struct value v = value_at(t->r, 1);
    if (v.tile.rows != 1 || v.tile.columns != 1)
        sandbox_fault(L, "PROGRAM-SHAPE", name[which], "%s takes one number, this is a tile of %s", name[which],
                      trace_shape(t, v.tile.rows, v.tile.columns));
    return push_shaped(t, &v, which == 2 ? 1 : 0, which == 1 ? 1 : 0);
}

/* row(), column(): where in its tile an element stands. Upvalue: the leaf. */
static int position(lua_State *L)
{
    enum expr_op op = (enum expr_op)lua_tointeger(L, lua_upvalueindex(1));
    struct trace *t = trace_of(L, op == EXPR_ROW ? "row" : "column");
    push_node(t->r, expr_leaf(t->p->graph, op, EXPR_INT, 0));
    return 1;
}

static int indices(lua_State *L)
{
    trace_of(L, "index");
    lua_newtable(L);
    luaL_setmetatable(L, TYPE_INDICES);
    return 1;
}

/* where(condition, yes, no), element by element. */
static int where(lua_State *L)
{
    struct trace *t = trace_of(L, "where");
    trace_expect_arguments(L, "where", 3, 3, "where(condition, yes, no)");
    if (lua_isboolean(L, 1)) { /* what lt gives of plain numbers */
        lua_pushvalue(L, lua_toboolean(L, 1) ? 2 : 3);
        return 1;
    }
    struct expr_graph *g = t->p->graph;
    struct value v[3];
    for (int i = 0; i < 3; i++)
        v[i] = value_at(t->r, i + 1);
    if (g->node[v[0].node].type != EXPR_PRED || g->node[v[1].node].type == EXPR_PRED ||
        g->node[v[2].node].type == EXPR_PRED)
        sandbox_fault(L, "PROGRAM-DTYPE", "where", "where takes a condition and two values: where(lt(a, b), a, b)");
    push_result(t->r, "where", expr_select(g, v[0].node, v[1].node, v[2].node), v, 3);
    return 1;
}

/* ratio(a, b, fallback): a / b, and the fallback where b is 0. */
static int ratio(lua_State *L)
{
    struct trace *t = trace_of(L, "ratio");
    trace_expect_arguments(L, "ratio", 3, 3, "ratio(a, b, fallback)");
    struct expr_graph *g = t->p->graph;
    struct value v[3];
    for (int i = 0; i < 3; i++) {
        v[i] = value_at(t->r, i + 1);
        if (g->node[v[i].node].type == EXPR_PRED)
            sandbox_fault(L, "PROGRAM-DTYPE", "ratio", "ratio takes numbers, argument %d is a condition", i + 1);
    }
    int none = made(t->r, expr_binary(g, EXPR_EQ, v[1].node, made(t->r, expr_int(g, 0))));
    int quotient = made(t->r, expr_binary(g, EXPR_DIV, v[0].node, v[1].node));
    push_result(t->r, "ratio", expr_select(g, none, v[2].node, quotient), v, 3);
    return 1;
}

/* A word of the language that nothing stands behind yet. */
static int later(lua_State *L)
{
    lua_Debug ar;
    bool known = lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && ar.name;
    const char *word = known ? ar.name : "this word";
    trace_of(L, word);
    return sandbox_fault(L, "PROGRAM-LATER", word,
                         "%s is a word of programs that is not built yet; write a kernel with its own template, "
                         "template = \"FILE.cu\"",
                         word);
}

/* ---- methods --------------------------------------------------------------------------------------------------- */

static bool is_named_alike(const struct program *p, const char *name, int *op)
{
    for (*op = 0; *op < p->op_count; ++*op)
        if (p->op[*op].name && strcmp(p->op[*op].name, name) == 0)
            return true;
    return false;
}

/* tile:as "NAME" names the operation that gave the tile; gives the tile. */
static int name_operation(lua_State *L)
{
    struct trace *t = trace_of(L, "as");
    int other;
    if (lua_gettop(L) != 2 || lua_type(L, 2) != LUA_TSTRING || !is_identifier(lua_tostring(L, 2)))
        sandbox_fault(L, "PROGRAM-NAME", "as", "as takes a name of letters, digits and _: dot(a, b):as \"s\"");
    struct value v = value_at(t->r, 1);
    const struct expr_node *n = &t->p->graph->node[v.node];
    enum program_kind kind = n->op == EXPR_TILE ? t->p->op[n->integer].kind : PROGRAM_KIND_COUNT;
    if (kind == PROGRAM_KIND_COUNT || kind == PROGRAM_PARAM || kind == PROGRAM_RESULT)
        sandbox_fault(L, "PROGRAM-NAME", "as",
                      "only what an operation gave has a name; write it behind the call: dot(a, b):as \"s\"");
    const char *name = arena_text(t->r->arena, lua_tostring(L, 2));
    reader_check(t->r, name);
    if (is_named_alike(t->p, name, &other))
        sandbox_fault(L, "PROGRAM-NAME", "as", "the name '%s' is that of an operation in line %d; give each its own",
                      name, t->p->op[other].loc.line);
    t->p->op[n->integer].name = name;
    lua_settop(L, 1);
    return 1;
}

int program_method(lua_State *L)
{
    const struct reader *r = reader_of(L);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    if (!r || !r->program)
        return luaL_error(L, "an expression of sizes has no fields; write + - * // and %% of it");
    if (name && strcmp(name, "as") == 0)
        lua_pushcfunction(L, name_operation);
    else if (name && strcmp(name, "t") == 0)
        lua_pushcfunction(L, transpose);
    else
        return sandbox_fault(
            L, "PROGRAM-CALL", name,
            "a tile has no %s; it has :as \"name\" and :t(), and t.X[i][j] reads an element of a tensor",
            name ? name : "elements");
    return 1;
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    lua_CFunction f;
    int upvalue; /* -1: none */
} words[] = {
#define PROGRAM_WORD(name, function, upvalue, form, doc) {name, function, upvalue},
#include "spec/program_words.def"
#undef PROGRAM_WORD
};

void trace_open_words(struct reader *r)
{
    lua_State *L = r->L;
    static const char *const type[] = {TYPE_SPAN, TYPE_ALL, TYPE_RANGE};
    for (size_t i = 0; i < sizeof type / sizeof *type; i++) {
        luaL_newmetatable(L, type[i]);
        lua_pop(L, 1);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!words[i].f)
            continue;
        if (words[i].upvalue >= 0)
            lua_pushinteger(L, words[i].upvalue);
        lua_pushcclosure(L, words[i].f, words[i].upvalue >= 0);
        sandbox_set_global(r->sandbox, words[i].name);
    }
    lua_newuserdatauv(L, 1, 0);
    luaL_setmetatable(L, TYPE_ALL);
    sandbox_set_global(r->sandbox, "all");
    lua_pushnumber(L, (lua_Number)INFINITY);
    sandbox_set_global(r->sandbox, "inf");
}

/* Outside of programs load is the name of Lua's own function, which the sandbox leaves out. */
void trace_open_load(struct reader *r, bool open)
{
    if (open)
        lua_pushcfunction(r->L, load);
    else
        lua_pushnil(r->L);
    sandbox_set_global(r->sandbox, "load");
}
