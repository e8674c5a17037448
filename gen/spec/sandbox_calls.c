/* Functions of Lua's library that are looked at before they run: none takes a value of launch for a plain one, and what
 * works in proportion to its arguments is counted as so many steps. */
#include "spec/sandbox.h"

#include <string.h>

#include <lua5.4/lauxlib.h>

/* What a call costs beside its step; memory that it makes is counted in the allocator. */
enum cost {
    COST_NONE,
    COST_TEXTS,     /* the bytes of its texts */
    COST_ARGUMENTS, /* their number */
    COST_SHIFT,     /* items behind position 2 of list 1, where there is one */
    COST_RANGE,     /* from argument 2 to 3 of the texts or items of argument 1; all of a list where they are missing */
    COST_BYTES,     /* the same of a text; one where they are missing */
    COST_JOIN       /* from argument 3 to 4 of list 1 */
};

enum { BYTES_PER_STEP = 16 };

static const struct call {
    const char *library, *name;
    int known; /* that many of its arguments must be plain values */
    enum cost cost;
} calls[] = {
    {"", "assert", 1, COST_ARGUMENTS},  {"", "ipairs", 1, COST_NONE},         {"", "rawequal", 2, COST_TEXTS},
    {"", "rawlen", 1, COST_NONE},       {"", "select", 1, COST_ARGUMENTS},    {"", "tonumber", 2, COST_TEXTS},
    {"math", "max", 0, COST_ARGUMENTS}, {"math", "min", 0, COST_ARGUMENTS},   {"math", "tointeger", 1, COST_TEXTS},
    {"math", "type", 1, COST_NONE},     {"string", "byte", 0, COST_BYTES},    {"string", "char", 0, COST_ARGUMENTS},
    {"string", "lower", 0, COST_TEXTS}, {"string", "reverse", 0, COST_TEXTS}, {"string", "upper", 0, COST_TEXTS},
    {"table", "concat", 0, COST_JOIN},  {"table", "insert", 0, COST_SHIFT},   {"table", "pack", 0, COST_ARGUMENTS},
    {"table", "remove", 0, COST_SHIFT}, {"table", "unpack", 0, COST_RANGE},
};

/* Steps from first to last; none where they are no numbers, which the function itself refuses. */
static int64_t between(lua_State *L, int first, lua_Integer from, int last, lua_Integer to, lua_Integer length)
{
    if (!lua_isnoneornil(L, first))
        from = lua_tointeger(L, first);
    if (!lua_isnoneornil(L, last))
        to = lua_tointeger(L, last);
    if (length >= 0) { /* of a text: counted from its end where negative, and cut */
        from = from < 0 ? (from < -length ? 1 : length + from + 1) : from;
        to = to < 0 ? (to < -length ? 0 : length + to + 1) : to > length ? length : to;
    }
    lua_Integer count;
    if (to < from)
        return 0;
    return __builtin_sub_overflow(to, from, &count) || count == INT64_MAX ? INT64_MAX : count + 1;
}

static int64_t cost_of(lua_State *L, const struct call *c)
{
    int count = lua_gettop(L);
    lua_Integer list = lua_type(L, 1) == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, 1) : 0;
    lua_Integer text = lua_type(L, 1) == LUA_TSTRING ? (lua_Integer)lua_rawlen(L, 1) : 0;
    int64_t bytes = 0;
    switch (c->cost) {
    case COST_ARGUMENTS:
        return count;
    case COST_SHIFT:
        if (strcmp(c->name, "insert") == 0 ? count < 3 : count < 2)
            return 0;
        return between(L, 2, 0, 4, list, -1);
    case COST_RANGE:
        return between(L, 2, 1, 3, list, -1);
    case COST_JOIN:
        return between(L, 3, 1, 4, list, -1);
    case COST_BYTES:
        return between(L, 2, 1, 3, lua_isnoneornil(L, 2) ? 1 : lua_tointeger(L, 2), text);
    case COST_TEXTS:
        for (int i = 1; i <= count; i++)
            bytes += lua_type(L, i) == LUA_TSTRING ? (int64_t)lua_rawlen(L, i) : 0;
        return bytes / BYTES_PER_STEP;
    default:
        return 0;
    }
}

void sandbox_charge_comparison(lua_State *L, int a, int b)
{
    if (lua_type(L, a) != LUA_TSTRING || lua_type(L, b) != LUA_TSTRING)
        return;
    size_t one = lua_rawlen(L, a), other = lua_rawlen(L, b), least = one < other ? one : other;
    enum { COMPARED_PER_STEP = 4 }; /* zero bytes are slow */
    if (least >= COMPARED_PER_STEP)
        sandbox_charge(L, (int64_t)(least / COMPARED_PER_STEP));
}

/* Upvalues: the plain function, which has none of its own and runs in this one's place, so that its errors name it; and
 * its row of `calls`. */
static int call(lua_State *L)
{
    const struct call *c = &calls[lua_tointeger(L, lua_upvalueindex(2))];
    int count = lua_gettop(L);
    char name[40];
    for (int i = 1; i <= c->known && i <= count; i++)
        if (lua_type(L, i) == LUA_TUSERDATA || lua_type(L, i) == LUA_TTABLE) {
            strcpy(name, c->library);
            strcat(strcat(name, *c->library ? "." : ""), c->name);
            sandbox_expect_known(L, i, name, false);
        }
    int64_t steps = cost_of(L, c);
    if (steps > 0)
        sandbox_charge(L, steps);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void sandbox_wrap_calls(lua_State *L, const char *library)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].library, library) != 0)
            continue;
        lua_getfield(L, -1, calls[i].name);
        lua_pushinteger(L, (lua_Integer)i);
        lua_pushcclosure(L, call, 2);
        lua_setfield(L, -2, calls[i].name);
    }
}
