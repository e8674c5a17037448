#include "emit/lua_sink.h"

#include <stdlib.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

/* What Lua sees is an empty table (the proxy) with the metatable below; its content is a plain table that `shadow`, a
 * table of the registry, finds by the proxy. Keys of the content that are no Lua text's: */
static const char shadow_key, object_key, list_key; /* registry: shadow, and the two metatables */
static const char label_key, count_key;             /* content: the name for messages; items of a list */

/* A null field: it exists and is nil. */
static void *const null_value = NULL;

/* Pushes the content of the proxy at index; pushes nothing and returns false where it is no proxy. */
static bool push_content(lua_State *L, int index)
{
    if (!lua_istable(L, index))
        return false;
    index = lua_absindex(L, index);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &shadow_key);
    lua_pushvalue(L, index);
    lua_rawget(L, -2);
    lua_remove(L, -2);
    if (!lua_isnil(L, -1))
        return true;
    lua_pop(L, 1);
    return false;
}

static void null_to_nil(lua_State *L)
{
    if (lua_islightuserdata(L, -1) && lua_touserdata(L, -1) == null_value) {
        lua_pop(L, 1);
        lua_pushnil(L);
    }
}

static int index_list(lua_State *L)
{
    lua_settop(L, 2);
    push_content(L, 1);
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    null_to_nil(L);
    return 1;
}

static int index_object(lua_State *L)
{
    lua_settop(L, 2);
    push_content(L, 1);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_rawgetp(L, 3, &label_key);
        const char *label = lua_tostring(L, -1);
        if (lua_type(L, 2) == LUA_TSTRING)
            return luaL_error(L, "%s has no field '%s'; has(t, \"field\") asks", label, lua_tostring(L, 2));
        return luaL_error(L, "%s is no list; its fields have names", label);
    }
    null_to_nil(L);
    return 1;
}

static int refuse_assignment(lua_State *L)
{
    push_content(L, 1);
    lua_rawgetp(L, -1, &label_key);
    return luaL_error(L, "%s is read-only; copy what you want to change into a local", lua_tostring(L, -1));
}

static int length(lua_State *L)
{
    push_content(L, 1);
    lua_rawgetp(L, -1, &count_key);
    if (!lua_isinteger(L, -1))
        lua_pushinteger(L, 0);
    return 1;
}

/* The step of pairs: upvalues are the sorted keys, the content, and the position. */
static int next_pair(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(3)) + 1;
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(3));
    if (lua_rawgeti(L, lua_upvalueindex(1), i) == LUA_TNIL)
        return 1;
    lua_pushvalue(L, -1);
    lua_rawget(L, lua_upvalueindex(2));
    return 2;
}

static int pairs(lua_State *L)
{
    lua_settop(L, 1);
    if (!model_push_keys(L, 1)) { /* a plain table: what pairs was before */
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    push_content(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

static int next(lua_State *L)
{
    if (push_content(L, 1))
        return luaL_error(L, "next takes no table of the model; use pairs");
    int arguments = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, arguments, LUA_MULTRET);
    return lua_gettop(L);
}

void model_push_pairs(lua_State *L)
{
    lua_getglobal(L, "pairs");
    lua_pushcclosure(L, pairs, 1);
}

void model_push_next(lua_State *L)
{
    lua_getglobal(L, "next");
    lua_pushcclosure(L, next, 1);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool model_push_keys(lua_State *L, int index)
{
    if (!push_content(L, index))
        return false;
    int content = lua_gettop(L);
    lua_newtable(L);
    if (lua_rawgetp(L, content, &count_key) == LUA_TNUMBER) {
        lua_Integer count = lua_tointeger(L, -1);
        for (lua_Integer i = 1; i <= count; i++) {
            lua_pushinteger(L, i);
            lua_rawseti(L, content + 1, i);
        }
    } else {
        size_t count = 0;
        for (lua_pushnil(L); lua_next(L, content); lua_pop(L, 1))
            count += lua_type(L, -2) == LUA_TSTRING && !lua_islightuserdata(L, -1);
        const char **key = lua_newuserdatauv(L, (count + 1) * sizeof *key, 0);
        size_t i = 0;
        for (lua_pushnil(L); lua_next(L, content); lua_pop(L, 1))
            if (lua_type(L, -2) == LUA_TSTRING && !lua_islightuserdata(L, -1))
                key[i++] = lua_tostring(L, -2);
        qsort(key, count, sizeof *key, compare_keys);
        for (i = 0; i < count; i++) {
            lua_pushstring(L, key[i]);
            lua_rawseti(L, content + 1, (lua_Integer)i + 1);
        }
    }
    lua_settop(L, content + 1);
    lua_remove(L, content);
    return true;
}

static void new_metatable(lua_State *L, const void *key, lua_CFunction index)
{
    lua_createtable(L, 0, 4);
    lua_pushcfunction(L, index);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, refuse_assignment);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, length);
    lua_setfield(L, -2, "__len");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

static void open(lua_State *L)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &shadow_key) == LUA_TNIL) {
        lua_newtable(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &shadow_key);
        new_metatable(L, &object_key, index_object);
        new_metatable(L, &list_key, index_list);
    }
    lua_pop(L, 1);
}

/* Replaces the content on top by its proxy. */
static void wrap(lua_State *L, bool list)
{
    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, list ? &list_key : &object_key);
    lua_setmetatable(L, -2);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &shadow_key);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -4);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    lua_remove(L, -2);
}

void model_push_object(lua_State *L, const char *label)
{
    open(L);
    lua_newtable(L);
    lua_pushstring(L, label);
    lua_rawsetp(L, -2, &label_key);
    wrap(L, false);
}

bool model_get(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    bool table = lua_istable(L, index);
    if (push_content(L, index)) {
        lua_insert(L, -2);
        lua_rawget(L, -2);
        lua_remove(L, -2);
        null_to_nil(L);
    } else if (table) {
        lua_rawget(L, index);
    } else {
        lua_pop(L, 1);
        lua_pushnil(L);
    }
    return table;
}

lua_Integer model_length(lua_State *L, int index)
{
    if (!push_content(L, index))
        return (lua_Integer)lua_rawlen(L, index);
    lua_rawgetp(L, -1, &count_key);
    lua_Integer count = lua_tointeger(L, -1);
    lua_pop(L, 2);
    return count;
}

/* Pops a value and puts it at the path below the content at index; what is there already stays. */
static void set_content_path(lua_State *L, int content, const char *path)
{
    content = lua_absindex(L, content);
    const char *dot = strchr(path, '.');
    lua_pushlstring(L, path, dot ? (size_t)(dot - path) : strlen(path));
    lua_pushvalue(L, -1);
    lua_rawget(L, content); /* value, key, old */
    bool absent = lua_isnil(L, -1);
    if (!dot) {
        lua_pop(L, 1);
        lua_insert(L, -2);
        if (absent)
            lua_rawset(L, content);
        else
            lua_pop(L, 2);
        return;
    }
    if (absent) {
        lua_pop(L, 1);
        lua_rawgetp(L, content, &label_key);
        lua_pushfstring(L, "%s.%s", lua_tostring(L, -1), lua_tostring(L, -2));
        model_push_object(L, lua_tostring(L, -1)); /* value, key, label, label, object */
        lua_replace(L, -3);
        lua_pop(L, 1);
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, content); /* value, key, object */
    }
    if (push_content(L, -1)) {
        lua_pushvalue(L, -4);
        set_content_path(L, -2, dot + 1);
        lua_pop(L, 1);
    }
    lua_pop(L, 3);
}

void model_set_path(lua_State *L, int index, const char *path)
{
    push_content(L, index);
    lua_insert(L, -2);
    set_content_path(L, -2, path);
    lua_pop(L, 1);
}

/* ---- the sink -------------------------------------------------------------------------------------------------- */

/* Puts the value on top into the innermost open container, whose content lies below it, and pops it. */
static void add(struct lua_sink *s, const char *key)
{
    lua_State *L = s->L;
    if (s->depth == 0)
        return; /* the root stays on the stack */
    if (s->level[s->depth - 1].list) {
        lua_rawseti(L, -2, ++s->level[s->depth - 1].count);
    } else {
        lua_pushstring(L, key);
        lua_insert(L, -2);
        lua_rawset(L, -3);
    }
}

static void begin(struct lua_sink *s, const char *key, bool list)
{
    lua_State *L = s->L;
    luaL_checkstack(L, 20, "the model is nested too deeply");
    if (s->depth == LUA_SINK_DEPTH)
        luaL_error(L, "the model is nested too deeply");
    /* Stack of a level: key in the container above (false in a list), content. */
    if (s->depth > 0) {
        lua_rawgetp(L, -1, &label_key);
        if (s->level[s->depth - 1].list)
            lua_pushfstring(L, "%s[%d]", lua_tostring(L, -1), s->level[s->depth - 1].count + 1);
        else
            lua_pushfstring(L, "%s.%s", lua_tostring(L, -1), key);
        lua_remove(L, -2);
    } else {
        lua_pushstring(L, s->root);
    }
    if (key)
        lua_pushstring(L, key);
    else
        lua_pushboolean(L, 0);
    lua_insert(L, -2);
    lua_newtable(L);
    lua_insert(L, -2);
    lua_rawsetp(L, -2, &label_key);
    s->level[s->depth].list = list;
    s->level[s->depth].count = 0;
    s->depth++;
}

static void sink_object(void *context, const char *key)
{
    begin(context, key, false);
}

static void sink_array(void *context, const char *key)
{
    begin(context, key, true);
}

/* Spreads the array `value` of the content on top over the content. */
static void spread_values(lua_State *L)
{
    int content = lua_gettop(L);
    lua_pushstring(L, "value");
    lua_rawget(L, content);
    if (push_content(L, -1)) {
        int list = lua_gettop(L);
        for (lua_Integer i = 1; lua_rawgeti(L, list, i) != LUA_TNIL; i++) {
            lua_settop(L, list + 1);
            if (!push_content(L, -1))
                break;
            lua_pushstring(L, "name");
            lua_rawget(L, list + 2);
            const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
            lua_pushstring(L, "text");
            if (lua_rawget(L, list + 2) != LUA_TSTRING) {
                lua_pop(L, 1);
                lua_pushstring(L, "integer");
                lua_rawget(L, list + 2);
            }
            if (name && !lua_isnil(L, -1))
                set_content_path(L, content, name);
            lua_settop(L, list);
        }
    }
    lua_settop(L, content);
}

static void sink_end(void *context)
{
    struct lua_sink *s = context;
    lua_State *L = s->L;
    bool list = s->level[--s->depth].list;
    if (list) {
        lua_pushinteger(L, s->level[s->depth].count);
        lua_rawsetp(L, -2, &count_key);
    } else {
        spread_values(L);
    }
    const char *name = NULL;
    lua_pushstring(L, "name");
    if (lua_rawget(L, -2) == LUA_TSTRING && !list)
        name = lua_tostring(L, -1); /* the content keeps it alive */
    lua_pop(L, 1);
    wrap(L, list); /* content above, key, proxy */
    if (s->depth == 0) {
        lua_remove(L, -2);
    } else if (s->level[s->depth - 1].list) {
        if (name) {
            lua_pushvalue(L, -1);
            lua_setfield(L, -4, name);
            if (strchr(name, '.')) {
                lua_pushvalue(L, -1);
                set_content_path(L, -4, name);
            }
        }
        lua_remove(L, -2);
        add(s, NULL);
    } else {
        lua_rawset(L, -3);
    }
}

static void sink_integer(void *context, const char *key, int64_t value)
{
    struct lua_sink *s = context;
    lua_pushinteger(s->L, value);
    add(s, key);
}

static void sink_text(void *context, const char *key, const char *value)
{
    struct lua_sink *s = context;
    if (value)
        lua_pushstring(s->L, value);
    else
        lua_pushlightuserdata(s->L, null_value);
    add(s, key);
}

static void sink_boolean(void *context, const char *key, bool value)
{
    struct lua_sink *s = context;
    lua_pushboolean(s->L, value);
    add(s, key);
}

struct sink lua_sink_begin(struct lua_sink *s, lua_State *L, const char *root)
{
    *s = (struct lua_sink){.L = L, .root = root};
    open(L);
    return (struct sink){s, sink_object, sink_array, sink_end, sink_integer, sink_text, sink_boolean};
}
