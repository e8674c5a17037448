/* A model as read-only Lua tables, built by a sink.
 *
 * Objects become tables whose missing fields are errors; arrays become lists, from 1, that are also keyed by the `name`
 * of their objects and give nil for what they do not hold. A null is nil, and no error. pairs goes in sorted order over
 * an object, from 1 up over a list. Dotted names nest: an item named "ab.full" is also list.ab.full; and an object that
 * has an array `value` of { name, integer or text } gets those as nested fields: plan.tile.m. A field of the object's
 * own wins over a value of that name.
 *
 * A walk makes a tree in C, and Lua's tables are made of it where a template looks. Of a guarded model, assignments to
 * any field are errors; else to those alone that were not read yet, and reading is faster.
 *
 * Every function may raise a Lua error and is to be called under protection, in a sandbox's state.
 */
#ifndef TW_GEN_EMIT_LUA_SINK_H
#define TW_GEN_EMIT_LUA_SINK_H

#include <stdbool.h>

#include <lua5.4/lua.h>

#include "plan/sink.h"
#include "spec/arena.h"

enum { LUA_SINK_DEPTH = 24 };

struct model_node;

/* The state of one walk. */
struct lua_sink {
    lua_State *L;
    struct arena *arena;
    const char *root; /* the model's name in messages */
    bool guarded;
    struct model_node *open[LUA_SINK_DEPTH]; /* containers around what comes next */
    int depth;
};

/* The sink that builds in the arena, which outlives every use of the tables, as do the keys; after the walk the root's
 * table lies on the stack. */
struct sink lua_sink_begin(struct lua_sink *s, lua_State *L, struct arena *arena, const char *root, bool guarded);

/* Pushes an empty guarded object that messages call `label`. */
void model_push_object(lua_State *L, struct arena *arena, const char *label);

/* Pops a value and puts it at the dotted path below the table at index; what is there already stays. */
void model_set_path(lua_State *L, int index, const char *path);

/* Replaces the key on top by the value of that key in the table at index, nil where there is none: no error, no
 * metamethod of a plain table. False (nil again): the value at index is no table. */
bool model_get(lua_State *L, int index);

/* Items of the list or table at index. */
lua_Integer model_length(lua_State *L, int index);

/* Pushes the sorted keys of the model's table at index as a plain list: for pairs. False: it is not the model's. */
bool model_push_keys(lua_State *L, int index);

/* Push the globals pairs and next of the state, made to know the model's tables. */
void model_push_pairs(lua_State *L);
void model_push_next(lua_State *L);

#endif
