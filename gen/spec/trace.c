/* Expressions in Lua: symbols of dims, and the values of fused functions while they are traced. Operators and functions
 * of the language build nodes; whatever would turn an expression into a plain Lua boolean is an error. */
#include "spec/read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* t.R, t.R[i.m]: a tensor of the kernel that still takes indices. Without any it broadcasts along its axes. */
struct element {
    int tensor, count, epoch;
    int index[SPEC_MAX_RANK];
};

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

static struct expr_graph *graph_of(struct reader *r)
{
    return r->epoch ? &reader_kernel(r)->graph : &r->shape;
}

/* A node that was just made, or the error why it could not be. */
static int made(struct reader *r, int node)
{
    if (node >= 0)
        return node;
    if (graph_of(r)->count >= EXPR_MAX_NODES)
        return luaL_error(r->L, "the expression has more than %d terms", EXPR_MAX_NODES);
    return sandbox_no_memory(r->L);
}

static void push_value(struct reader *r, int node)
{
    struct value *v = lua_newuserdatauv(r->L, sizeof *v, 0);
    *v = (struct value){made(r, node), r->epoch};
    luaL_setmetatable(r->L, TYPE_EXPRESSION);
}

void push_symbol(struct reader *r, int dim)
{
    int epoch = r->epoch;
    r->epoch = 0;
    push_value(r, expr_symbol(&r->shape, dim));
    r->epoch = epoch;
}

static const struct spec_tensor *tensor_of(struct reader *r, const struct element *e)
{
    if (e->epoch != r->epoch)
        luaL_error(r->L, "this tensor belongs to another function; use its argument t here");
    return &reader_kernel(r)->tensor[e->tensor];
}

/* A family's operand with an axis over which the function does not run, such as the A of a gemm, is brought tile by
 * tile to where the sums are made; the function has no pointer to it. */
static void refuse_family_operand(struct reader *r, const struct spec_tensor *t)
{
    const struct spec_family *f = reader_family(r, reader_kernel(r)->family);
    const struct spec_family_tensor *row = f ? f->tensor : NULL;
    const char *word[SPEC_MAX_RANK], *known[SPEC_MAX_AXES];
    while (row && row->name && strcmp(row->name, t->name) != 0)
        row++;
    if (!row || !row->name)
        return;
    int words = split_words(r, row->axes, word, SPEC_MAX_RANK);
    int axes = split_words(r, f->epilogue_axes, known, SPEC_MAX_AXES);
    for (int i = 0; i < words; i++) {
        bool has = false;
        for (int a = 0; a < axes; a++)
            has |= strcmp(word[i], known[a]) == 0;
        if (!has)
            sandbox_fault(r->L, "TRACE-OPERAND", t->name,
                          "%s is an operand of family \"%s\", which this function cannot read; pass the same memory a "
                          "second time under another name: X = tensor { ... } and t.X",
                          t->name, f->name);
    }
}

static int load(struct reader *r, const struct element *e, const int *index)
{
    struct spec_tensor *t = &reader_kernel(r)->tensor[e->tensor];
    bool real = tw_dtype_info(t->dtype)->kind == TW_KIND_FLOAT;
    refuse_family_operand(r, t);
    t->read = true;
    return made(r, expr_tensor(graph_of(r), e->tensor, real ? EXPR_REAL : EXPR_INT, t->rank, index));
}

/* The element of a tensor without indices: each dim at the index of its axis. */
static int broadcast(struct reader *r, const struct element *e)
{
    const struct spec_kernel *k = reader_kernel(r);
    const struct spec_tensor *t = tensor_of(r, e);
    const struct spec_family *f = reader_family(r, k->family);
    const char *known[SPEC_MAX_AXES + 1] = {0};
    int index[SPEC_MAX_RANK], count = f ? split_words(r, f->epilogue_axes, known, SPEC_MAX_AXES) : 0;
    known[count] = NULL;
    if (e->count > 0)
        return luaL_error(r->L, "t.%s has %d dims, %d of them indexed; index all or none", t->name, t->rank, e->count);
    for (int d = 0; d < t->rank; d++) {
        bool has = false;
        if (t->axis[d] < 0)
            return luaL_error(r->L,
                              "t.%s has no axes to broadcast along; write axes = \"%s\" in its tensor, or index "
                              "it",
                              t->name, known[0] ? known[0] : "...");
        for (int a = 0; a < count; a++)
            has |= strcmp(known[a], k->axis[t->axis[d]]) == 0;
        if (!has)
            return luaL_error(r->L, "t.%s has axis %s, over which this function does not run; it runs over %s", t->name,
                              k->axis[t->axis[d]], reader_list(r, known, " and "));
        index[d] = made(r, expr_leaf(graph_of(r), EXPR_INDEX, EXPR_INT, t->axis[d]));
    }
    return load(r, e, index);
}

/* A shape expression of the spec as a node of the current graph. */
static int adopt(struct reader *r, const struct value *v)
{
    if (v->epoch == r->epoch)
        return v->node;
    if (v->epoch != 0)
        return luaL_error(r->L, "this value belongs to another function; a value lives while its function is traced");
    return made(r, expr_import(graph_of(r), &r->shape, v->node));
}

/* The node of argument `index`. */
static int node_of(struct reader *r, int index)
{
    lua_State *L = r->L;
    int64_t integer;
    if (lua_type(L, index) == LUA_TNUMBER) {
        if (lua_isinteger(L, index))
            return made(r, expr_int(graph_of(r), lua_tointeger(L, index)));
        if (!r->epoch && exact_integer(L, index, &integer))
            return made(r, expr_int(graph_of(r), integer));
        if (!r->epoch)
            return luaL_error(L, "%s in an expression of dims: they are whole numbers", describe(r, index));
        return made(r, expr_real(graph_of(r), lua_tonumber(L, index)));
    }
    const struct value *v = luaL_testudata(L, index, TYPE_EXPRESSION);
    if (v)
        return adopt(r, v);
    const struct element *e = luaL_testudata(L, index, TYPE_ELEMENT);
    if (e)
        return broadcast(r, e);
    return luaL_error(L, "%s stands in an expression; it takes numbers, tensors, scalars and indices",
                      describe(r, index));
}

int shape_node(struct reader *r, int index, const char **what)
{
    struct expr_graph *shape = &reader_kernel(r)->shape;
    const struct value *v = luaL_testudata(r->L, index, TYPE_EXPRESSION);
    int64_t integer;
    int node;
    *what = "";
    if (v && v->epoch == 0)
        node = expr_import(shape, &r->shape, v->node);
    else if (exact_integer(r->L, index, &integer))
        node = expr_int(shape, integer);
    else {
        *what = describe(r, index);
        return -1;
    }
    if (node < 0)
        sandbox_no_memory(r->L);
    const char **name = arena_alloc(r->arena, (size_t)(r->spec->dim_count + 1) * sizeof *name);
    reader_check(r, name);
    for (int d = 0; d < r->spec->dim_count; d++)
        name[d] = r->spec->dim[d].name;
    if (expr_print_c(shape, node, name, NULL, 0) > 4000) {
        *what = "an expression of more than 4000 characters";
        return -1;
    }
    return node;
}

/* ---- operators ------------------------------------------------------------------------------------------------- */

static bool is_symbolic(lua_State *L, int index)
{
    return luaL_testudata(L, index, TYPE_EXPRESSION) || luaL_testudata(L, index, TYPE_ELEMENT);
}

static const char *type_word(enum expr_type type)
{
    return type == EXPR_PRED ? "a condition" : type == EXPR_REAL ? "a value" : "a whole number";
}

/* Why the operator takes no such operands. */
static int wrong_operands(struct reader *r, enum expr_op op, const int *arg)
{
    const struct expr_graph *g = graph_of(r);
    const char *name = expr_ops[op].name;
    enum expr_type a = g->node[arg[0]].type, b = arg[1] >= 0 ? g->node[arg[1]].type : a;
    switch (expr_ops[op].rule) {
    case EXPR_INTS:
        return luaL_error(r->L, "%s takes whole numbers, this is %s", name, type_word(a != EXPR_INT ? a : b));
    case EXPR_LOGIC:
        return luaL_error(r->L, "%s takes conditions such as lt(a, b), this is %s", name,
                          type_word(a != EXPR_PRED ? a : b));
    case EXPR_SELECTION:
        return luaL_error(r->L, "select takes a condition and two values: select(lt(a, b), a, b)");
    default:
        return luaL_error(r->L, "%s takes numbers, this is a condition; select(condition, 1, 0) makes a number of it",
                          name);
    }
}

static int shape_only(enum expr_op op)
{
    enum expr_rule rule = expr_ops[op].rule;
    return rule == EXPR_ARITH || rule == EXPR_INTS;
}

/* An operator or function on symbolic operands; arguments 1..arity. */
static int apply(struct reader *r, enum expr_op op)
{
    int arg[3] = {-1, -1, -1};
    enum expr_type type;
    if (!r->epoch && op == EXPR_DIV)
        return luaL_error(r->L, "/ gives fp32, and shapes are whole numbers; write //");
    if (!r->epoch && !shape_only(op))
        return luaL_error(r->L, "%s is for fused functions; dims take + - * // %% min and max", expr_ops[op].name);
    for (int i = 0; i < expr_ops[op].arity; i++)
        arg[i] = node_of(r, i + 1);
    struct expr_graph *g = graph_of(r);
    int64_t divisor;
    if ((op == EXPR_MOD || op == EXPR_FLOORDIV) && expr_is_int(g, arg[1], &divisor) && divisor == 0)
        return luaL_error(r->L, "%s by 0 has no value; write a divisor that is not 0", expr_ops[op].name);
    if (!expr_result_type(g, op, arg, &type))
        return wrong_operands(r, op, arg);
    struct expr_node n = {.op = op, .arg = {arg[0], arg[1], arg[2]}};
    push_value(r, expr_add(g, &n));
    return 1;
}

/* Metamethod; upvalue: the operator. */
static int operate(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r)
        return luaL_error(L, "an expression of dims has no value in a reference; write n.M");
    return apply(r, (enum expr_op)lua_tointeger(L, lua_upvalueindex(1)));
}

/* Metamethod that has no meaning; upvalue: what to say. */
static int refuse(lua_State *L)
{
    return luaL_error(L, "%s", lua_tostring(L, lua_upvalueindex(1)));
}

static double plain(enum expr_op op, double a, double b)
{
    switch (op) {
    case EXPR_MIN:
        return a < b ? a : b;
    case EXPR_MAX:
        return a > b ? a : b;
    case EXPR_ABS:
        return a < 0 ? -a : a;
    case EXPR_EXP2_DIFF:
        return a == -INFINITY && b == -INFINITY ? 0 : exp2(a - b);
    default:
        return expr_apply(op, a);
    }
}

static bool plain_compare(lua_State *L, enum expr_op op)
{
    switch (op) {
    case EXPR_LT:
        return lua_compare(L, 1, 2, LUA_OPLT);
    case EXPR_LE:
        return lua_compare(L, 1, 2, LUA_OPLE);
    case EXPR_GT:
        return lua_compare(L, 2, 1, LUA_OPLT);
    case EXPR_GE:
        return lua_compare(L, 2, 1, LUA_OPLE);
    case EXPR_EQ:
        return lua_rawequal(L, 1, 2);
    default:
        return !lua_rawequal(L, 1, 2);
    }
}

/* A function of the language, such as gelu(x), lt(a, b): of plain numbers it gives one, as in Lua. Upvalue: the
 * operator.
 */
static int function(lua_State *L)
{
    enum expr_op op = (enum expr_op)lua_tointeger(L, lua_upvalueindex(1));
    const struct expr_op_info *info = &expr_ops[op];
    bool symbolic = false, variadic = op == EXPR_MIN || op == EXPR_MAX;
    int count = lua_gettop(L);
    if (variadic ? count < 1 : count != info->arity)
        return luaL_error(L, "%s takes %d argument%s, %d are given", info->name, info->arity,
                          info->arity == 1 ? "" : "s", count);
    for (int i = 1; i <= count; i++) {
        symbolic |= is_symbolic(L, i);
        if (!is_symbolic(L, i) && lua_type(L, i) != LUA_TNUMBER)
            return luaL_error(L, "%s: argument %d is %s; it takes numbers and expressions", info->name, i,
                              lua_isnil(L, i) ? "nothing" : luaL_typename(L, i));
    }
    while (count > 2 && variadic) { /* min(a, b, c) is min(a, min(b, c)) */
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_pushcclosure(L, function, 1);
        lua_insert(L, count - 1);
        lua_call(L, 2, 1);
        count--;
    }
    if (variadic && count == 1)
        return 1;
    struct reader *r = reader_of(L);
    if (symbolic)
        return r ? apply(r, op) : luaL_error(L, "an expression of dims has no value in a reference; write n.M");
    if (info->rule == EXPR_COMPARE) {
        lua_pushboolean(L, plain_compare(L, op));
    } else if (info->rule == EXPR_ARITH && lua_isinteger(L, 1) && (info->arity == 1 || lua_isinteger(L, 2))) {
        lua_Integer a = lua_tointeger(L, 1), b = info->arity > 1 ? lua_tointeger(L, 2) : 0;
        bool second = op == EXPR_MIN ? b < a : op == EXPR_MAX && b > a;
        lua_pushinteger(L, op == EXPR_ABS ? (a < 0 ? (lua_Integer)(0 - (lua_Unsigned)a) : a) : second ? b : a);
    } else {
        lua_pushnumber(L, plain(op, lua_tonumber(L, 1), info->arity > 1 ? lua_tonumber(L, 2) : 0));
    }
    return 1;
}

/* select(condition, yes, no); with a number or "#" first it is Lua's own, the upvalue. */
static int select_value(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (lua_type(L, 1) == LUA_TNUMBER || lua_type(L, 1) == LUA_TSTRING) {
        int count = lua_gettop(L);
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, count, LUA_MULTRET);
        return lua_gettop(L);
    }
    if (lua_gettop(L) != 3)
        return luaL_error(L, "select takes a condition and two values: select(lt(a, b), a, b)");
    if (lua_isboolean(L, 1)) { /* what lt gives of plain numbers */
        lua_pushvalue(L, lua_toboolean(L, 1) ? 2 : 3);
        return 1;
    }
    if (!r)
        return luaL_error(L, "select takes a condition first");
    return apply(r, EXPR_SELECT);
}

/* clamp(x, low, high) is min(max(x, low), high). */
static int clamp(lua_State *L)
{
    if (lua_gettop(L) != 3)
        return luaL_error(L, "clamp takes 3 arguments, clamp(x, low, high), %d are given", lua_gettop(L));
    lua_pushinteger(L, EXPR_MAX);
    lua_pushcclosure(L, function, 1);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    lua_pushinteger(L, EXPR_MIN);
    lua_pushcclosure(L, function, 1);
    lua_insert(L, -2);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 1);
    return 1;
}

/* cast(value, "bf16") rounds to the dtype. */
static int cast(lua_State *L)
{
    struct reader *r = reader_of(L);
    const char *word = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    enum tw_dtype dtype = tw_dtype_from_name(word);
    if (lua_gettop(L) != 2 || dtype == TW_DTYPE_COUNT || tw_dtype_info(dtype)->kind != TW_KIND_FLOAT)
        return luaL_error(L, "cast takes a value and a floating dtype: cast(x, \"bf16\")");
    if (lua_type(L, 1) == LUA_TNUMBER) {
        unsigned char element[8];
        tw_dtype_store(dtype, element, lua_tonumber(L, 1));
        lua_pushnumber(L, tw_dtype_load(dtype, element));
        return 1;
    }
    if (!r || !r->epoch)
        return luaL_error(L, "cast is for fused functions");
    int node = node_of(r, 1);
    if (graph_of(r)->node[node].type == EXPR_PRED)
        return luaL_error(L, "cast takes a value, this is a condition; select(condition, 1, 0) makes a number of it");
    push_value(r, expr_cast(graph_of(r), node, dtype));
    return 1;
}

static int value_text(lua_State *L)
{
    struct reader *r = reader_of(L);
    const struct value *v = luaL_testudata(L, 1, TYPE_EXPRESSION);
    char text[256];
    if (!r || !v || v->epoch) {
        lua_pushliteral(L, "expression");
        return 1;
    }
    const char **name = arena_alloc(r->arena, (size_t)(r->spec->dim_count + 1) * sizeof *name);
    reader_check(r, name);
    for (int d = 0; d < r->spec->dim_count; d++)
        name[d] = r->spec->dim[d].name;
    expr_print_lua(&r->shape, v->node, name, text, sizeof text);
    lua_pushstring(L, text);
    return 1;
}

/* ---- t and i --------------------------------------------------------------------------------------------------- */

static const char *key_of(lua_State *L)
{
    return lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
}

static int get_operand(lua_State *L)
{
    struct reader *r = reader_of(L);
    const char *name = key_of(L);
    if (!r || !r->epoch)
        return luaL_error(L, "t lives while its function is traced");
    struct spec_kernel *k = reader_kernel(r);
    for (int i = 0; name && i < k->scalar_count; i++)
        if (strcmp(k->scalar[i].name, name) == 0) {
            bool real = tw_dtype_info(k->scalar[i].dtype)->kind == TW_KIND_FLOAT;
            k->scalar[i].read = true;
            push_value(r, expr_leaf(graph_of(r), EXPR_SCALAR, real ? EXPR_REAL : EXPR_INT, i));
            return 1;
        }
    for (int i = 0; name && i < k->tensor_count; i++)
        if (strcmp(k->tensor[i].name, name) == 0) {
            if (k->tensor[i].out)
                return sandbox_fault(L, "TRACE-OPERAND", name,
                                     "t.%s is written by this kernel and cannot be read in it", name);
            struct element *e = lua_newuserdatauv(L, sizeof *e, 0);
            *e = (struct element){.tensor = i, .epoch = r->epoch};
            luaL_setmetatable(L, TYPE_ELEMENT);
            return 1;
        }
    const char **known = arena_alloc(r->arena, (size_t)(k->tensor_count + k->scalar_count + 1) * sizeof *known);
    reader_check(r, known);
    int count = 0;
    for (int i = 0; i < k->tensor_count; i++)
        if (!k->tensor[i].out)
            known[count++] = k->tensor[i].name;
    for (int i = 0; i < k->scalar_count; i++)
        known[count++] = k->scalar[i].name;
    name = name ? name : describe(r, 2);
    const char *near = reader_suggest(r, name, known);
    if (*near || !count)
        return sandbox_fault(L, "TRACE-OPERAND", name, "the kernel has no tensor or scalar '%s'%s", name, near);
    return sandbox_fault(L, "TRACE-OPERAND", name, "the kernel has no tensor or scalar '%s'; it has %s", name,
                         reader_list(r, known, " and "));
}

static int get_index(lua_State *L)
{
    struct reader *r = reader_of(L);
    const char *name = key_of(L), *known[SPEC_MAX_AXES + 1] = {0};
    if (!r || !r->epoch)
        return luaL_error(L, "i lives while its function is traced");
    const struct spec_kernel *k = reader_kernel(r);
    const struct spec_family *f = reader_family(r, k->family);
    int count = f ? split_words(r, f->epilogue_axes, known, SPEC_MAX_AXES) : 0;
    for (int a = 0; name && a < count; a++)
        if (strcmp(known[a], name) == 0)
            for (int p = 0; p < k->axis_count; p++)
                if (strcmp(k->axis[p], name) == 0) {
                    push_value(r, expr_leaf(graph_of(r), EXPR_INDEX, EXPR_INT, p));
                    return 1;
                }
    return sandbox_fault(L, "TRACE-INDEX", name, "there is no index i.%s; this function runs over %s",
                         name ? name : describe(r, 2), reader_list(r, known, " and "));
}

static int set_nothing(lua_State *L)
{
    return luaL_error(L, "a fused function returns its values and assigns nothing; write return { D = ... }");
}

/* t.R[i.m]: one more index; the last one makes a value. */
static int index_element(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r)
        return luaL_error(L, "t lives while its function is traced");
    struct element e = *(const struct element *)luaL_checkudata(L, 1, TYPE_ELEMENT);
    const struct spec_tensor *t = tensor_of(r, &e);
    lua_replace(L, 1);
    if (lua_type(L, 1) == LUA_TSTRING)
        return luaL_error(L, "t.%s takes indices: t.%s[i.m]", t->name, t->name);
    int node = node_of(r, 1);
    if (graph_of(r)->node[node].type != EXPR_INT)
        return luaL_error(L, "an index of t.%s is a whole number, this is %s", t->name,
                          type_word(graph_of(r)->node[node].type));
    e.index[e.count++] = node;
    if (e.count == t->rank) {
        push_value(r, load(r, &e, e.index));
        return 1;
    }
    struct element *deeper = lua_newuserdatauv(L, sizeof *deeper, 0);
    *deeper = e;
    luaL_setmetatable(L, TYPE_ELEMENT);
    return 1;
}

/* ---- the trace ------------------------------------------------------------------------------------------------- */

/* The error of the untraceable token, at its place. */
static struct sandbox_error untraceable(const struct tokens *t, int token, int file, const char *instead)
{
    struct sandbox_error e = {
        .file = file, .line = t->token[token].line, .column = t->token[token].column, .rule = "TRACE-LUA"};
    snprintf(e.text, sizeof e.text, "'%.*s' is plain Lua, which knows no value of an expression; write %s",
             t->token[token].length, t->text + t->token[token].start, instead);
    return e;
}

/* Called at each call of a Lua function during a trace: one that gets an expression as argument is part of it. */
static void look_at_call(lua_State *L, lua_Debug *ar)
{
    struct reader *r = reader_of(L);
    bool traced = false;
    lua_getinfo(L, "Su", ar);
    int file = sandbox_source_index(ar->source);
    if (!r || file < 0)
        return;
    for (int n = 1; n <= ar->nparams && lua_checkstack(L, 4) && lua_getlocal(L, ar, n); n++) {
        traced |= is_symbolic(L, -1);
        lua_pop(L, 1);
    }
    for (int n = -1; ar->isvararg && lua_checkstack(L, 4) && lua_getlocal(L, ar, n); n--) {
        traced |= is_symbolic(L, -1);
        lua_pop(L, 1);
    }
    const struct tokens *t = traced ? sandbox_tokens(r->sandbox, file) : NULL;
    if (!t)
        return;
    int f = -1, token, others = 0;
    const char *instead;
    struct sandbox_error error;
    while ((f = tokens_find_function(t, ar->linedefined, ar->lastlinedefined, f)) >= 0) {
        token = tokens_next_untraceable(t, f, f, &instead);
        if (token >= 0)
            error = untraceable(t, token, file, instead);
        others += token < 0; /* of several functions on one line, this may be another one */
        f = t->token[f].match > f && token >= 0 ? t->token[f].match : f;
    }
    if (others == 0 && tokens_find_function(t, ar->linedefined, ar->lastlinedefined, -1) >= 0)
        sandbox_raise(L, &error);
}

/* Reports what the function on top of the stack holds that cannot be traced. True: nothing. */
static bool check_text(struct reader *r, const char *field)
{
    lua_Debug ar;
    lua_pushvalue(r->L, -1);
    lua_getinfo(r->L, ">S", &ar);
    int file = sandbox_source_index(ar.source), token = -1, found = 0;
    const struct tokens *t = file >= 0 ? sandbox_tokens(r->sandbox, file) : NULL;
    if (!t) {
        reader_fault(r, field, AT_VALUE, "FIELD-TYPE",
                     "takes a Lua function, this is a function of the language; write "
                     "function(acc, t, i) return ... end");
        return false;
    }
    /* The field's own text where it is written there, else the function by its lines. */
    struct diag_loc loc = reader_locate(r, field, AT_VALUE);
    int f = -1, chosen = -1;
    while ((f = tokens_find_function(t, ar.linedefined, ar.lastlinedefined, f)) >= 0)
        if (chosen < 0 || (t->token[f].line == loc.line && t->token[f].column == loc.column))
            chosen = f;
    const char *instead;
    while (chosen >= 0 && (token = tokens_next_untraceable(t, chosen, token, &instead)) >= 0) {
        struct sandbox_error e = untraceable(t, token, file, instead);
        sandbox_report(r->sandbox, r->diags, &e, reader_kernel(r)->name, field);
        found++;
    }
    if (r->diags->out_of_memory)
        sandbox_no_memory(r->L);
    return found == 0;
}

/* One value that the function returned, on top of the stack: its node. Runs below sandbox_try. */
static int result_node(struct reader *r)
{
    lua_State *L = r->L;
    if (lua_type(L, -1) != LUA_TNUMBER && !is_symbolic(L, -1))
        return luaL_error(L, "the function returns %s; it returns a value, or a table of values by output tensor",
                          describe(r, -1));
    int node = node_of(r, lua_gettop(L));
    if (graph_of(r)->node[node].type == EXPR_PRED)
        return luaL_error(L, "the function returns a condition; select(condition, 1, 0) makes a number of it");
    return node;
}

static bool is_family_output(struct reader *r, const char *name)
{
    const struct spec_family *f = reader_family(r, reader_kernel(r)->family);
    for (const struct spec_family_tensor *row = f ? f->tensor : NULL; row && row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row->out;
    return false;
}

/* { D = ..., E = ... } on top of the stack. */
static void read_outputs(struct reader *r, struct spec_function *f)
{
    struct spec_kernel *k = reader_kernel(r);
    lua_State *L = r->L;
    int table = lua_gettop(L), count;
    struct key *key = sorted_keys(r, table, &count);
    if (count == 0)
        luaL_error(L, "the function returns an empty table; write return { D = ... }");
    for (int n = 0; n < count; n++) {
        struct spec_tensor *t = NULL;
        for (int i = 0; key[n].name && i < k->tensor_count; i++)
            if (strcmp(k->tensor[i].name, key[n].name) == 0)
                t = &k->tensor[i];
        if (!t)
            luaL_error(L, "the function returns a value for %s, which is no tensor of the kernel; write { D = value }",
                       key[n].name ? key[n].name : "a position");
        if (t->read && !is_family_output(r, t->name))
            luaL_error(L, "%s is read by the kernel and cannot be written too", t->name);
        if (t->rank > 0 && t->axis[0] < 0)
            luaL_error(L, "the dims of output %s are not those of the function's axes; write axes in its tensor",
                       t->name);
        if (f->output_count == (int)(sizeof f->output / sizeof *f->output))
            luaL_error(L, "there are more than %d outputs", f->output_count);
        t->out = true;
        lua_getfield(L, table, key[n].name);
        f->output[f->output_count].node = result_node(r);
        f->output[f->output_count++].tensor = (int)(t - k->tensor);
        lua_settop(L, table);
    }
}

/* The traced call: function, acc, t, i on the stack. r->returned says whether an error is the function's own. */
static int traced(lua_State *L)
{
    struct reader *r = reader_of(L);
    struct spec_function *f = lua_touserdata(L, 1);
    lua_call(L, 3, 1);
    r->returned = true;
    if (lua_istable(L, -1))
        read_outputs(r, f);
    else
        f->result = result_node(r);
    return 0;
}

void trace_function(struct reader *r, const char *field, struct spec_function *f)
{
    struct spec_kernel *k = reader_kernel(r);
    lua_State *L = r->L;
    f->loc = reader_locate(r, field, AT_VALUE);
    f->result = -1;
    f->set = true;
    luaL_checkstack(L, 12, "trace");
    int status = SANDBOX_FAULT;
    struct sandbox_error error;
    if (check_text(r, field)) {
        r->epoch = ++r->epochs;
        r->returned = false;
        lua_pushcfunction(L, traced);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, f);
        lua_insert(L, -2);
        push_value(r, expr_leaf(&k->graph, EXPR_ACC, EXPR_REAL, 0));
        lua_newtable(L);
        luaL_setmetatable(L, TYPE_TENSORS);
        lua_newtable(L);
        luaL_setmetatable(L, TYPE_INDICES);
        sandbox_on_call(r->sandbox, look_at_call);
        status = sandbox_try(L, 5, 0, &error);
        sandbox_on_call(r->sandbox, NULL);
        r->epoch = 0;
        if (status == SANDBOX_NO_MEMORY)
            sandbox_no_memory(L);
        if (status != SANDBOX_OK && (r->returned || error.line == 0))
            reader_fault(r, field, AT_VALUE, "TRACE-RESULT", "%s", error.text);
        else if (status != SANDBOX_OK)
            sandbox_report(r->sandbox, r->diags, &error, k->name, field);
    } else {
        lua_pop(L, 1);
    }
    if (status == SANDBOX_OK)
        return;
    for (int i = 0; i < k->tensor_count; i++) /* what it would have read and written is unknown: no second fault */
        k->tensor[i].read = true, k->tensor[i].out = is_family_output(r, k->tensor[i].name);
    for (int i = 0; i < k->scalar_count; i++)
        k->scalar[i].read = true;
}

/* ---- what the language has ------------------------------------------------------------------------------------- */

static void add_operators(lua_State *L)
{
    static const struct {
        const char *event;
        enum expr_op op;
    } table[] = {{"__add", EXPR_ADD}, {"__sub", EXPR_SUB}, {"__mul", EXPR_MUL},       {"__div", EXPR_DIV},
                 {"__mod", EXPR_MOD}, {"__unm", EXPR_NEG}, {"__idiv", EXPR_FLOORDIV}, {"__band", EXPR_AND},
                 {"__bor", EXPR_OR},  {"__bnot", EXPR_NOT}};
    static const struct {
        const char *event, *text;
    } refused[] = {
        {"__lt", "< and > cannot compare expressions, their values come at launch; in a function write lt(a, b)"},
        {"__le", "<= and >= cannot compare expressions, their values come at launch; in a function write le(a, b)"},
        {"__eq", "== and ~= cannot compare expressions, their values come at launch; in a function write eq(a, b)"},
        {"__pow", "expressions have no operator ^; write x * x, or exp(y * log(x))"},
        {"__bxor", "expressions have no operator ~ between two; conditions take & | and ~ before one"},
        {"__shl", "expressions have no operator <<; write * and a power of two"},
        {"__shr", "expressions have no operator >>; write // and a power of two"},
        {"__concat", "an expression is no text; its value comes at launch"},
        {"__len", "an expression has no length"},
        {"__call", "an expression is no function"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        lua_pushinteger(L, table[i].op);
        lua_pushcclosure(L, operate, 1);
        lua_setfield(L, -2, table[i].event);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        lua_pushstring(L, refused[i].text);
        lua_pushcclosure(L, refuse, 1);
        lua_setfield(L, -2, refused[i].event);
    }
}

static void add_table(lua_State *L, const char *name, lua_CFunction get)
{
    luaL_newmetatable(L, name);
    lua_pushcfunction(L, get);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, set_nothing);
    lua_setfield(L, -2, "__newindex");
    lua_pop(L, 1);
}

void open_expressions(struct reader *r)
{
    lua_State *L = r->L;
    luaL_newmetatable(L, TYPE_EXPRESSION);
    add_operators(L);
    lua_pushcfunction(L, value_text);
    lua_setfield(L, -2, "__tostring");
    luaL_newmetatable(L, TYPE_ELEMENT);
    add_operators(L);
    lua_pushcfunction(L, index_element);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, set_nothing);
    lua_setfield(L, -2, "__newindex");
    lua_pop(L, 2);
    add_table(L, TYPE_TENSORS, get_operand);
    add_table(L, TYPE_INDICES, get_index);
    for (int op = 0; op < EXPR_OP_COUNT; op++) { /* every operator whose name is a word */
        const char *name = expr_ops[op].name;
        if (!is_identifier(name) || op == EXPR_SELECT || op == EXPR_CAST)
            continue;
        lua_pushinteger(L, op);
        lua_pushcclosure(L, function, 1);
        sandbox_set_global(r->sandbox, name);
    }
    lua_pushcfunction(L, clamp);
    sandbox_set_global(r->sandbox, "clamp");
    lua_pushcfunction(L, cast);
    sandbox_set_global(r->sandbox, "cast");
    lua_getfield(L, LUA_REGISTRYINDEX, "readable");
    lua_getfield(L, -1, "select");
    lua_pushcclosure(L, select_value, 1);
    lua_setfield(L, -2, "select");
    lua_pop(L, 1);
}
