/* The globals of included templates: those of the outermost one, but for the model. */
#ifndef TW_GEN_EMIT_INCLUDED_GLOBALS_H
#define TW_GEN_EMIT_INCLUDED_GLOBALS_H

#include <lua5.4/lua.h>

/* Makes them of the globals on top, which it pops, once in a state. `model` is the name that they leave out. Raises
 * Lua's errors, as the others do. */
void included_globals_open(lua_State *L, const char *model);

/* Pushes their table, the _ENV of included templates. */
void included_globals_push(lua_State *L);

/* To be called where globals of the outermost template have changed: those that were read are read anew. */
void included_globals_renew(lua_State *L);

#endif
