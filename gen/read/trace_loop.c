/* Loops while a program is traced. The body runs on symbolic values; where what it carries turns out to differ from the
 * first values (extents that were open, edges, indices), what it appended is dropped and it runs again, until what a
 * turn finds is what it leaves. */
#include "read/trace.h"

#include <string.h>

enum { MOST_PASSES = 8 };

struct loop_call {
    const char *name;
    const struct trace_range *range;
    int count;
    struct program_tile first[PROGRAM_MAX_CARRIED], carried[PROGRAM_MAX_CARRIED], last[PROGRAM_MAX_CARRIED];
    bool alone[2][PROGRAM_MAX_CARRIED]; /* nothing decides its rows, its columns */
    int at;                             /* the LOOP */
    bool open; /* what it begins with is that of a loop around, which is not settled: types may change */
};

static const char form[] = "loop(\"name\", range(from, to, step), { first values }, function(j, ...) return ... end)";

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static void read_name(struct trace *t, struct loop_call *c)
{
    lua_State *L = t->r->L;
    if (lua_type(L, 1) != LUA_TSTRING || !is_identifier(lua_tostring(L, 1)))
        sandbox_fault(L, "PROGRAM-CALL", "loop", "loop takes a name first, this is %s; write %s", describe(t->r, 1),
                      form);
    c->name = arena_text(t->r->arena, lua_tostring(L, 1));
    reader_check(t->r, c->name);
    for (int i = 0; i < t->p->op_count; i++)
        if (t->p->op[i].name && strcmp(t->p->op[i].name, c->name) == 0)
            sandbox_fault(L, "PROGRAM-NAME", "loop",
                          "the name '%s' is that of an operation in line %d; give each its own", c->name,
                          t->p->op[i].loc.line);
}

static void read_first(struct trace *t, struct loop_call *c)
{
    lua_State *L = t->r->L;
    lua_Unsigned count = lua_istable(L, 3) ? lua_rawlen(L, 3) : 0;
    if (!lua_istable(L, 3))
        sandbox_fault(L, "PROGRAM-CALL", "loop",
                      "loop takes a list of first values, {} where nothing is carried, this is %s; write %s",
                      describe(t->r, 3), form);
    if (count > PROGRAM_MAX_CARRIED)
        sandbox_fault(L, "PROGRAM-CARRIED", "loop", "a loop carries at most %d values, these are %d",
                      PROGRAM_MAX_CARRIED, (int)count);
    c->count = (int)count;
    for (int i = 0; i < c->count; i++) {
        lua_rawgeti(L, 3, i + 1);
        if (lua_type(L, -1) != LUA_TNUMBER && !is_symbolic(L, -1))
            sandbox_fault(L, "PROGRAM-CARRIED", "loop",
                          "first value %d is %s; it takes tiles and numbers: zeros(), rows(0)", i + 1,
                          describe(t->r, lua_gettop(L)));
        c->first[i] = trace_take(t, lua_gettop(L));
        if (t->p->graph->node[c->first[i].node].type == EXPR_PRED)
            sandbox_fault(L, "PROGRAM-CARRIED", "loop",
                          "first value %d is a condition; where(condition, 1, 0) makes a number of it", i + 1);
        lua_pop(L, 1);
    }
}

/* ---- what is carried ------------------------------------------------------------------------------------------- */

static bool is_integer_constant(const struct trace *t, const struct program_tile *tile)
{
    int64_t value;
    return expr_is_int(t->p->graph, tile->node, &value);
}

/* What the first turn may find, before the body was seen. */
static struct program_tile assume(struct trace *t, const struct program_tile *first)
{
    struct program_tile tile = *first;
    bool real = t->p->graph->node[first->node].type == EXPR_REAL;
    tile.dtype = real ? TW_FP32 : first->dtype == TW_INT32 ? TW_INT32 : TW_INT64;
    return tile;
}

static int join_condition(struct trace *t, const struct loop_call *c, int i, int was, int now)
{
    if (now >= 0 && trace_varies(t, now, c->at))
        sandbox_fault(
            t->r->L, "PROGRAM-EDGE", "loop",
            "the edge of carried value %d of loop '%s' moves from turn to turn: its spans depend on the loop's "
            "variable; carry a value of constant place",
            i + 1, c->name);
    return trace_and(t, was, now);
}

/* Carried value i from what the turn found and what it left. */
static struct program_tile join(struct trace *t, const struct loop_call *c, int i)
{
    struct expr_graph *g = t->p->graph;
    const struct program_tile *was = &c->carried[i], *now = &c->last[i];
    struct program_tile tile = *was;
    enum expr_type type = g->node[now->node].type;
    lua_State *L = t->r->L;
    bool open = is_integer_constant(t, &c->first[i]);
    if (type == EXPR_PRED)
        sandbox_fault(L, "PROGRAM-CARRIED", "loop",
                      "carried value %d of loop '%s' becomes a condition; where(condition, 1, 0) makes a number of it",
                      i + 1, c->name);
    if ((was->rows && now->rows && was->rows != now->rows) ||
        (was->columns && now->columns && was->columns != now->columns))
        sandbox_fault(L, "PROGRAM-CARRIED", "loop",
                      "carried value %d of loop '%s' begins as %s and is %s after a turn; it keeps its extents%s",
                      i + 1, c->name, trace_shape(t, was->rows, was->columns), trace_shape(t, now->rows, now->columns),
                      was->rows == 1 && was->columns == 1 ? ": zeros(), rows(v) and columns(v) take those of the body"
                                                          : "");
    if (!was->rows)
        tile.rows = now->rows;
    if (!was->columns)
        tile.columns = now->columns;
    if (trace_type(was->dtype) == EXPR_INT && type == EXPR_REAL && !open && !c->open)
        sandbox_fault(L, "PROGRAM-CARRIED", "loop",
                      "carried value %d of loop '%s' begins as a whole number and is none after a turn; begin with "
                      "x * 1.0",
                      i + 1, c->name);
    if (trace_type(was->dtype) == EXPR_REAL && type == EXPR_INT && !is_integer_constant(t, now) && !t->provisional)
        sandbox_fault(L, "PROGRAM-CARRIED", "loop",
                      "carried value %d of loop '%s' begins as fp32 and is a whole number after a turn; return x * 1.0",
                      i + 1, c->name);
    if (type == EXPR_REAL)
        tile.dtype = TW_FP32;
    else if (trace_type(was->dtype) == EXPR_INT && now->dtype == TW_INT32 && open)
        tile.dtype = TW_INT32;
    else if (trace_type(was->dtype) == EXPR_INT && now->dtype != TW_INT32 && !is_integer_constant(t, now))
        tile.dtype = TW_INT64;
    tile.valid_row = join_condition(t, c, i, was->valid_row, now->valid_row);
    tile.valid_column = join_condition(t, c, i, was->valid_column, now->valid_column);
    for (int a = 0; a < SPEC_MAX_AXES; a++) {
        int index = now->index[a];
        if (index >= 0 && trace_varies(t, index, c->at))
            index = -2;
        if (was->index[a] == -1)
            tile.index[a] = index;
        else if (index != -1 && index != was->index[a])
            tile.index[a] = -2;
    }
    return tile;
}

static bool same_tile(const struct program_tile *a, const struct program_tile *b)
{
    return a->rows == b->rows && a->columns == b->columns && a->dtype == b->dtype && a->valid_row == b->valid_row &&
           a->valid_column == b->valid_column && memcmp(a->index, b->index, sizeof a->index) == 0;
}

/* ---- a turn ---------------------------------------------------------------------------------------------------- */

static void enter(struct trace *t, int loop)
{
    if (t->depth == PROGRAM_MAX_DEPTH)
        sandbox_fault(t->r->L, "PROGRAM-LOOP", "loop", "loops are nested more than %d deep", PROGRAM_MAX_DEPTH);
    t->body[++t->depth] = (struct trace_body){++t->bodies, loop};
}

/* Traces the body once; what it returned goes to c->last. */
static void trace_turn(struct trace *t, struct loop_call *c)
{
    lua_State *L = t->r->L;
    int top = lua_gettop(L);
    enter(t, c->at);
    luaL_checkstack(L, PROGRAM_MAX_CARRIED + 8, "loop");
    lua_pushvalue(L, 4);
    struct value variable = plain_value(t->r, expr_leaf(t->p->graph, EXPR_LOOP, EXPR_INT, c->at));
    variable.body = t->body[t->depth].number;
    push_value(t->r, &variable);
    for (int i = 0; i < c->count; i++) {
        struct program_op op = trace_op(PROGRAM_PARAM);
        op.loop = c->at;
        op.which = i;
        op.tile = c->carried[i];
        struct value v = trace_result(t, trace_append(t, &op, "loop"));
        push_value(t->r, &v);
    }
    lua_call(L, 1 + c->count, LUA_MULTRET);
    int returned = lua_gettop(L) - top;
    if (returned == 1 && lua_isnil(L, -1) && c->count == 0)
        returned = 0;
    if (returned != c->count)
        sandbox_fault(L, "PROGRAM-CARRIED", "loop", "loop '%s' carries %d value%s, its function returns %d", c->name,
                      c->count, c->count == 1 ? "" : "s", returned);
    for (int i = 0; i < c->count; i++) {
        int index = top + 1 + i;
        if (lua_type(L, index) != LUA_TNUMBER && !is_symbolic(L, index))
            sandbox_fault(L, "PROGRAM-CARRIED", "loop",
                          "loop '%s' returns %s as value %d; it carries tiles and numbers", c->name,
                          describe(t->r, index), i + 1);
        c->last[i] = trace_take(t, index);
    }
    lua_settop(L, top);
}

/* The turn is the last that is traced: its END, what is carried on in it, and the results behind it. */
static void finish(struct trace *t, struct loop_call *c)
{
    struct expr_graph *g = t->p->graph;
    struct program_op end = trace_op(PROGRAM_END);
    struct program_tile *first = arena_alloc(t->r->arena, (size_t)(c->count + 1) * sizeof *first);
    end.loop = c->at;
    end.carried = c->count;
    end.value = arena_alloc(t->r->arena, (size_t)(c->count + 1) * sizeof *end.value);
    reader_check(t->r, first);
    reader_check(t->r, end.value);
    for (int i = 0; i < c->count; i++) {
        const struct program_tile *as = &c->carried[i];
        struct program_tile *both[2] = {&first[i], &end.value[i]};
        first[i] = c->first[i];
        end.value[i] = c->last[i];
        for (int n = 0; n < 2; n++) {
            int64_t value;
            both[n]->rows = as->rows;
            both[n]->columns = as->columns;
            if (trace_type(as->dtype) == EXPR_REAL && expr_is_int(g, both[n]->node, &value))
                both[n]->node = made(t->r, expr_real(g, (double)value));
            if (is_integer_constant(t, both[n]) || g->node[both[n]->node].op == EXPR_CONST_REAL)
                both[n]->dtype = as->dtype;
        }
    }
    int at = trace_append(t, &end, "loop");
    t->depth--;
    t->p->op[c->at].end = at;
    t->p->op[c->at].value = first;
}

/* ---- combine --------------------------------------------------------------------------------------------------- */

/* Whether the options at 5 have a function combine; anything else that they have is an error. */
static bool has_combine(struct trace *t, const struct loop_call *c)
{
    lua_State *L = t->r->L;
    int count;
    if (lua_isnil(L, 5))
        return false;
    if (!lua_istable(L, 5))
        sandbox_fault(L, "PROGRAM-CALL", "loop",
                      "loop takes options last, { combine = function(a, b) ... end }, this is %s", describe(t->r, 5));
    struct key *key = sorted_keys(t->r, 5, &count);
    for (int i = 0; i < count; i++)
        if (!key[i].name || strcmp(key[i].name, "combine") != 0)
            sandbox_fault(L, "PROGRAM-CALL", "loop", "loop has no option %s; it has combine",
                          key[i].name ? key[i].name : "at a position");
    if (count == 0)
        return false;
    if (c->count == 0)
        sandbox_fault(L, "PROGRAM-CARRIED", "combine", "loop '%s' carries nothing that could be combined", c->name);
    if (lua_getfield(L, 5, "combine") != LUA_TFUNCTION)
        sandbox_fault(L, "PROGRAM-CALL", "combine",
                      "combine takes a function(a, b) of two lists of carried values, this is %s",
                      describe(t->r, lua_gettop(L)));
    lua_pop(L, 1);
    return true;
}

/* A list of the carried values as the PARAMs or the RESULTs give them. */
static void push_part(struct trace *t, const struct loop_call *c, int first)
{
    lua_newtable(t->r->L);
    for (int i = 0; i < c->count; i++) {
        struct value v = trace_result(t, first + i);
        push_value(t->r, &v);
        lua_rawseti(t->r->L, -2, i + 1);
    }
}

/* Behind the RESULTs: a and b are tiles of the same extents, element by element. */
static void trace_combine(struct trace *t, const struct loop_call *c)
{
    lua_State *L = t->r->L;
    int before = t->p->op_count, *node = arena_alloc(t->r->arena, (size_t)c->count * sizeof *node);
    reader_check(t->r, node);
    lua_getfield(L, 5, "combine");
    push_part(t, c, c->at + 1);
    push_part(t, c, t->p->op[c->at].end + 1);
    int below = lua_gettop(L) - 3;
    lua_call(L, 2, LUA_MULTRET);
    int results = lua_gettop(L) - below;
    if (results > 1)
        sandbox_fault(L, "PROGRAM-CARRIED", "combine",
                      "combine of loop '%s' returns %d results; it returns one list: return { a, b }", c->name,
                      results);
    lua_settop(L, below + 1);
    if (t->p->op_count != before)
        sandbox_fault(L, "PROGRAM-CARRIED", "combine",
                      "combine is arithmetic on the carried values, element by element, and no operation stands in it");
    if (!lua_istable(L, -1) || (int)lua_rawlen(L, -1) != c->count)
        sandbox_fault(L, "PROGRAM-CARRIED", "combine", "combine of loop '%s' returns a list of %d value%s, this is %s",
                      c->name, c->count, c->count == 1 ? "" : "s", describe(t->r, lua_gettop(L)));
    for (int i = 0; i < c->count; i++) {
        lua_rawgeti(L, -1, i + 1);
        struct program_tile tile = trace_take(t, lua_gettop(L));
        const struct program_tile *as = &c->carried[i];
        if (tile.rows != as->rows || tile.columns != as->columns ||
            t->p->graph->node[tile.node].type != trace_type(as->dtype))
            sandbox_fault(L, "PROGRAM-CARRIED", "combine",
                          "combine of loop '%s' makes value %d %s, the loop carries %s %s", c->name, i + 1,
                          trace_shape(t, tile.rows, tile.columns), trace_shape(t, as->rows, as->columns),
                          tw_dtype_name(as->dtype));
        node[i] = tile.node;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    t->p->op[c->at].combine = node;
}

/* An extent of carried value i that nothing decides is 1. True: there was none. */
static bool close_extents(struct loop_call *c, int i)
{
    struct program_tile *tile = &c->carried[i];
    const bool closed = tile->rows && tile->columns;
    c->alone[0][i] |= !tile->rows;
    c->alone[1][i] |= !tile->columns;
    tile->rows += !tile->rows;
    tile->columns += !tile->columns;
    return closed;
}

/* A value of one row that nothing with more rows decided, but row(): there are as many of it as what it meets behind
 * the loop has. */
static void refuse_alone(const struct trace *t, const struct loop_call *c)
{
    for (int i = 0; i < c->count; i++)
        for (int k = 0; k < 2; k++)
            if (c->alone[k][i] && trace_has(t, c->last[i].node, k ? EXPR_COLUMN : EXPR_ROW))
                sandbox_fault(t->r->L, "PROGRAM-CARRIED", "loop",
                              "carried value %d of loop '%s' meets nothing that has %s, so that it is one, and a turn "
                              "makes it go by %s; take that in behind the loop",
                              i + 1, c->name, k ? "columns" : "rows", k ? "column()" : "row()");
}

int trace_loop(lua_State *L)
{
    struct trace *t = trace_of(L, "loop");
    struct loop_call c = {0};
    lua_settop(L, lua_gettop(L) < 5 ? 5 : lua_gettop(L));
    read_name(t, &c);
    c.range = luaL_testudata(L, 2, TYPE_RANGE);
    if (!c.range)
        sandbox_fault(L, "PROGRAM-CALL", "loop", "loop takes a range second, this is %s; write %s", describe(t->r, 2),
                      form);
    trace_check_place(t, c.range->body, c.range->epoch);
    read_first(t, &c);
    if (!lua_isfunction(L, 4))
        sandbox_fault(L, "PROGRAM-CALL", "loop", "loop takes a function of its turn, this is %s; write %s",
                      describe(t->r, 4), form);
    bool combines = has_combine(t, &c);
    struct program_op loop = trace_op(PROGRAM_LOOP);
    loop.name = c.name;
    loop.from = c.range->from;
    loop.to = c.range->to;
    loop.list = c.range->list;
    memcpy(loop.at, c.range->at, sizeof loop.at);
    loop.step = made(t->r, expr_int(t->p->graph, c.range->step));
    loop.carried = c.count;
    c.at = trace_append(t, &loop, "loop");
    bool number = false;
    c.open = t->provisional > 0;
    for (int i = 0; i < c.count; i++) {
        c.carried[i] = assume(t, &c.first[i]);
        number |= is_integer_constant(t, &c.first[i]);
    }
    for (int pass = 0;; pass++) {
        bool guess = number && pass == 0, settled = true;
        for (int i = 0; i < c.count; i++)
            guess |= !c.carried[i].rows || !c.carried[i].columns;
        t->p->op_count = c.at + 1;
        t->provisional += guess;
        trace_turn(t, &c);
        for (int i = 0; i < c.count; i++) {
            struct program_tile joined = join(t, &c, i);
            settled &= same_tile(&joined, &c.carried[i]);
            c.carried[i] = joined;
        }
        t->provisional -= guess;
        for (int i = 0; i < c.count && settled; i++)
            settled = close_extents(&c, i);
        if (settled && !guess)
            break;
        if (pass == MOST_PASSES)
            sandbox_fault(L, "PROGRAM-CARRIED", "loop", "what loop '%s' carries does not settle", c.name);
        t->depth--;
    }
    refuse_alone(t, &c);
    finish(t, &c);
    for (int i = 0; i < c.count; i++) {
        struct program_op op = trace_op(PROGRAM_RESULT);
        op.loop = c.at;
        op.which = i;
        op.tile = c.carried[i];
        struct value v = trace_result(t, trace_append(t, &op, "loop"));
        push_value(t->r, &v);
    }
    if (combines)
        trace_combine(t, &c);
    return c.count;
}
