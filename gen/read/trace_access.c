/* What loads and stores address: places, spans, and the tile that they make of a tensor. */
#include "read/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LENGTH = 1 << 20 };

/* ---- coordinates ----------------------------------------------------------------------------------------------- */

/* A whole number that sizes, places, loops and elements of tensors decide; never what an operation gave. */
static int place_node(struct trace *t, const struct value *v, const char *word, const char *what)
{
    lua_State *L = t->r->L;
    const struct expr_graph *g = t->p->graph;
    if (g->node[v->node].type != EXPR_INT)
        sandbox_fault(L, "PROGRAM-COORDINATE", word,
                      "%s of %s is a whole number, this is %s; index arithmetic takes //", what, word,
                      type_word(g->node[v->node].type));
    if (trace_has(t, v->node, EXPR_TILE))
        sandbox_fault(L, "PROGRAM-COORDINATE", word,
                      "%s of %s comes from sizes, at, loops and elements of tensors such as t.table[at.b], not from a "
                      "tile; rows by their numbers are loaded by gather(t.X, numbers, all)",
                      what, word);
    if (trace_has(t, v->node, EXPR_ROW) || trace_has(t, v->node, EXPR_COLUMN) || trace_has(t, v->node, EXPR_INDEX))
        sandbox_fault(L, "PROGRAM-COORDINATE", word,
                      "%s of %s is one place for the whole tile; row(), column() and index() differ from element to "
                      "element, write span(start, length)",
                      what, word);
    return v->node;
}

/* An argument as such a number; *body becomes the deeper of both. */
static int place_at(struct trace *t, int index, const char *word, const char *what, struct value *where)
{
    int64_t integer;
    if (exact_integer(t->r->L, index, &integer))
        return made(t->r, expr_int(t->p->graph, integer));
    if (lua_type(t->r->L, index) != LUA_TNUMBER && !is_symbolic(t->r->L, index))
        sandbox_fault(t->r->L, "PROGRAM-COORDINATE", word, "%s of %s is a whole number or an expression, this is %s",
                      what, word, describe(t->r, index));
    struct value v = value_at(t->r, index), both[2] = {*where, v};
    program_merge(t->r, word, both, 2, where);
    return place_node(t, &v, word, what);
}

static int64_t constant_at(struct trace *t, int index, const char *word, const char *what)
{
    lua_State *L = t->r->L;
    int64_t value = 0;
    bool constant = exact_integer(L, index, &value);
    if (!constant && luaL_testudata(L, index, TYPE_EXPRESSION)) {
        struct value v = value_at(t->r, index);
        constant = expr_is_int(t->p->graph, v.node, &value);
    }
    if (!constant)
        sandbox_fault(L, "PROGRAM-EXTENT", word,
                      "the %s of %s is a constant whole number, this is %s; write a number or a size of tile", what,
                      word, describe(t->r, index));
    if (value < 1 || value > MOST_LENGTH)
        sandbox_fault(L, "PROGRAM-EXTENT", word, "the %s of %s is %lld; write 1 to %d", what, word, (long long)value,
                      MOST_LENGTH);
    return value;
}

void trace_check_place(struct trace *t, int body, int epoch)
{
    struct value v = {.epoch = epoch, .body = body};
    if (epoch != t->r->epoch)
        luaL_error(t->r->L, "this span or range belongs to another program; a span lives while its program is traced");
    program_check_body(t->r, &v);
}

/* span(start, length [, limit]) */
int trace_span(lua_State *L)
{
    struct trace *t = trace_of(L, "span");
    trace_expect_arguments(L, "span", 2, 3, "span(start, length) or span(start, length, limit)");
    struct value where = plain_value(t->r, made(t->r, expr_int(t->p->graph, 0)));
    struct trace_span span = {.limit = -1};
    span.start = place_at(t, 1, "span", "the start", &where);
    span.length = constant_at(t, 2, "span", "length");
    if (!lua_isnoneornil(L, 3))
        span.limit = place_at(t, 3, "span", "the limit", &where);
    span.body = where.body;
    span.epoch = t->r->epoch;
    struct trace_span *made_span = lua_newuserdatauv(L, sizeof span, 0);
    *made_span = span;
    luaL_setmetatable(L, TYPE_SPAN);
    return 1;
}

struct value trace_span_rows(struct trace *t, int index)
{
    struct expr_graph *g = t->p->graph;
    const struct trace_span *span = luaL_checkudata(t->r->L, index, TYPE_SPAN);
    trace_check_place(t, span->body, span->epoch);
    const int row = span->length > 1 ? expr_leaf(g, EXPR_ROW, EXPR_INT, 0) : expr_int(g, 0);
    struct value v = plain_value(t->r, made(t->r, expr_binary(g, EXPR_ADD, span->start, made(t->r, row))));
    v.tile.rows = (int)span->length;
    v.body = span->body;
    if (span->limit >= 0 && !trace_at_most(t, span->start, span->length, span->limit))
        v.tile.valid_row = made(t->r, expr_binary(g, EXPR_LT, v.node, span->limit));
    return v;
}

int trace_range(lua_State *L)
{
    struct trace *t = trace_of(L, "range");
    trace_expect_arguments(L, "range", 2, 3, "range(from, to) or range(from, to, step)");
    struct value where = plain_value(t->r, made(t->r, expr_int(t->p->graph, 0)));
    struct trace_range range = {.step = 1, .list = -1};
    range.from = place_at(t, 1, "range", "the first value", &where);
    range.to = place_at(t, 2, "range", "the end", &where);
    if (!lua_isnoneornil(L, 3))
        range.step = constant_at(t, 3, "range", "step");
    range.body = where.body;
    range.epoch = t->r->epoch;
    struct trace_range *made_range = lua_newuserdatauv(L, sizeof range, 0);
    *made_range = range;
    luaL_setmetatable(L, TYPE_RANGE);
    return 1;
}

/* The tensor at argument 1. */
static int tensor_at(struct trace *t, const char *word)
{
    lua_State *L = t->r->L;
    const struct element *e = luaL_testudata(L, 1, TYPE_ELEMENT);
    if (!e || e->count)
        sandbox_fault(L, "PROGRAM-CALL", word, "%s takes a tensor of the kernel first, this is %s; write %s(t.X, ...)",
                      word, describe(t->r, 1), word);
    if (e->epoch != t->r->epoch)
        luaL_error(L, "this tensor belongs to another function; use the argument t of the program");
    return e->tensor;
}

static void read_coordinate(struct trace *t, const char *word, struct trace_access *a, int d, int index, bool numbers)
{
    lua_State *L = t->r->L;
    struct spec_kernel *k = reader_kernel(t->r);
    const struct spec_tensor *tensor = &k->tensor[a->tensor];
    const struct trace_span *span = luaL_testudata(L, index, TYPE_SPAN);
    struct program_coordinate *c = &a->at[d];
    *c = (struct program_coordinate){.limit = -1};
    int64_t extent;
    if (span) {
        trace_check_place(t, span->body, span->epoch);
        *c = (struct program_coordinate){span->start, (int)span->length, span->limit, false};
        a->span[d] = true;
        return;
    }
    if (luaL_testudata(L, index, TYPE_ALL)) {
        if (!expr_is_int(&k->shape, tensor->dim[d], &extent))
            sandbox_fault(L, "PROGRAM-EXTENT", word,
                          "all takes a dim of constant extent, and dim %d of %s is known at launch only; write "
                          "span(start, length)",
                          d + 1, tensor->name);
        if (extent > MOST_LENGTH)
            sandbox_fault(L, "PROGRAM-EXTENT", word, "dim %d of %s has %lld elements, too many for a tile; write span",
                          d + 1, tensor->name, (long long)extent);
        *c = (struct program_coordinate){made(t->r, expr_int(t->p->graph, 0)), (int)extent, -1, false};
        a->span[d] = true;
        return;
    }
    if (numbers && is_symbolic(L, index)) {
        struct value v = value_at(t->r, index);
        if (trace_has(t, v.node, EXPR_TILE) || v.tile.rows > 1) {
            if (a->gathered >= 0)
                sandbox_fault(L, "PROGRAM-COORDINATE", word, "%s takes one dim by row numbers, these are two", word);
            a->gathered = d;
            a->numbers = trace_resolve(t, &v);
            c->start = made(t->r, expr_int(t->p->graph, 0));
            return;
        }
    }
    char what[32];
    snprintf(what, sizeof what, "coordinate %d", d + 1);
    struct value where = plain_value(t->r, made(t->r, expr_int(t->p->graph, 0)));
    c->start = place_at(t, index, word, what, &where);
}

/* The axis whose item a place is, but for a number: at.q, at.q - 1; -1: none. at.h // 4 may be another axis's. */
static int axis_of(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    while (n->op == EXPR_ADD || n->op == EXPR_SUB) {
        bool right = g->node[n->arg[1]].op == EXPR_CONST_INT, left = g->node[n->arg[0]].op == EXPR_CONST_INT;
        if (!right && (!left || n->op == EXPR_SUB))
            return -1;
        n = &g->node[n->arg[right ? 0 : 1]];
    }
    return n->op == EXPR_AT ? (int)n->integer : -1;
}

/* A place along another axis than its dim's, where both have items: dims in another order than the program takes them.
 * (Along an axis without items a place can only come from others: at.h is the group where groups are of one head.) */
static void check_axis(struct trace *t, const char *word, const struct trace_access *a, int d)
{
    const struct spec_tensor *tensor = &reader_kernel(t->r)->tensor[a->tensor];
    int own = tensor->axis[d], axis = axis_of(t->p->graph, a->at[d].start);
    const struct program_axis *of = t->p->axis;
    if (!tensor->axes_given || own < 0 || axis < 0 || axis == own || of[own].extent < 0)
        return;
    sandbox_fault(t->r->L, "PROGRAM-AXIS", word,
                  "dim %d of %s is axis %s, and at.%s runs along %s; write at.%s there, or the axes of %s in the order "
                  "of its dims (none where it is read along several)",
                  d + 1, tensor->name, of[own].name, of[axis].name, of[axis].name, of[own].name, tensor->name);
}

/* Conditions that the positions of a span must fulfil to be inside. */
static int inside(struct trace *t, const struct program_coordinate *c, int position, int extent)
{
    struct reader *r = t->r;
    struct expr_graph *g = t->p->graph;
    int condition = -1, zero = made(r, expr_int(g, 0));
    if (!trace_natural(t, c->start))
        condition = made(r, expr_binary(g, EXPR_GE, position, zero));
    if (!trace_at_most(t, c->start, c->length, extent))
        condition = trace_and(t, condition, made(r, expr_binary(g, EXPR_LT, position, extent)));
    if (c->limit >= 0 && !trace_at_most(t, c->start, c->length, c->limit))
        condition = trace_and(t, condition, made(r, expr_binary(g, EXPR_LT, position, c->limit)));
    return condition;
}

void trace_lay_out(struct trace *t, const char *word, struct trace_access *a, int upright)
{
    struct reader *r = t->r;
    struct expr_graph *g = t->p->graph;
    const struct spec_kernel *k = reader_kernel(r);
    const struct spec_tensor *tensor = &k->tensor[a->tensor];
    int last = -1, spans = 0;
    int64_t rows = 1, all = 1;
    for (int d = 0; d < tensor->rank; d++)
        if (a->span[d]) {
            last = d, spans++;
            all = all > MOST_LENGTH ? all : all * a->at[d].length;
        }
    if (upright && (spans == 1 || (all == upright && a->at[last].length > 1)) && a->gathered < 0)
        last = -1;
    if (a->gathered >= 0 && (spans > 1 || a->gathered > last))
        sandbox_fault(
            r->L, "PROGRAM-COORDINATE", word,
            "%s takes row numbers in one dim and a span in a later one, which becomes the columns; other dims "
            "are places",
            word);
    for (int d = 0; d < tensor->rank; d++)
        if (a->span[d] && d != last)
            rows *= a->at[d].length;
    if (a->gathered >= 0)
        rows = a->numbers.rows;
    if (rows > MOST_LENGTH)
        sandbox_fault(r->L, "PROGRAM-EXTENT", word, "the spans of %s make %lld rows; write shorter ones, up to %d",
                      word, (long long)rows, MOST_LENGTH);
    a->tile = program_no_tile;
    a->tile.rows = (int)rows;
    a->tile.columns = last >= 0 ? a->at[last].length : 1;
    int64_t inner = rows;
    int zero = made(r, expr_int(g, 0)), row = rows > 1 ? made(r, expr_leaf(g, EXPR_ROW, EXPR_INT, 0)) : zero;
    for (int d = 0; d < tensor->rank; d++) {
        struct program_coordinate *c = &a->at[d];
        int position = zero;
        if (a->span[d] && d == last) {
            c->column = true;
            position = c->length > 1 ? made(r, expr_leaf(g, EXPR_COLUMN, EXPR_INT, 0)) : zero;
        } else if (a->span[d]) {
            bool outermost = inner == rows;
            inner /= c->length;
            position = made(r, expr_binary(g, EXPR_FLOORDIV, row, made(r, expr_int(g, inner))));
            if (!outermost)
                position = made(r, expr_binary(g, EXPR_MOD, position, made(r, expr_int(g, c->length))));
        }
        position = d == a->gathered ? a->numbers.node : made(r, expr_binary(g, EXPR_ADD, c->start, position));
        if (a->span[d]) {
            int extent = made(r, expr_import(g, &k->shape, tensor->dim[d]));
            int *valid = c->column ? &a->tile.valid_column : &a->tile.valid_row;
            *valid = trace_and(t, *valid, inside(t, c, position, extent));
        }
        if (tensor->axis[d] >= 0)
            a->tile.index[tensor->axis[d]] = position;
    }
    if (a->gathered >= 0)
        a->tile.valid_row = trace_and(t, a->tile.valid_row, a->numbers.valid_row);
}

struct trace_access trace_read_access(struct trace *t, const char *word, int behind_least, int behind_most,
                                      bool numbers)
{
    lua_State *L = t->r->L;
    struct trace_access a = {.tensor = tensor_at(t, word), .gathered = -1};
    const struct spec_tensor *tensor = &reader_kernel(t->r)->tensor[a.tensor];
    int given = lua_gettop(L) - 1;
    a.numbers = program_no_tile;
    if (given < tensor->rank + behind_least || given > tensor->rank + behind_most)
        sandbox_fault(L, "PROGRAM-COORDINATE", word,
                      "%s has %d dim%s, and %s takes a place or a span for each%s; %d are given", tensor->name,
                      tensor->rank, tensor->rank == 1 ? "" : "s", word, behind_least ? ", then the value" : "", given);
    for (int d = 0; d < tensor->rank; d++) {
        read_coordinate(t, word, &a, d, d + 2, numbers);
        check_axis(t, word, &a, d);
    }
    return a;
}

/* list(t.X, place, ..., from, to): the entries of the last dim, those of coordinates from up to to. */
int trace_list(lua_State *L)
{
    struct trace *t = trace_of(L, "list");
    struct trace_range range = {.step = 1, .list = tensor_at(t, "list")};
    struct spec_tensor *tensor = &reader_kernel(t->r)->tensor[range.list];
    struct value where = plain_value(t->r, made(t->r, expr_int(t->p->graph, 0)));
    int given = lua_gettop(L) - 1;
    if (given != tensor->rank + 1)
        sandbox_fault(L, "PROGRAM-COORDINATE", "list",
                      "%s has %d dim%s: list takes %d place%s, then from and to in its last dim; %d are given",
                      tensor->name, tensor->rank, tensor->rank == 1 ? "" : "s", tensor->rank - 1,
                      tensor->rank == 2 ? "" : "s", given);
    if (trace_type(tensor->dtype) != EXPR_INT)
        sandbox_fault(L, "PROGRAM-DTYPE", "list", "entries of a list are whole numbers, %s holds %s", tensor->name,
                      tw_dtype_name(tensor->dtype));
    trace_read(t, range.list, "list");
    for (int d = 0; d + 1 < tensor->rank; d++)
        range.at[d] = (struct program_coordinate){place_at(t, d + 2, "list", "a place", &where), 0, -1, false};
    range.from = place_at(t, tensor->rank + 1, "list", "the first coordinate", &where);
    range.to = place_at(t, tensor->rank + 2, "list", "the end", &where);
    range.body = where.body;
    range.epoch = t->r->epoch;
    struct trace_range *made_range = lua_newuserdatauv(L, sizeof range, 0);
    *made_range = range;
    luaL_setmetatable(L, TYPE_RANGE);
    return 1;
}

/* ---- what is known of a value ------------------------------------------------------------------------------------ */

int trace_magnitude(lua_State *L)
{
    struct trace *t = trace_of(L, "magnitude");
    trace_expect_arguments(L, "magnitude", 1, 1, "magnitude(s)");
    double most = (double)INFINITY;
    if (lua_type(L, 1) == LUA_TNUMBER || luaL_testudata(L, 1, TYPE_EXPRESSION))
        most = expr_magnitude(t->p->graph, value_at(t->r, 1).node);
    if (isfinite(most))
        lua_pushnumber(L, most);
    else
        lua_pushnil(L);
    return 1;
}
