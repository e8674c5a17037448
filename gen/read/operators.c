/* Operators and functions of expressions in Lua. They build nodes of symbolic operands and compute plain numbers;
 * whatever would turn an expression into a plain Lua boolean is an error. */
#include "read/read.h"

#include <math.h>
#include <string.h>

/* ---- operators ------------------------------------------------------------------------------------------------- */

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

/* What dims alone make, of some sizes. */
static bool is_of_dims(struct reader *r, int node)
{
    int64_t dims[MOST_DIMS], value;
    for (int d = 0; d < MOST_DIMS; d++)
        dims[d] = 1 << 20;
    return expr_eval_int(graph_of(r), node, dims, &value);
}

/* Whole numbers are divided by what is not 0 for sure, or by what dims alone make: whether that is none is a matter of
 * the launch. */
static void check_divisor(struct reader *r, enum expr_op op, int divisor)
{
    int64_t low, high;
    expr_range(graph_of(r), divisor, &low, &high);
    if (low == 0 && high == 0)
        luaL_error(r->L, "%s by 0 has no value; write a divisor that is not 0", expr_ops[op].name);
    if (r->epoch && low <= 0 && high >= 0 && !is_of_dims(r, divisor))
        luaL_error(r->L, "the divisor of %s may be 0, which has no value; write one that is not, such as max(d, 1)",
                   expr_ops[op].name);
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
    struct value operand[3];
    for (int i = 0; i < expr_ops[op].arity; i++) {
        operand[i] = value_at(r, i + 1);
        arg[i] = operand[i].node;
    }
    struct expr_graph *g = graph_of(r);
    if (!expr_result_type(g, op, arg, &type))
        return wrong_operands(r, op, arg);
    if (op == EXPR_MOD || op == EXPR_FLOORDIV)
        check_divisor(r, op, arg[1]);
    struct expr_node n = {.op = op, .arg = {arg[0], arg[1], arg[2]}};
    push_result(r, expr_ops[op].name, expr_add(g, &n), operand, expr_ops[op].arity);
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
    } else if (op == EXPR_WHOLE) {
        lua_pushinteger(L, lua_isinteger(L, 1) ? lua_tointeger(L, 1) : (lua_Integer)expr_whole(lua_tonumber(L, 1)));
    } else if (info->rule == EXPR_ARITH && lua_isinteger(L, 1) && (info->arity == 1 || lua_isinteger(L, 2))) {
        lua_Integer a = lua_tointeger(L, 1), b = info->arity > 1 ? lua_tointeger(L, 2) : 0;
        bool second = op == EXPR_MIN ? b < a : op == EXPR_MAX && b > a;
        lua_pushinteger(L, op == EXPR_ABS ? (a < 0 ? (lua_Integer)(0 - (lua_Unsigned)a) : a) : second ? b : a);
    } else {
        lua_pushnumber(L, plain(op, lua_tonumber(L, 1), info->arity > 1 ? lua_tonumber(L, 2) : 0));
    }
    return 1;
}

/* Lua's own select: how many arguments follow the first, or those from a position on. */
static int select_arguments(lua_State *L)
{
    lua_Integer count = lua_gettop(L), from;
    sandbox_charge(L, count);
    if (lua_type(L, 1) == LUA_TSTRING && *lua_tostring(L, 1) == '#') {
        lua_pushinteger(L, count - 1);
        return 1;
    }
    from = luaL_checkinteger(L, 1);
    from = from < 0 ? count + from : from > count ? count : from;
    luaL_argcheck(L, from >= 1, 1, "index out of range");
    return (int)(count - from);
}

/* select(condition, yes, no); with a number or "#" first it is Lua's own. */
static int select_value(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (lua_type(L, 1) == LUA_TNUMBER || lua_type(L, 1) == LUA_TSTRING)
        return select_arguments(L);
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
    struct value v = value_at(r, 1);
    if (graph_of(r)->node[v.node].type == EXPR_PRED)
        return luaL_error(L, "cast takes a value, this is a condition; select(condition, 1, 0) makes a number of it");
    /* fp32 is what values are computed in, and not what they are exact in. */
    bool exact = r->program && v.tile.dtype == dtype && dtype != TW_FP32;
    push_result(r, "cast", exact ? v.node : expr_cast(graph_of(r), v.node, dtype), &v, 1);
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

void open_expressions(struct reader *r)
{
    lua_State *L = r->L;
    luaL_newmetatable(L, TYPE_EXPRESSION);
    add_operators(L);
    lua_pushcfunction(L, value_text);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, program_method);
    lua_setfield(L, -2, "__index");
    luaL_newmetatable(L, TYPE_ELEMENT);
    add_operators(L);
    lua_pop(L, 2);
    open_operands(r);
    for (int op = 0; op < EXPR_OP_COUNT; op++) { /* every operator whose name is a word */
        const char *name = expr_ops[op].name;
        if (!is_identifier(name) || op == EXPR_SELECT || op == EXPR_CAST)
            continue;
        lua_pushinteger(L, op);
        lua_pushcclosure(L, function, 1);
        sandbox_set_global(r->sandbox, name);
    }
    trace_open_words(r);
    lua_pushcfunction(L, clamp);
    sandbox_set_global(r->sandbox, "clamp");
    lua_pushcfunction(L, cast);
    sandbox_set_global(r->sandbox, "cast");
    lua_pushcfunction(L, select_value);
    sandbox_set_global(r->sandbox, "select");
}
