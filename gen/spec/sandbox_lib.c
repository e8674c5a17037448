/* What a text in the sandbox can use: an allow list of Lua's library, with the parts that depend on addresses, hash
 * seeds or the machine replaced, and a message for each part that is left out. */
#include "spec/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include <lua5.4/lauxlib.h>
#include <lua5.4/lualib.h>

static const char *const base_words[] = {"assert", "error",    "ipairs", "rawequal", "rawlen",
                                         "select", "tonumber", "type",   NULL};
static const char *const math_words[] = {"abs", "acos",       "asin", "atan", "ceil", "cos", "deg",
                                         "exp", "floor",      "fmod", "huge", "log",  "max", "maxinteger",
                                         "min", "mininteger", "modf", "pi",   "rad",  "sin", "sqrt",
                                         "tan", "tointeger",  "type", "ult",  NULL};
static const char *const string_words[] = {"byte", "char", "len", "lower", "reverse", "sub", "upper", NULL};
static const char *const table_words[] = {"concat", "insert", "pack", "remove", "unpack", NULL};

/* Names of plain Lua that the sandbox leaves out, and why. A name that ends in "." is a whole library. */
static const struct {
    const char *name, *reason;
} left_out[] = {
    {"_G", "globals are read by name"},
    {"_VERSION", "it is Lua 5.4"},
    {"collectgarbage", "memory is the host's"},
    {"coroutine.", "a spec runs once, top to bottom"},
    {"debug.", "it reaches past the sandbox"},
    {"dofile", "require reads files beside the spec"},
    {"getmetatable", "a spec declares in plain tables"},
    {"io.", "a spec reads no file but what it requires"},
    {"load", "require reads files beside the spec"},
    {"loadfile", "require reads files beside the spec"},
    {"loadstring", "require reads files beside the spec"},
    {"math.random", "the output must not change from run to run"},
    {"math.randomseed", "the output must not change from run to run"},
    {"os.", "the output must not depend on the machine or the time"},
    {"package.", "require reads files beside the spec"},
    {"pcall", "faults are to be seen"},
    {"print", "a spec prints nothing; error(text) stops with a text"},
    {"rawget", "there are no metatables to pass by"},
    {"rawset", "there are no metatables to pass by"},
    {"require", "there is no folder to read from"},
    {"setmetatable", "a spec declares in plain tables"},
    {"string.dump", "bytecode is not read either"},
    {"string.find", "no cap can stop a pattern; compare with == or string.sub"},
    {"string.gmatch", "no cap can stop a pattern; compare with == or string.sub"},
    {"string.gsub", "no cap can stop a pattern; compare with == or string.sub"},
    {"string.match", "no cap can stop a pattern; compare with == or string.sub"},
    {"string.pack", "bytes are not for specs"},
    {"string.packsize", "bytes are not for specs"},
    {"string.unpack", "bytes are not for specs"},
    {"utf8.", "a spec handles no characters"},
    {"warn", "a spec prints nothing; error(text) stops with a text"},
    {"xpcall", "faults are to be seen"},
};

enum { REP_BYTES = 1 << 20 };

/* ---- strings --------------------------------------------------------------------------------------------------- */

/* Pushes the text of the value at `index`: as Lua's tostring, but without addresses. */
static void push_text(lua_State *L, int index)
{
    int type = lua_type(L, index);
    bool named = type == LUA_TNIL || type == LUA_TBOOLEAN || type == LUA_TNUMBER || type == LUA_TSTRING;
    if (!named && luaL_getmetafield(L, index, "__tostring") != LUA_TNIL) {
        lua_pop(L, 1);
        named = true;
    }
    if (named)
        luaL_tolstring(L, index, NULL);
    else
        lua_pushstring(L, lua_typename(L, type));
}

static int text_of(lua_State *L)
{
    luaL_checkany(L, 1);
    sandbox_expect_known(L, 1, "tostring", true);
    push_text(L, 1);
    return 1;
}

/* Goes on as the function of Lua's that is upvalue 1, whose errors then have this one's name. */
static int plain(lua_State *L)
{
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int repeat(lua_State *L)
{
    size_t length, between = 0;
    luaL_checklstring(L, 1, &length);
    lua_Integer count = luaL_checkinteger(L, 2);
    luaL_optlstring(L, 3, "", &between);
    lua_settop(L, 3);
    size_t one = length + between;
    if (count > 0 && one > 0 && (size_t)count > REP_BYTES / one)
        return luaL_error(L, "string.rep: the sandbox makes no string of more than %d bytes", REP_BYTES);
    if (one == 0)
        count = 0; /* any number of nothing */
    lua_pushinteger(L, count);
    lua_replace(L, 2);
    sandbox_charge(L, count > 0 ? count : 0);
    return plain(L);
}

/* string.format: %s takes texts without addresses, %p is refused. */
static int format(lua_State *L)
{
    size_t length;
    const char *p = luaL_checklstring(L, 1, &length);
    int top = lua_gettop(L), argument = 1;
    sandbox_charge(L, (int64_t)length / 16);
    for (; *p; p++) {
        if (*p != '%')
            continue;
        p++;
        if (*p == '%')
            continue;
        p += strspn(p, "-+ #0123456789.");
        argument++;
        if (*p == 'p')
            return luaL_error(L, "string.format: the sandbox leaves %%p out: addresses change from run to run");
        if (*p == 's' && argument <= top) {
            sandbox_expect_known(L, argument, "string.format", true);
            push_text(L, argument);
            lua_replace(L, argument);
        }
        if (!*p)
            break;
    }
    return plain(L);
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static int rank_of(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        return 0;
    case LUA_TSTRING:
        return 1;
    case LUA_TBOOLEAN:
        return 2;
    default:
        return luaL_error(L, "a table with a %s as key has no order; use texts or numbers as keys",
                          luaL_typename(L, index));
    }
}

/* Negative, 0, positive: numbers, then strings by bytes, then booleans. Both are keys of one table, so never equal
 * numbers of two kinds. */
static int order(lua_State *L, int a, int b)
{
    int x = rank_of(L, a), y = rank_of(L, b);
    if (x != y)
        return x - y;
    sandbox_charge_comparison(L, a, b);
    if (x == 0)
        return lua_compare(L, a, b, LUA_OPLT) ? -1 : lua_compare(L, b, a, LUA_OPLT);
    if (x == 2)
        return lua_toboolean(L, a) - lua_toboolean(L, b);
    size_t n, m;
    const char *s = lua_tolstring(L, a, &n), *t = lua_tolstring(L, b, &m);
    int c = memcmp(s, t, n < m ? n : m);
    return c ? c : (n > m) - (n < m);
}

/* Compares two values of the list that is sorted: by `order` where there is no function at index 2. */
static bool before(lua_State *L, int a, int b, bool keys)
{
    if (keys)
        return order(L, a, b) < 0;
    sandbox_charge_comparison(L, a, b);
    if (lua_isnil(L, 2))
        return lua_compare(L, a, b, LUA_OPLT);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 2, 1);
    sandbox_expect_known(L, lua_gettop(L), "table.sort", false);
    bool result = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return result;
}

/* Merge sort of list[1..n], stable, through a second list. Leaves the stack as it was. */
static void sort_list(lua_State *L, int list, lua_Integer n, bool keys)
{
    int top_before = lua_gettop(L);
    lua_createtable(L, (int)n, 0);
    int from = list, to = lua_gettop(L);
    for (lua_Integer width = 1; width < n; width *= 2) {
        for (lua_Integer left = 1; left <= n; left += 2 * width) {
            lua_Integer middle = left + width < n + 1 ? left + width : n + 1;
            lua_Integer right = left + 2 * width < n + 1 ? left + 2 * width : n + 1;
            lua_Integer i = left, j = middle;
            for (lua_Integer k = left; k < right; k++) {
                bool second = i >= middle;
                if (!second && j < right) {
                    lua_rawgeti(L, from, i);
                    lua_rawgeti(L, from, j);
                    int top = lua_gettop(L);
                    second = before(L, top, top - 1, keys);
                    lua_settop(L, top - 2);
                }
                lua_rawgeti(L, from, second ? j++ : i++);
                lua_rawseti(L, to, k);
            }
        }
        sandbox_charge(L, n);
        int swap = from;
        from = to;
        to = swap;
    }
    for (lua_Integer k = 1; from != list && k <= n; k++) {
        lua_rawgeti(L, from, k);
        lua_rawseti(L, list, k);
    }
    lua_settop(L, top_before);
}

static int sort(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    if (n > 1 << 24)
        return luaL_error(L, "table.sort: the list is too long");
    sort_list(L, 1, n, false);
    return 0;
}

static int move(lua_State *L)
{
    lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);
    luaL_checktype(L, 1, LUA_TTABLE);
    if (to > from)
        sandbox_charge(L, (int64_t)((uint64_t)to - (uint64_t)from) < 0 ? INT64_MAX / 2 : to - from);
    return plain(L);
}

/* next of pairs: upvalues are the table, its sorted keys and the position. Keys that were removed meanwhile are passed
 * by. */
static int next_pair(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
    for (;;) {
        lua_rawgeti(L, lua_upvalueindex(2), ++i);
        if (lua_isnil(L, -1))
            return 1;
        lua_pushvalue(L, -1);
        lua_rawget(L, lua_upvalueindex(1));
        if (!lua_isnil(L, -1))
            break;
        lua_pop(L, 2);
    }
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(3));
    return 2;
}

static int pairs(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    sandbox_expect_known(L, 1, "pairs", false);
    lua_settop(L, 1);
    lua_newtable(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, 1);) {
        lua_pop(L, 1);
        rank_of(L, -1);
        lua_pushvalue(L, -1);
        lua_rawseti(L, 2, ++n);
    }
    sandbox_charge(L, n);
    sort_list(L, 2, n, true);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

/* next(t, k): the smallest key after k. */
static int next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    sandbox_expect_known(L, 1, "next", false);
    lua_settop(L, 2);
    bool first = lua_isnil(L, 2);
    int64_t steps = 0;
    lua_pushnil(L); /* 3: the best so far */
    for (lua_pushnil(L); lua_next(L, 1); steps++) {
        lua_pop(L, 1);
        int key = lua_gettop(L);
        rank_of(L, key);
        bool after = first || order(L, key, 2) > 0;
        if (after && (lua_isnil(L, 3) || order(L, key, 3) < 0)) {
            lua_pushvalue(L, key);
            lua_replace(L, 3);
        }
    }
    sandbox_charge(L, steps);
    lua_settop(L, 3);
    if (lua_isnil(L, 3))
        return 1;
    lua_pushvalue(L, 3);
    lua_rawget(L, 1);
    return 2;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* The reason why `library`.`name` (library "" for globals) is left out, or NULL. */
static const char *reason_of(const char *library, const char *name)
{
    size_t n = strlen(library);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        const char *entry = left_out[i].name, *dot = strchr(entry, '.');
        if (n == 0 ? strcmp(entry, name) == 0
                   : dot && (size_t)(dot - entry) == n && memcmp(entry, library, n) == 0 &&
                         (!dot[1] || strcmp(dot + 1, name) == 0))
            return left_out[i].reason;
    }
    return NULL;
}

/* Nearest of the keys of the table at `index` to `word`, pushed as a string; nothing is pushed where none is near. */
static const char *nearest(lua_State *L, int index, const char *word)
{
    const char *list[3] = {NULL, NULL, NULL}; /* the best so far and the next: the earlier of equals in sorted order */
    for (lua_pushnil(L); lua_next(L, index);) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            continue;
        const char *key = lua_tostring(L, -1);
        bool swap = list[0] && strcmp(key, list[0]) < 0;
        const char *pair[3] = {swap ? key : list[0] ? list[0] : key, swap ? list[0] : list[0] ? key : NULL, NULL};
        list[0] = diag_suggest(word, pair); /* keys are strings of the table, so they stay */
    }
    return list[0];
}

/* Reading a name that is not there. Upvalues: what can be read, the library's name or "". */
static int read_name(lua_State *L)
{
    const char *library = lua_tostring(L, lua_upvalueindex(2)), *dot = *library ? "." : "";
    if (lua_type(L, 2) != LUA_TSTRING)
        return luaL_error(L, "%s: names are texts, this is a %s", *library ? library : "globals", luaL_typename(L, 2));
    const char *name = lua_tostring(L, 2), *reason = reason_of(library, name);
    if (reason)
        return sandbox_fault(L, "SANDBOX-NAME", name, "the sandbox leaves %s%s%s out: %s", library, dot, name, reason);
    const char *near = nearest(L, lua_upvalueindex(1), name);
    if (near)
        return sandbox_fault(L, "SANDBOX-NAME", name, "there is no %s%s%s; did you mean '%s%s%s'?", library, dot, name,
                             library, dot, near);
    if (*library)
        return sandbox_fault(L, "SANDBOX-NAME", name, "there is no %s.%s", library, name);
    return sandbox_fault(L, "SANDBOX-NAME", name, "'%s' is not declared; write local %s = ... before", name, name);
}

static int write_name(lua_State *L)
{
    const char *library = lua_tostring(L, lua_upvalueindex(2));
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
    if (*library)
        return sandbox_fault(L, "SANDBOX-NAME", name, "%s.%s: the library cannot be changed", library, name);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
        return sandbox_fault(L, "SANDBOX-NAME", name,
                             "%s is a word of the language and cannot be assigned; write local "
                             "and another name",
                             name);
    return sandbox_fault(L, "SANDBOX-NAME", name, "'%s' is assigned but not declared; write local %s = ...", name,
                         name);
}

/* Pushes a function whose upvalues are the table at `readable` and the library's name. */
static void push_event(lua_State *L, lua_CFunction function, int readable, const char *library)
{
    lua_pushvalue(L, readable);
    lua_pushstring(L, library);
    lua_pushcclosure(L, function, 2);
}

/* Replaces the table on top by an empty one that reads it and refuses the rest: Lua itself finds what is there, and
 * read_name is called for what is not. */
static void guard(lua_State *L, const char *library)
{
    int readable = lua_gettop(L);
    lua_createtable(L, 0, 1);
    push_event(L, read_name, readable, library);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, readable);
    lua_newtable(L);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, readable);
    lua_setfield(L, -2, "__index");
    push_event(L, write_name, readable, library);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_replace(L, readable);
}

/* Pushes a table of the named fields of the table at `from`. */
static void select_words(lua_State *L, int from, const char *const *words)
{
    lua_newtable(L);
    for (; *words; words++) {
        lua_getfield(L, from, *words);
        lua_setfield(L, -2, *words);
    }
}

/* Wraps the field of the library on top (and of the table at `from`) by a function that has the plain one as upvalue.
 */
static void wrap(lua_State *L, int from, const char *name, lua_CFunction f)
{
    lua_getfield(L, from, name);
    lua_pushcclosure(L, f, 1);
    lua_setfield(L, -2, name);
}

static void open_strings(lua_State *L, int globals)
{
    luaL_requiref(L, "string", luaopen_string, 0);
    int plain = lua_gettop(L);
    select_words(L, plain, string_words);
    wrap(L, plain, "rep", repeat);
    wrap(L, plain, "format", format);
    sandbox_wrap_calls(L, "string");
    guard(L, "string");
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1); /* ("x"):rep(3) */
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
    lua_setfield(L, globals, "string");
    lua_settop(L, plain - 1);
}

static void open_tables(lua_State *L, int globals)
{
    luaL_requiref(L, "table", luaopen_table, 0);
    int plain = lua_gettop(L);
    select_words(L, plain, table_words);
    lua_pushcfunction(L, sort);
    lua_setfield(L, -2, "sort");
    wrap(L, plain, "move", move);
    sandbox_wrap_calls(L, "table");
    guard(L, "table");
    lua_setfield(L, globals, "table");
    lua_settop(L, plain - 1);
}

void sandbox_open_library(lua_State *L)
{
    static const luaL_Reg own[] = {{"tostring", text_of}, {"pairs", pairs}, {"next", next}, {NULL, NULL}};
    luaL_requiref(L, "_G", luaopen_base, 0);
    int plain = lua_gettop(L);
    select_words(L, plain, base_words);
    int globals = lua_gettop(L);
    luaL_setfuncs(L, own, 0);
    sandbox_wrap_calls(L, "");
    if (sandbox_folder(sandbox_of(L))) {
        lua_pushcfunction(L, sandbox_require);
        lua_setfield(L, globals, "require");
    }
    open_strings(L, globals);
    open_tables(L, globals);
    luaL_requiref(L, "math", luaopen_math, 0);
    select_words(L, lua_gettop(L), math_words);
    sandbox_wrap_calls(L, "math");
    guard(L, "math");
    lua_setfield(L, globals, "math");
    lua_settop(L, globals);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) { /* io.open is to be named, not io */
        size_t n = strlen(left_out[i].name);
        if (left_out[i].name[n - 1] != '.')
            continue;
        lua_pushlstring(L, left_out[i].name, n - 1);
        const char *library = lua_tostring(L, -1);
        lua_newtable(L);
        guard(L, library);
        lua_setfield(L, globals, library);
        lua_settop(L, globals);
    }
    lua_pushvalue(L, globals);
    lua_setfield(L, LUA_REGISTRYINDEX, "readable");
    guard(L, "");
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_settop(L, plain - 1);
}

void sandbox_set_global(struct sandbox *s, const char *name)
{
    lua_State *L = sandbox_lua(s);
    lua_getfield(L, LUA_REGISTRYINDEX, "readable");
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}
