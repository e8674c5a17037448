#include "emit/included_globals.h"

#include <lua5.4/lauxlib.h>

/* The _ENV is an empty table, so that every assignment is seen. Its __index is a table of the globals that were read so
 * far, which Lua looks into without a call; what that lacks `find` puts there.
 *
 *     _ENV {}  --__index-->  read so far { bytes = f, math = t }  --__index-->  find: the outermost template's globals
 *
 * Keys of the registry: the first, and the metatable of the second. */
static const char included_key, read_key;

/* Upvalues: globals, the model's name. */
static int find(lua_State *L)
{
    if (lua_rawequal(L, 2, lua_upvalueindex(2)))
        return luaL_error(L, "'%s' is not visible in an included template; pass what it needs as an argument",
                          lua_tostring(L, 2));
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(1));
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_rawset(L, 1);
    return 1;
}

static int assign(lua_State *L)
{
    lua_settop(L, 3);
    lua_settable(L, lua_upvalueindex(1));
    return 0;
}

void included_globals_open(lua_State *L, const char *model)
{
    int globals = lua_gettop(L);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, globals);
    lua_pushstring(L, model);
    lua_pushcclosure(L, find, 2);
    lua_setfield(L, -2, "__index");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &read_key);
    lua_newtable(L);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, globals);
    lua_pushcclosure(L, assign, 1);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &included_key);
    lua_settop(L, globals - 1);
    included_globals_renew(L);
}

void included_globals_push(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &included_key);
}

void included_globals_renew(lua_State *L)
{
    included_globals_push(L);
    lua_getmetatable(L, -1);
    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &read_key);
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
}
