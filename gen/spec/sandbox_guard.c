/* What guard.h's rewritten texts call, and the functions of the library that would make a Lua boolean or a plain value
 * of one that comes at launch. Which values those are the host says: sandbox_know_values. */
#include "spec/sandbox.h"

#include <stdio.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

#include "spec/guard.h"

static const char rule[] = "TRACE-LUA";

static const struct {
    const char *word, *instead;
} words[] = {
    {"<", "lt(a, b)"},
    {"<=", "le(a, b)"},
    {">", "gt(a, b)"},
    {">=", "ge(a, b)"},
    {"==", "eq(a, b)"},
    {"~=", "ne(a, b)"},
    {"and", "a & b, or x == nil where an argument may be missing"},
    {"or", "a | b, or x == nil where an argument may be missing"},
    {"not", "~a, or x == nil where an argument may be missing"},
    {"if", "where(condition, yes, no)"},
    {"elseif", "where(condition, yes, no)"},
    {"while", "loop(\"name\", range(from, to), { first values }, function(j, ...) ... end)"},
    {"until", "loop(\"name\", range(from, to), { first values }, function(j, ...) ... end)"},
    {"for", "loop(\"name\", range(from, to), { first values }, function(j, ...) ... end)"},
};

/* Raises the error at token `token` of the text that runs; its place is left open where the text is unknown. */
static int fault_at(lua_State *L, lua_Integer token, const char *format, const char *a, const char *b)
{
    struct sandbox_error e = {.rule = rule};
    e.file = sandbox_where(L, 1, &e.line);
    const struct tokens *t = sandbox_tokens(sandbox_of(L), e.file);
    if (t && token >= 0 && token < t->count) {
        e.line = t->token[token].line;
        e.column = t->token[token].column;
    }
    snprintf(e.text, sizeof e.text, format, a, b);
    return sandbox_raise(L, &e);
}

/* Of a table without metatable, a number, a text: nothing is asked. */
static enum sandbox_value value_at(lua_State *L, int index)
{
    int type = lua_type(L, index);
    if (type != LUA_TUSERDATA && (type != LUA_TTABLE || !lua_getmetatable(L, index)))
        return SANDBOX_PLAIN;
    if (type == LUA_TTABLE)
        lua_pop(L, 1);
    return sandbox_value_at(L, index);
}

static int refuse_word(lua_State *L, int token_index, enum sandbox_value value)
{
    lua_Integer token = lua_tointeger(L, token_index);
    int line, file = sandbox_where(L, 1, &line);
    const struct tokens *t = sandbox_tokens(sandbox_of(L), file);
    for (size_t i = 0; t && token >= 0 && token < t->count && i < sizeof words / sizeof *words; i++)
        if (token_is(t, (int)token, words[i].word))
            return value == SANDBOX_SIZE
                       ? fault_at(L, token,
                                  "'%s' knows no value of an expression of dims, which comes at launch; write %s in a "
                                  "function of the kernel",
                                  words[i].word, words[i].instead)
                       : fault_at(L, token, "'%s' is plain Lua, which knows no value of an expression; write %s",
                                  words[i].word, words[i].instead);
    return fault_at(L, token, "plain Lua knows no value of an expression; write %s", "where(condition, yes, no)", "");
}

/* ---- the guards ------------------------------------------------------------------------------------------------ */

/* An expression of dims is no condition: `or` asks whether it is there. */
static int truth(lua_State *L)
{
    enum sandbox_value value = value_at(L, 1);
    if (value != SANDBOX_PLAIN && value != SANDBOX_SIZE)
        return refuse_word(L, 2, value);
    lua_settop(L, 1);
    return 1;
}

static int choice(lua_State *L)
{
    enum sandbox_value value = value_at(L, 1);
    if (value == SANDBOX_CONDITION)
        return refuse_word(L, 2, value);
    lua_settop(L, 1);
    return 1;
}

static void expect_plain(lua_State *L)
{
    for (int i = 1; i <= 2; i++) {
        enum sandbox_value value = value_at(L, i);
        if (value != SANDBOX_PLAIN)
            refuse_word(L, 3, value);
    }
    sandbox_charge_comparison(L, 1, 2);
}

/* Pushes whether the comparison of argument `left` with the other gives `wanted`. */
static int compare(lua_State *L, int left, int operation, int wanted)
{
    expect_plain(L);
    lua_pushboolean(L, lua_compare(L, left, 3 - left, operation) == wanted);
    return 1;
}

static int equal(lua_State *L)
{
    return compare(L, 1, LUA_OPEQ, 1);
}

static int unequal(lua_State *L)
{
    return compare(L, 1, LUA_OPEQ, 0);
}

static int below(lua_State *L)
{
    return compare(L, 1, LUA_OPLT, 1);
}

static int at_most(lua_State *L)
{
    return compare(L, 1, LUA_OPLE, 1);
}

static int above(lua_State *L)
{
    return compare(L, 2, LUA_OPLT, 1);
}

static int at_least(lua_State *L)
{
    return compare(L, 2, LUA_OPLE, 1);
}

/* Of texts as keys Lua compares the long ones byte by byte; the others are the same where they are equal. */
static void charge_key(lua_State *L, int index)
{
    enum { LONGEST_SHORT = 40 };
    if (lua_type(L, index) == LUA_TSTRING && lua_rawlen(L, index) > LONGEST_SHORT)
        sandbox_charge_comparison(L, index, index);
}

/* What lies in a plain table does not depend on a value of launch. */
static int element(lua_State *L)
{
    int type = lua_type(L, 1);
    if (type == LUA_TTABLE && !lua_getmetatable(L, 1)) {
        if (value_at(L, 2) != SANDBOX_PLAIN)
            return fault_at(
                L, lua_tointeger(L, 3),
                "a plain table has no element at an expression, whose value comes at launch; write a tensor, "
                "lut = tensor { 256, dtype = \"fp32\" } and t.lut[%s]%s",
                "i.n % 256", "");
        charge_key(L, 2);
        lua_pushvalue(L, 2);
        lua_rawget(L, 1);
        return 1;
    }
    if (type == LUA_TNIL || type == LUA_TBOOLEAN || type == LUA_TNUMBER || type == LUA_TFUNCTION) {
        lua_Integer token = lua_tointeger(L, 3);
        int line, file = sandbox_where(L, 1, &line);
        const struct tokens *t = sandbox_tokens(sandbox_of(L), file);
        char name[64] = "";
        if (t && token > 0 && token < t->count && t->token[token - 1].kind == TOKEN_NAME)
            snprintf(name, sizeof name, " (%.*s)", t->token[token - 1].length < 60 ? t->token[token - 1].length : 60,
                     t->text + t->token[token - 1].start);
        return luaL_error(L, "attempt to index a %s value%s", luaL_typename(L, 1), name);
    }
    lua_settop(L, 2);
    lua_gettable(L, 1);
    return 1;
}

static int key(lua_State *L)
{
    if (value_at(L, 1) != SANDBOX_PLAIN)
        return fault_at(L, lua_tointeger(L, 2),
                        "an expression is no key, its value comes at launch; tensors are written by %s%s",
                        "store(t.y, span(...), value) or return { D = value }", "");
    charge_key(L, 1);
    lua_settop(L, 1);
    return 1;
}

static int bound(lua_State *L)
{
    enum sandbox_value value = value_at(L, 1);
    if (value != SANDBOX_PLAIN)
        return refuse_word(L, 2, value);
    lua_settop(L, 1);
    return 1;
}

void sandbox_push_guards(lua_State *L)
{
    static const lua_CFunction function[GUARD_KINDS] = {
        [GUARD_TRUTH] = truth,   [GUARD_CHOICE] = choice, [GUARD_EQ] = equal,   [GUARD_NE] = unequal,
        [GUARD_LT] = below,      [GUARD_LE] = at_most,    [GUARD_GT] = above,   [GUARD_GE] = at_least,
        [GUARD_INDEX] = element, [GUARD_KEY] = key,       [GUARD_BOUND] = bound};
    for (int i = 0; i < GUARD_KINDS; i++)
        lua_pushcfunction(L, function[i]);
}

/* ---- the library ----------------------------------------------------------------------------------------------- */

void sandbox_expect_known(lua_State *L, int index, const char *function, bool sizes)
{
    enum sandbox_value value = lua_type(L, index) == LUA_TNONE ? SANDBOX_PLAIN : value_at(L, index);
    if (value == SANDBOX_PLAIN || (sizes && value == SANDBOX_SIZE))
        return;
    struct sandbox_error e = {.rule = rule};
    e.file = sandbox_token_where(L, 1, &e.line, &e.token);
    const char *word = strrchr(function, '.') ? strrchr(function, '.') + 1 : function;
    e.column = sandbox_running_column(sandbox_of(L), e.file, e.line, e.token, word);
    snprintf(e.text, sizeof e.text, "%s is plain Lua, which knows no value of an expression; it comes at launch",
             function);
    sandbox_raise(L, &e);
}
