#include "emit/lua_sink.h"

#include <stdlib.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

#include "spec/sandbox.h"

/* A walk builds a tree of nodes. Lua tables are made of it where a template looks: most of a Plan's steps it never
 * does. Each container has one table, which knows its node; what was looked up stays in the node's content: the table
 * itself, or, where the model is guarded, one that the template cannot write to. Keys that are no Lua text's: */
static const char node_key, content_key;   /* of the table: its node, and a guarded one's content */
static const char object_key, list_key;    /* of the registry: the two metatables */

enum node_kind { NODE_OBJECT, NODE_LIST, NODE_INTEGER, NODE_TEXT, NODE_BOOLEAN, NODE_NULL };

struct model_node {
    enum node_kind kind;
    bool guarded;             /* the model's: assignments to what is there are seen */
    bool paths;               /* names in it are paths, which its content lacks still */
    const char *key;          /* in the object around it; of a root, the model's name in messages */
    struct model_node *up;    /* the container, NULL: a root */
    struct model_node *next;  /* in the container */
    struct model_node *first, *last;
    struct model_node **item; /* of a list */
    int count;                /* items of a list, fields of an object */
    int position;             /* in the list around it, from 1 */
    int64_t integer;
    const char *text;
    struct arena *arena;      /* of the tree */
};

/* The field of an object, NULL where it has none. The last of two counts. */
static struct model_node *field(const struct model_node *object, const char *key)
{
    struct model_node *found = NULL;
    for (struct model_node *n = object->first; n; n = n->next)
        if (n->key[0] == key[0] && strcmp(n->key, key) == 0)
            found = n;
    return found;
}

static const char *text_field(const struct model_node *object, const char *key)
{
    const struct model_node *n = object->kind == NODE_OBJECT ? field(object, key) : NULL;
    return n && n->kind == NODE_TEXT ? n->text : NULL;
}

/* The object of a list that has that name: the last. */
static struct model_node *named(const struct model_node *list, const char *name)
{
    for (int i = list->count - 1; i >= 0; i--) {
        const char *own = text_field(list->item[i], "name");
        if (own && strcmp(own, name) == 0)
            return list->item[i];
    }
    return NULL;
}

/* Pushes what messages call the node: plan.role.producer is plan.role[1]. */
static const char *push_label(lua_State *L, const struct model_node *n)
{
    luaL_checkstack(L, 4, NULL);
    if (!n->up)
        return lua_pushstring(L, n->key);
    const char *up = push_label(L, n->up);
    const char *label =
        n->position ? lua_pushfstring(L, "%s[%d]", up, n->position) : lua_pushfstring(L, "%s.%s", up, n->key);
    lua_remove(L, -2);
    return label;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* The node of the model's table at index, NULL where it is none. */
static struct model_node *node_of(lua_State *L, int index)
{
    if (!lua_istable(L, index))
        return NULL;
    lua_rawgetp(L, index, &node_key);
    struct model_node *n = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return n;
}

/* Pushes the content of the node whose table lies at index. */
static void push_content(lua_State *L, const struct model_node *n, int index)
{
    if (n->guarded)
        lua_rawgetp(L, index, &content_key);
    else
        lua_pushvalue(L, index);
}

static void push_table(lua_State *L, struct model_node *n)
{
    enum { MOST_LOOKED_UP = 7 }; /* of an object's fields, before its table grows */
    const int fields = n->kind == NODE_OBJECT && !n->guarded ? n->count : 1;
    lua_createtable(L, n->kind == NODE_LIST && !n->guarded ? n->count : 0,
                    1 + (fields < MOST_LOOKED_UP ? fields : MOST_LOOKED_UP));
    lua_pushlightuserdata(L, n);
    lua_rawsetp(L, -2, &node_key);
    if (n->guarded) {
        lua_newtable(L);
        lua_rawsetp(L, -2, &content_key);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, n->kind == NODE_LIST ? &list_key : &object_key);
    lua_setmetatable(L, -2);
}

/* Pushes the value of a node; a container's for the first time. */
static void push_value(lua_State *L, struct model_node *n)
{
    switch (n->kind) {
    case NODE_OBJECT:
    case NODE_LIST:
        push_table(L, n);
        break;
    case NODE_INTEGER:
        lua_pushinteger(L, n->integer);
        break;
    case NODE_TEXT:
        lua_pushstring(L, n->text);
        break;
    case NODE_BOOLEAN:
        lua_pushboolean(L, n->integer != 0);
        break;
    default:
        lua_pushnil(L);
        break;
    }
}

static void spread(lua_State *L, struct model_node *n, int index);

/* The node that the key at `key` is of, NULL where there is none: a field, an item, an object by its name. */
static struct model_node *child_of(lua_State *L, const struct model_node *n, int key)
{
    if (lua_type(L, key) == LUA_TSTRING)
        return n->kind == NODE_LIST ? named(n, lua_tostring(L, key)) : field(n, lua_tostring(L, key));
    if (n->kind == NODE_LIST && lua_isinteger(L, key)) {
        lua_Integer i = lua_tointeger(L, key);
        return i >= 1 && i <= n->count ? n->item[i - 1] : NULL;
    }
    return NULL;
}

/* Pushes the value of the key at `key` in the node whose table lies at `index`, nil where there is none; what was
 * looked up for the first time is then in the content. Returns whether the key exists: a null is nil, and exists. Both
 * indices are absolute. */
static bool look_up(lua_State *L, struct model_node *n, int index, int key)
{
    luaL_checkstack(L, 12, NULL);
    if (n->kind != NODE_LIST || !lua_isinteger(L, key)) /* an item is where it is, whatever names others have */
        spread(L, n, index);
    push_content(L, n, index);
    lua_pushvalue(L, key);
    if (lua_rawget(L, -2) != LUA_TNIL) {
        lua_remove(L, -2);
        return true;
    }
    lua_pop(L, 1);
    struct model_node *child = child_of(L, n, key);
    bool fresh = child && child->kind != NODE_NULL;
    if (fresh && n->kind == NODE_LIST && lua_type(L, key) == LUA_TSTRING) { /* one table, by number and by name */
        lua_pushinteger(L, child->position);
        look_up(L, n, index, lua_gettop(L));
        lua_remove(L, -2);
    } else if (fresh) {
        push_value(L, child);
    } else {
        lua_pushnil(L);
    }
    if (fresh) {
        lua_pushvalue(L, key);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
    }
    lua_remove(L, -2);
    return child;
}

/* Whether a key of the node is a field's name, to be found as it stands: push_field does for it what look_up does. */
static bool is_plain(lua_State *L, const struct model_node *n, int key)
{
    return n->kind == NODE_OBJECT && !n->guarded && !n->paths && lua_type(L, key) == LUA_TSTRING;
}

/* Pushes the value of the field whose key lies at `key`, which is not in the object's table at `index` yet, and puts it
 * there; false: there is none, and nothing is pushed. */
static bool push_field(lua_State *L, const struct model_node *object, int index, int key)
{
    struct model_node *child = field(object, lua_tostring(L, key));
    if (!child || child->kind == NODE_NULL)
        return false;
    push_value(L, child);
    lua_pushvalue(L, key);
    lua_pushvalue(L, -2);
    lua_rawset(L, index);
    return true;
}

/* Pops a value and puts it at the path below the node whose table lies at index; what is there already stays. */
static void set_path(lua_State *L, struct model_node *n, int index, const char *path)
{
    const char *dot = strchr(path, '.');
    int value = lua_gettop(L);
    lua_pushlstring(L, path, dot ? (size_t)(dot - path) : strlen(path));
    bool exists = look_up(L, n, index, value + 1); /* value, key, old */
    if (!exists) {
        lua_settop(L, value + 1);
        if (dot) {
            const char *key = arena_text(n->arena, lua_tostring(L, value + 1));
            struct model_node *object = key ? arena_alloc(n->arena, sizeof *object) : NULL;
            if (!object)
                sandbox_no_memory(L);
            *object =
                (struct model_node){.kind = NODE_OBJECT, .guarded = n->guarded, .key = key, .up = n, .arena = n->arena};
            push_table(L, object);
        } else {
            lua_pushvalue(L, value);
        }
        push_content(L, n, index); /* value, key, new, content */
        lua_pushvalue(L, value + 1);
        lua_pushvalue(L, value + 2);
        lua_rawset(L, -3);
        lua_pop(L, 1);
    }
    struct model_node *below = dot ? node_of(L, value + 2) : NULL;
    if (below) {
        lua_pushvalue(L, value);
        set_path(L, below, value + 2, dot + 1);
    }
    lua_settop(L, value - 1);
}

/* Puts into the content what stands under dotted names: of a list, its objects; of an object, what its `value` holds.
 */
static void spread(lua_State *L, struct model_node *n, int index)
{
    if (!n->paths)
        return;
    n->paths = false;
    luaL_checkstack(L, 12, NULL);
    const struct model_node *list = n->kind == NODE_LIST ? n : field(n, "value");
    for (int i = 0; i < list->count; i++) {
        const struct model_node *item = list->item[i];
        const char *name = text_field(item, "name"), *text = text_field(item, "text");
        if (item->kind != NODE_OBJECT && n->kind == NODE_OBJECT)
            break;
        if (!name || (n->kind == NODE_LIST && !strchr(name, '.')))
            continue;
        if (n->kind == NODE_LIST) {
            lua_pushinteger(L, i + 1);
            look_up(L, n, index, lua_gettop(L));
            lua_remove(L, -2);
        } else if (text) {
            lua_pushstring(L, text);
        } else {
            const struct model_node *integer = field(item, "integer");
            if (!integer || integer->kind != NODE_INTEGER)
                continue;
            lua_pushinteger(L, integer->integer);
        }
        set_path(L, n, index, name);
    }
}

/* ---- what templates call ----------------------------------------------------------------------------------------- */

static int index_list(lua_State *L)
{
    lua_settop(L, 2);
    struct model_node *n = node_of(L, 1);
    if (n->guarded || n->paths || !lua_isinteger(L, 2)) {
        look_up(L, n, 1, 2);
        return 1;
    }
    /* An item of an unguarded list that is not in its table, for which look_up would do the same. */
    lua_Integer i = lua_tointeger(L, 2);
    if (i < 1 || i > n->count || n->item[i - 1]->kind == NODE_NULL)
        return 0;
    push_value(L, n->item[i - 1]);
    lua_pushvalue(L, -1);
    lua_rawseti(L, 1, i);
    return 1;
}

static int index_object(lua_State *L)
{
    lua_settop(L, 2);
    struct model_node *n = node_of(L, 1);
    if (is_plain(L, n, 2) && push_field(L, n, 1, 2))
        return 1;
    if (look_up(L, n, 1, 2))
        return 1;
    const char *label = push_label(L, n);
    if (lua_type(L, 2) == LUA_TSTRING)
        return luaL_error(L, "%s has no field '%s'; has(t, \"field\") asks", label, lua_tostring(L, 2));
    return luaL_error(L, "%s is no list; its fields have names", label);
}

static int refuse_assignment(lua_State *L)
{
    return luaL_error(L, "%s is read-only; copy what you want to change into a local", push_label(L, node_of(L, 1)));
}

static int length(lua_State *L)
{
    const struct model_node *n = node_of(L, 1);
    lua_pushinteger(L, n->kind == NODE_LIST ? n->count : 0);
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
    if (!model_push_keys(L, 1)) /* a plain table: what pairs was before, a function without upvalues of its own */
        return lua_tocfunction(L, lua_upvalueindex(1))(L);
    push_content(L, node_of(L, 1), 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

static int next(lua_State *L)
{
    if (node_of(L, 1))
        return luaL_error(L, "next takes no table of the model; use pairs");
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
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

/* Looks up everything that the node has. */
static void fill_content(lua_State *L, struct model_node *n, int index)
{
    int top = lua_gettop(L);
    spread(L, n, index);
    for (struct model_node *child = n->first; child; child = child->next) {
        if (n->kind == NODE_LIST)
            lua_pushinteger(L, child->position);
        else
            lua_pushstring(L, child->key);
        look_up(L, n, index, top + 1);
        lua_settop(L, top);
    }
}

bool model_push_keys(lua_State *L, int index)
{
    struct model_node *n = node_of(L, index);
    if (!n)
        return false;
    luaL_checkstack(L, 16, NULL);
    index = lua_absindex(L, index);
    fill_content(L, n, index);
    lua_newtable(L);
    int keys = lua_gettop(L);
    if (n->kind == NODE_LIST) {
        for (lua_Integer i = 1; i <= n->count; i++) {
            lua_pushinteger(L, i);
            lua_rawseti(L, keys, i);
        }
        return true;
    }
    push_content(L, n, index);
    size_t count = 0, i = 0;
    for (lua_pushnil(L); lua_next(L, keys + 1); lua_pop(L, 1))
        count += lua_type(L, -2) == LUA_TSTRING;
    const char **key = lua_newuserdatauv(L, (count + 1) * sizeof *key, 0);
    for (lua_pushnil(L); lua_next(L, keys + 1); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING)
            key[i++] = lua_tostring(L, -2);
    qsort(key, count, sizeof *key, compare_keys);
    for (i = 0; i < count; i++) {
        lua_pushstring(L, key[i]);
        lua_rawseti(L, keys, (lua_Integer)i + 1);
    }
    lua_settop(L, keys);
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
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &object_key) == LUA_TNIL) {
        new_metatable(L, &object_key, index_object);
        new_metatable(L, &list_key, index_list);
    }
    lua_pop(L, 1);
}

void model_push_object(lua_State *L, struct arena *arena, const char *label)
{
    open(L);
    struct model_node *n = arena_alloc(arena, sizeof *n);
    const char *key = n ? arena_text(arena, label) : NULL;
    if (!key)
        sandbox_no_memory(L);
    *n = (struct model_node){.kind = NODE_OBJECT, .guarded = true, .key = key, .arena = arena};
    push_table(L, n);
}

bool model_get(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    if (lua_istable(L, index)) { /* what is there is what look_up would find */
        lua_pushvalue(L, -1);
        if (lua_rawget(L, index) != LUA_TNIL) {
            lua_replace(L, -2);
            return true;
        }
        lua_pop(L, 1);
    }
    struct model_node *n = node_of(L, index);
    bool table = lua_istable(L, index);
    int key = lua_gettop(L);
    if (n && is_plain(L, n, key)) {
        if (!push_field(L, n, index, key))
            lua_pushnil(L);
        lua_replace(L, key);
    } else if (n) {
        look_up(L, n, index, key);
        lua_remove(L, key);
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
    const struct model_node *n = node_of(L, index);
    if (!n)
        return (lua_Integer)lua_rawlen(L, index);
    return n->kind == NODE_LIST ? n->count : 0;
}

void model_set_path(lua_State *L, int index, const char *path)
{
    index = lua_absindex(L, index);
    set_path(L, node_of(L, index), index, path);
}

/* ---- the sink -------------------------------------------------------------------------------------------------- */

/* Adds a node to the innermost open container. */
static struct model_node *add(struct lua_sink *s, const char *key, enum node_kind kind)
{
    struct model_node *up = s->depth ? s->open[s->depth - 1] : NULL, *n = arena_room(s->arena, sizeof *n);
    if (!n)
        sandbox_no_memory(s->L);
    *n = (struct model_node){
        .kind = kind, .guarded = s->guarded, .key = up ? key : s->root, .up = up, .arena = s->arena};
    if (!up)
        return n;
    if (up->last)
        up->last->next = n;
    else
        up->first = n;
    up->last = n;
    up->count++;
    n->position = up->kind == NODE_LIST ? up->count : 0;
    return n;
}

static void begin(struct lua_sink *s, const char *key, enum node_kind kind)
{
    if (s->depth == LUA_SINK_DEPTH)
        luaL_error(s->L, "the model is nested too deeply");
    struct model_node *n = add(s, key, kind);
    s->open[s->depth++] = n;
}

static void put_object(void *context, const char *key)
{
    begin(context, key, NODE_OBJECT);
}

static void put_array(void *context, const char *key)
{
    begin(context, key, NODE_LIST);
}

static void put_end(void *context)
{
    struct lua_sink *s = context;
    struct model_node *n = s->open[--s->depth];
    if (n->kind == NODE_OBJECT) {
        const struct model_node *value = field(n, "value");
        const char *name = text_field(n, "name");
        n->paths = value && value->kind == NODE_LIST;
        if (n->position && name && strchr(name, '.'))
            n->up->paths = true;
    } else {
        n->item = arena_alloc(s->arena, ((size_t)n->count + 1) * sizeof *n->item);
        if (!n->item)
            sandbox_no_memory(s->L);
        for (struct model_node *child = n->first; child; child = child->next)
            n->item[child->position - 1] = child;
    }
    if (s->depth == 0)
        push_table(s->L, n);
}

static void put_integer(void *context, const char *key, int64_t value)
{
    add(context, key, NODE_INTEGER)->integer = value;
}

static void put_text(void *context, const char *key, const char *value)
{
    struct lua_sink *s = context;
    struct model_node *n = add(s, key, value ? NODE_TEXT : NODE_NULL);
    if (value && !(n->text = arena_text(s->arena, value)))
        sandbox_no_memory(s->L);
}

static void put_boolean(void *context, const char *key, bool value)
{
    add(context, key, NODE_BOOLEAN)->integer = value;
}

struct sink lua_sink_begin(struct lua_sink *s, lua_State *L, struct arena *arena, const char *root, bool guarded)
{
    *s = (struct lua_sink){.L = L, .arena = arena, .root = root, .guarded = guarded};
    open(L);
    return (struct sink){s, put_object, put_array, put_end, put_integer, put_text, put_boolean};
}
