/* Families that are Lua modules: lib/NAME.lua beside the spec, or the file of that name that ships in the binary. A
 * module returns a table:
 *   axes       "m n k"
 *   grid       "m n": the axes along which items run, their extents those of the tensors
 *   extents    "m": those of them for which a kernel may say another, grid = { m = M }, where data cut what tensors
 *              hold
 *   meaning    "kv": axes whose tile says what is computed, as the keys of a block that lists name do; `tune` offers
 *              none beside the kernel's own
 *   tensors    { { "A", axes = "m k" }, { "D", axes = "m n", out = true }, { "C", axes = "m n", optional = true } };
 *              with fill = function(i, j, ..., n), what `run` puts there where a kernel does not say; with
 *              any_order = true where the program takes its dims in any order: extents then decide it, or
 *              the spec is asked; with shared = true where a kernel's functions may read its elements, too
 *   scalars    { "alpha", "beta" }, each optional
 *   constants  { stride = 1 }: whole numbers, or lists of them, that a kernel may give, and what they are where it does
 *              not; the program reads them by constant "stride"
 *   functions  { "epilogue" }: functions that a kernel may give; the program calls them by fused("epilogue", value)
 *   program    function(t, at, tile)
 *   fields     { tile = { m = 128 }, ... }: what a kernel has where it says nothing else
 *   sizes      function(arch, said, extent, bytes): the tile by axis, for axes that a kernel gives none. said holds
 *              what it gives, see trace_sizes.c; extent the extents that are constants; bytes those of an element, by
 *              tensor. Why is a text in the table's field why. Its tables pipeline, schedule, ahead and via are what
 *              else a kernel has where it says nothing, each with its own why
 *   peer       { "gemm", a = "A", b = "B", d = "D" }: the problem of a library that its kernels solve, and which
 *              tensors of theirs are the problem's; `bench` measures that beside them
 * and a kernel of the family is one with that program. */
#include "read/trace.h"

#include <stdio.h>
#include <string.h>

/* A module that was read. */
struct trace_module {
    struct spec_family family;
    const char **function; /* names, NULL-terminated */
    int table;             /* registry reference */
    struct trace_module *next;
};

static struct trace_module *find_module(const struct reader *r, const char *name)
{
    struct trace_module *m = r->module;
    while (m && name && strcmp(m->family.name, name) != 0)
        m = m->next;
    return name ? m : NULL;
}

const struct spec_family *module_family(const struct reader *r, const char *name)
{
    const struct trace_module *m = find_module(r, name);
    return m ? &m->family : NULL;
}

const char *module_function(const struct reader *r, const char *family)
{
    const struct trace_module *m = find_module(r, family);
    return m ? m->function[0] : NULL;
}

bool module_has_function(const struct reader *r, const char *family, const char *name)
{
    const struct trace_module *m = find_module(r, family);
    for (const char **f = m ? m->function : NULL; f && *f; f++)
        if (strcmp(*f, name) == 0)
            return true;
    return false;
}

bool module_push(struct reader *r)
{
    const struct trace_module *m = find_module(r, reader_kernel(r)->family);
    if (m)
        lua_rawgeti(r->L, LUA_REGISTRYINDEX, m->table);
    return m != NULL;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Pushes the family's own value of the constant; LUA_TNIL: it has none of that name. */
static int push_default(struct reader *r, const char *name)
{
    lua_State *L = r->L;
    const struct trace_module *m = find_module(r, reader_kernel(r)->family);
    const int top = lua_gettop(L);
    bool has = m && lua_rawgeti(L, LUA_REGISTRYINDEX, m->table) == LUA_TTABLE &&
               lua_getfield(L, -1, "constants") == LUA_TTABLE && lua_getfield(L, -1, name) != LUA_TNIL;
    if (!has)
        lua_pushnil(L);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return lua_type(L, top + 1);
}

bool module_has_constant(struct reader *r, const char *name)
{
    const bool has = push_default(r, name) != LUA_TNIL;
    lua_pop(r->L, 1);
    return has;
}

/* The value on top of the stack is a whole number or a list of them, of lists of them up to `depth`. */
static bool is_constant(lua_State *L, int depth)
{
    int64_t value;
    if (!lua_istable(L, -1))
        return exact_integer(L, -1, &value);
    bool fine = depth > 0 && lua_rawlen(L, -1) > 0;
    for (lua_Unsigned i = 1; fine && i <= lua_rawlen(L, -1); i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        fine = is_constant(L, depth - 1);
        lua_pop(L, 1);
    }
    return fine;
}

void module_constant(struct reader *r, const char *name)
{
    if (!is_constant(r->L, 2))
        reader_fault(r, name, AT_VALUE, "FIELD-TYPE", "takes a whole number or a list of them, this is %s",
                     describe(r, lua_gettop(r->L)));
}

/* ---- a module's table, on top of the stack --------------------------------------------------------------------- */

void module_fault(struct reader *r, const char *name, const char *what)
{
    luaL_error(r->L, "module lib/%s.lua: %s", name, what);
}

/* The text of a field; NULL where it is left out. */
static const char *text_field(struct reader *r, const char *module, const char *field, bool required)
{
    lua_State *L = r->L;
    int type = lua_getfield(L, -1, field);
    const char *text = type == LUA_TSTRING ? arena_text(r->arena, lua_tostring(L, -1)) : NULL;
    lua_pop(L, 1);
    if (type == LUA_TSTRING)
        reader_check(r, text);
    if (!text && (required || type != LUA_TNIL))
        luaL_error(L, "module lib/%s.lua: %s is a text such as \"m n\"", module, field);
    return text;
}

static bool flag_field(lua_State *L, const char *field)
{
    lua_getfield(L, -1, field);
    bool set = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return set;
}

/* A list of names, NULL-terminated. */
static const char **name_list(struct reader *r, const char *module, const char *field)
{
    lua_State *L = r->L;
    int type = lua_getfield(L, -1, field);
    lua_Integer count = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 0;
    const char **name = arena_alloc(r->arena, (size_t)(count + 1) * sizeof *name);
    reader_check(r, name);
    if (type != LUA_TNIL && type != LUA_TTABLE)
        luaL_error(L, "module lib/%s.lua: %s is a list of names", module, field);
    for (lua_Integer i = 0; i < count; i++) {
        if (lua_rawgeti(L, -1, i + 1) != LUA_TSTRING)
            luaL_error(L, "module lib/%s.lua: %s is a list of names", module, field);
        name[i] = arena_text(r->arena, lua_tostring(L, -1));
        reader_check(r, name[i]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return name;
}

static struct spec_family_tensor *tensor_list(struct reader *r, const char *module)
{
    lua_State *L = r->L;
    int type = lua_getfield(L, -1, "tensors");
    lua_Integer count = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 0;
    struct spec_family_tensor *row = arena_alloc(r->arena, (size_t)(count + 1) * sizeof *row);
    reader_check(r, row);
    if (count == 0)
        module_fault(r, module,
                     "tensors is a list: { { \"A\", axes = \"m k\" }, { \"D\", axes = \"m n\", out = true } }");
    for (lua_Integer i = 0; i < count; i++) {
        if (lua_rawgeti(L, -1, i + 1) != LUA_TTABLE || lua_rawgeti(L, -1, 1) != LUA_TSTRING)
            module_fault(r, module, "a tensor is a table: { \"A\", axes = \"m k\" }");
        row[i].name = arena_text(r->arena, lua_tostring(L, -1));
        reader_check(r, row[i].name);
        lua_pop(L, 1);
        row[i].axes = text_field(r, module, "axes", true);
        row[i].out = flag_field(L, "out");
        row[i].any_order = flag_field(L, "any_order");
        row[i].shared = flag_field(L, "shared");
        row[i].required = !flag_field(L, "optional");
        int fill = lua_getfield(L, -1, "fill");
        if (fill == LUA_TFUNCTION)
            row[i].lua_fill = luaL_ref(L, LUA_REGISTRYINDEX);
        else if (fill != LUA_TNIL)
            module_fault(r, module, "a tensor's fill is a function(i, j, ..., n)");
        else
            lua_pop(L, 1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return row;
}

/* peer = { "gemm", a = "A" }: roles in the order of their names. */
static void read_peer(struct reader *r, const char *module, struct spec_family *family)
{
    struct spec_peer *peer = &family->peer;
    static const char what[] = "peer is a problem and its tensors: { \"gemm\", a = \"A\", b = \"B\", d = \"D\" }";
    lua_State *L = r->L;
    int type = lua_getfield(L, -1, "peer"), table = lua_gettop(L), count = 0;
    struct key *key = type == LUA_TTABLE ? sorted_keys(r, table, &count) : NULL;
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    if (type != LUA_TTABLE || lua_rawgeti(L, table, 1) != LUA_TSTRING)
        module_fault(r, module, what);
    peer->problem = arena_text(r->arena, lua_tostring(L, -1));
    reader_check(r, peer->problem);
    lua_pop(L, 1);
    for (int i = 0; i < count; i++) {
        if (!key[i].name)
            continue;
        if (lua_getfield(L, table, key[i].name) != LUA_TSTRING || peer->count == SPEC_PEER_ROLES)
            module_fault(r, module, what);
        const struct spec_family_tensor *t = family->tensor;
        while (t->name && strcmp(t->name, lua_tostring(L, -1)) != 0)
            t++;
        if (!t->name)
            module_fault(r, module,
                         arena_format(r->arena, "peer names %s, which is none of its tensors", lua_tostring(L, -1)));
        peer->role[peer->count] = arena_text(r->arena, key[i].name);
        reader_check(r, peer->role[peer->count]);
        peer->tensor[peer->count++] = t->name;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void check_words(struct reader *r, const char *module)
{
    static const char *const known[] = {"axes", "constants", "extents", "fields", "functions", "grid", "meaning",
                                        "peer", "program",   "scalars", "sizes",  "tensors",   NULL};
    int count;
    struct key *key = sorted_keys(r, lua_gettop(r->L), &count);
    for (int i = 0; i < count; i++) {
        bool hit = false;
        for (int n = 0; key[i].name && known[n]; n++)
            hit |= strcmp(known[n], key[i].name) == 0;
        if (!hit)
            luaL_error(r->L, "module lib/%s.lua: a family has no %s; it has %s", module,
                       key[i].name ? key[i].name : "item at a position", reader_list(r, known, " and "));
    }
}

/* Each axis that `meaning` names is one of the family's. */
static void check_meaning(struct reader *r, const char *module, const struct spec_family *family)
{
    const char *named[SPEC_MAX_AXES], *axis[SPEC_MAX_AXES];
    const int count = family->meaning ? split_words(r, family->meaning, named, SPEC_MAX_AXES) : 0;
    const int axes = split_words(r, family->axes, axis, SPEC_MAX_AXES);
    for (int i = 0; i < count; i++) {
        int a = 0;
        while (a < axes && strcmp(axis[a], named[i]) != 0)
            a++;
        if (a == axes)
            luaL_error(r->L, "module lib/%s.lua: meaning names axis '%s'; write some of \"%s\"", module, named[i],
                       family->axes);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Calls the chunk of the module on the stack: its table, or an error. */
static bool push_module(struct reader *r, const char *name)
{
    lua_State *L = r->L;
    struct sandbox_error error;
    const char *text;
    size_t length;
    char file[128];
    if (sandbox_has_library(r->sandbox, name)) {
        lua_pushcfunction(L, sandbox_require);
        lua_pushfstring(L, "lib/%s", name);
        lua_call(L, 1, 1);
        return true;
    }
    snprintf(file, sizeof file, "lib/%s.lua", name);
    if (!r->options->library || !r->options->library(file, &text, &length))
        return false;
    int status = sandbox_load(r->sandbox, file, text, length, NULL, &error);
    if (status == SANDBOX_NO_MEMORY)
        sandbox_no_memory(L);
    if (status != SANDBOX_OK)
        sandbox_raise(L, &error);
    lua_call(L, 0, 1);
    return true;
}

const struct spec_family *read_module(struct reader *r, const char *name)
{
    lua_State *L = r->L;
    if (module_family(r, name))
        return module_family(r, name);
    luaL_checkstack(L, 12, "module");
    if (!is_identifier(name) || strlen(name) > 60 || !push_module(r, name))
        return NULL;
    if (!lua_istable(L, -1))
        module_fault(r, name, "it returns the table of a family: return { axes = ..., tensors = ..., program = ... }");
    struct trace_module *m = arena_alloc(r->arena, sizeof *m);
    reader_check(r, m);
    check_words(r, name);
    m->family.name = arena_text(r->arena, name);
    reader_check(r, m->family.name);
    m->family.axes = text_field(r, name, "axes", true);
    m->family.grid = text_field(r, name, "grid", true);
    m->family.extents = text_field(r, name, "extents", false);
    m->family.meaning = text_field(r, name, "meaning", false);
    check_meaning(r, name, &m->family);
    m->family.tensor = tensor_list(r, name);
    m->family.scalar = name_list(r, name, "scalars");
    m->function = name_list(r, name, "functions");
    read_peer(r, name, &m->family);
    if (lua_getfield(L, -1, "program") != LUA_TFUNCTION)
        module_fault(r, name, "program is a function(t, at, tile)");
    lua_pop(L, 1);
    m->table = luaL_ref(L, LUA_REGISTRYINDEX);
    m->next = r->module;
    r->module = m;
    return &m->family;
}

/* Pushes a copy of the table, one deep. */
static int push_copy(lua_State *L, int table)
{
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, table);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    return lua_gettop(L);
}

/* Copies fields of the table on top that the table at `onto` lacks; tables within as well. */
static void put_under(struct reader *r, int onto, int depth)
{
    lua_State *L = r->L;
    int from = lua_gettop(L), count;
    luaL_checkstack(L, 8, "module");
    struct key *key = sorted_keys(r, from, &count);
    for (int i = 0; i < count; i++) {
        if (!key[i].name)
            continue;
        int was = lua_getfield(L, onto, key[i].name), value = lua_getfield(L, from, key[i].name), top = lua_gettop(L);
        if (was == LUA_TNIL) {
            lua_setfield(L, onto, key[i].name);
        } else if (was == LUA_TTABLE && value == LUA_TTABLE && depth < 4) {
            push_copy(L, top - 1);
            lua_pushvalue(L, top);
            put_under(r, top + 1, depth + 1);
            lua_settop(L, top + 1);
            lua_setfield(L, onto, key[i].name);
        }
        lua_settop(L, from);
    }
}

int apply_module(struct reader *r, int from)
{
    static const char *const own[] = {"axes", "grid", "program"};
    lua_State *L = r->L;
    int table = push_copy(L, from); /* `like` takes the kernel's own fields */
    lua_pushvalue(L, table);
    r->draft[r->now].fields = luaL_ref(L, LUA_REGISTRYINDEX);
    const struct trace_module *m = find_module(r, reader_kernel(r)->family);
    lua_rawgeti(L, LUA_REGISTRYINDEX, m->table);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const int type = lua_getfield(L, table, own[i]);
        if (type == LUA_TTABLE && m->family.extents && strcmp(own[i], "grid") == 0) {
            lua_pop(L, 1); /* read by trace_grid */
            continue;
        }
        if (type != LUA_TNIL)
            reader_fault(r, own[i], AT_KEY, "FIELD-UNKNOWN", "family \"%s\" says it; take it out", m->family.name);
        lua_pop(L, 1);
        lua_getfield(L, -1, own[i]);
        lua_setfield(L, table, own[i]);
    }
    if (lua_getfield(L, -1, "fields") == LUA_TTABLE)
        put_under(r, table, 0);
    lua_settop(L, table);
    return table;
}

void module_peer(struct reader *r, int table)
{
    struct spec_kernel *k = reader_kernel(r);
    const struct trace_module *m = find_module(r, k->family);
    if (!m)
        return;
    if (lua_getfield(r->L, table, "peer") != LUA_TNIL)
        reader_fault(r, "peer", AT_KEY, "FIELD-UNKNOWN", "family \"%s\" says it; take it out", m->family.name);
    lua_pop(r->L, 1);
    k->peer = m->family.peer;
    k->peer.plain = k->tensor_count == k->peer.count && k->scalar_count == 0;
    for (const char **f = m->function; *f; f++) {
        lua_rawgeti(r->L, LUA_REGISTRYINDEX, r->draft[r->now].fields);
        k->peer.plain &= lua_getfield(r->L, -1, *f) == LUA_TNIL;
        lua_pop(r->L, 2);
    }
}

/* Pushes a field of the kernel. */
static int push_kernel_field(struct reader *r, const char *name)
{
    lua_rawgeti(r->L, LUA_REGISTRYINDEX, r->draft[r->now].fields);
    int type = lua_getfield(r->L, -1, name);
    lua_remove(r->L, -2);
    return type;
}

/* Pushes what the constant is in the kernel. */
static void push_constant(struct reader *r, const char *name)
{
    push_kernel_field(r, name);
    if (is_constant(r->L, 2))
        return;
    lua_pop(r->L, 1);
    push_default(r, name);
}

void module_put_constants(struct reader *r)
{
    lua_State *L = r->L;
    const int to = lua_gettop(L);
    int count = 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, find_module(r, reader_kernel(r)->family)->table);
    if (lua_getfield(L, -1, "constants") == LUA_TTABLE) {
        struct key *key = sorted_keys(r, lua_gettop(L), &count);
        for (int i = 0; i < count; i++) {
            if (!key[i].name)
                continue;
            push_constant(r, key[i].name);
            lua_setfield(L, to, key[i].name);
        }
    }
    lua_settop(L, to);
}

/* ---- words of a family's program --------------------------------------------------------------------------------- */

static struct spec_tensor *find_tensor(struct spec_kernel *k, const char *name)
{
    for (int i = 0; i < k->tensor_count; i++)
        if (strcmp(k->tensor[i].name, name) == 0)
            return &k->tensor[i];
    return NULL;
}

/* Raises an error of what the kernel's function `name` returned, where that function begins. */
static void result_fault(struct trace *t, const char *name, const char *value, const char *what)
{
    struct sandbox_error error = {.rule = "TRACE-RESULT"};
    lua_Debug ar;
    push_kernel_field(t->r, name);
    lua_getinfo(t->r->L, ">S", &ar);
    error.file = sandbox_source_index(ar.source);
    error.line = sandbox_line(t->r->sandbox, error.file, ar.linedefined, &error.token);
    error.column = sandbox_running_column(t->r->sandbox, error.file, error.line, error.token, "function");
    snprintf(error.text, sizeof error.text, "%s returns %s%s", name, value, what);
    sandbox_raise(t->r->L, &error);
}

static bool fits(int extent, int whole)
{
    return extent <= 1 || whole == 0 || extent == whole;
}

/* The value on top of the stack is a number for each element of the function's own, which is at `of`. */
static void check_number(struct trace *t, const char *function, int of)
{
    lua_State *L = t->r->L;
    if (!is_symbolic(L, -1))
        return;
    const struct value v = value_at(t->r, lua_gettop(L));
    if (graph_of(t->r)->node[v.node].type == EXPR_PRED)
        result_fault(t, function, "a condition", "; select(condition, 1, 0) makes a number of it");
    if (!is_symbolic(L, of))
        return;
    const struct program_tile whole = value_at(t->r, of).tile;
    if (!fits(v.tile.rows, whole.rows) || !fits(v.tile.columns, whole.columns))
        result_fault(
            t, function, trace_shape(t, v.tile.rows, v.tile.columns),
            arena_format(t->r->arena, " elements, and its value has %s", trace_shape(t, whole.rows, whole.columns)));
}

/* An output has every axis along which the function's values run. */
static void check_output_axes(struct trace *t, const char *function, const struct spec_tensor *tensor)
{
    const struct spec_kernel *k = reader_kernel(t->r);
    for (int a = 0; a < t->p->axis_count && t->r->fused_axes != ~0u; a++) {
        bool has = !(t->r->fused_axes >> a & 1);
        for (int d = 0; d < tensor->rank; d++)
            has |= tensor->axis[d] == a || tensor->axis[d] < 0;
        if (!has)
            result_fault(
                t, function, tensor->name,
                arena_format(t->r->arena, ", which has no axis %s, and its values run along that too", k->axis[a]));
    }
}

/* { D = value, E = value } on top of the stack: what a function returns is written. */
static void mark_outputs(struct trace *t, const char *function, int of)
{
    struct reader *r = t->r;
    struct spec_kernel *k = reader_kernel(r);
    int count;
    struct key *key = sorted_keys(r, lua_gettop(r->L), &count);
    for (int i = 0; i < count; i++) {
        struct spec_tensor *tensor = key[i].name ? find_tensor(k, key[i].name) : NULL;
        if (!tensor)
            result_fault(t, function, key[i].name ? key[i].name : "a value at a position",
                         ", which is no tensor of the kernel; write { D = value }");
        else if (tensor->read && !tensor->out)
            result_fault(t, function, tensor->name, ", which the kernel reads and cannot write too");
        else
            tensor->out = true;
        check_output_axes(t, function, tensor);
        lua_getfield(r->L, -1, key[i].name);
        check_number(t, function, of);
        lua_pop(r->L, 1);
    }
    if (count == 0)
        result_fault(t, function, "an empty table", "; write return { D = value }");
}

/* The axes along which items and the tile at `index` run, as bits; of a plain value, which runs along any, all. */
static unsigned axes_of_value(struct trace *t, int index)
{
    if (!is_symbolic(t->r->L, index))
        return ~0u;
    unsigned axes = 0;
    const struct value v = value_at(t->r, index);
    for (int a = 0; a < t->p->axis_count; a++)
        axes |= (unsigned)(t->p->axis[a].extent >= 0 || v.tile.index[a] >= 0) << a;
    return axes;
}

/* { kv = kv + column() } at 3: the indices that the function sees along these axes, and the axes as bits. */
static unsigned read_indices(struct trace *t)
{
    struct reader *r = t->r;
    unsigned axes = 0;
    int count;
    r->fused_index = NULL;
    if (lua_isnil(r->L, 3))
        return 0;
    if (!lua_istable(r->L, 3))
        sandbox_fault(r->L, "PROGRAM-CALL", "fused",
                      "fused takes indices by axis third, this is %s; write { kv = kv + column() }", describe(r, 3));
    struct value *index = arena_alloc(r->arena, SPEC_MAX_AXES * sizeof *index);
    reader_check(r, index);
    for (int a = 0; a < SPEC_MAX_AXES; a++)
        index[a].node = -1;
    const struct key *key = sorted_keys(r, 3, &count);
    for (int i = 0; i < count; i++) {
        const int axis = key[i].name ? trace_axis(reader_kernel(r), key[i].name) : -1;
        if (axis < 0)
            sandbox_fault(r->L, "PROGRAM-AXES", "fused",
                          "the family has no axis '%s'; write indices of axes that stand in its axes = \"%s ...\"",
                          key[i].name ? key[i].name : "at a position", t->p->axis[0].name);
        lua_getfield(r->L, 3, key[i].name);
        index[axis] = value_at(r, lua_gettop(r->L));
        lua_pop(r->L, 1);
        if (graph_of(r)->node[index[axis].node].type != EXPR_INT)
            sandbox_fault(r->L, "PROGRAM-DTYPE", "fused",
                          "an index is a whole number, that of axis %s is %s; index arithmetic takes //", key[i].name,
                          type_word(graph_of(r)->node[index[axis].node].type));
        axes |= 1u << axis;
    }
    r->fused_index = index;
    return axes;
}

int trace_fused(lua_State *L)
{
    struct trace *t = trace_of(L, "fused");
    struct reader *r = t->r;
    trace_expect_arguments(L, "fused", 2, 3, "fused(\"epilogue\", value)");
    lua_settop(L, 3);
    const unsigned given = read_indices(t);
    const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
    if (!module_has_function(r, reader_kernel(r)->family, name))
        return sandbox_fault(L, "PROGRAM-CALL", "fused",
                             "no function \"%s\" stands in the family's functions = { ... }", name);
    lua_settop(L, 2);
    int type = push_kernel_field(r, name);
    if (type == LUA_TNIL || r->draft[r->now].bare) {
        lua_settop(L, 2);
        return 1;
    }
    r->fused = arena_text(r->arena, name); /* a fault in it leaves by longjmp, and is reported at this field */
    reader_check(r, r->fused);
    if (type != LUA_TFUNCTION || lua_iscfunction(L, -1))
        luaL_error(L, "takes a function of yours, function(value, t, i) return ... end; this is %s",
                   type == LUA_TFUNCTION ? "one of the language's own words" : describe(r, lua_gettop(L)));
    lua_pushvalue(L, 2);
    lua_newtable(L);
    luaL_setmetatable(L, TYPE_TENSORS);
    lua_newtable(L);
    luaL_setmetatable(L, TYPE_INDICES);
    bool condition = lua_type(L, 2) == LUA_TBOOLEAN; /* a function of a condition returns one */
    r->fused_axes = axes_of_value(t, 2) | given;
    const int below = lua_gettop(L) - 4;
    lua_call(L, 3, LUA_MULTRET);
    if (lua_gettop(L) > below + 1)
        result_fault(t, name, "more than one value",
                     "; it returns one, or a table of values by output tensor: return { D = x, E = y }");
    lua_settop(L, below + 1);
    bool value = lua_type(L, -1) == LUA_TNUMBER || lua_type(L, -1) == LUA_TBOOLEAN || is_symbolic(L, lua_gettop(L));
    if (lua_istable(L, -1))
        mark_outputs(t, name, 2);
    else if (!value)
        result_fault(t, name, describe(r, lua_gettop(L)),
                     "; it returns a value, or a table of values by output tensor");
    else if (!condition)
        check_number(t, name, 2);
    else if (lua_type(L, -1) == LUA_TNUMBER ||
             (is_symbolic(L, -1) && graph_of(r)->node[value_at(r, lua_gettop(L)).node].type != EXPR_PRED))
        result_fault(t, name, "a number", "; it returns a condition, such as le(a, b)");
    r->fused = NULL;
    return 1;
}

int trace_given(lua_State *L)
{
    struct trace *t = trace_of(L, "given");
    const struct spec_kernel *k = reader_kernel(t->r);
    trace_expect_arguments(L, "given", 1, 1, "given \"C\"");
    const char *name = luaL_checkstring(L, 1);
    bool given = find_tensor(reader_kernel(t->r), name) != NULL;
    for (int i = 0; i < k->scalar_count; i++)
        given |= strcmp(k->scalar[i].name, name) == 0;
    if (!given && module_has_function(t->r, k->family, name)) {
        given = push_kernel_field(t->r, name) == LUA_TFUNCTION && !t->r->draft[t->r->now].bare;
        lua_pop(L, 1);
    }
    lua_pushboolean(L, given);
    return 1;
}

/* The tensor at argument 1, without indices. */
static const struct spec_tensor *argument_tensor(struct trace *t, const char *word)
{
    const struct element *e = luaL_testudata(t->r->L, 1, TYPE_ELEMENT);
    if (!e || e->count)
        sandbox_fault(t->r->L, "PROGRAM-CALL", word, "%s takes a tensor of the kernel, this is %s; write %s(t.X)", word,
                      describe(t->r, 1), word);
    return e ? &reader_kernel(t->r)->tensor[e->tensor] : NULL;
}

int trace_axes(lua_State *L)
{
    struct trace *t = trace_of(L, "axes");
    const struct spec_tensor *tensor = argument_tensor(t, "axes");
    lua_createtable(L, tensor->rank, 0);
    for (int d = 0; d < tensor->rank; d++) {
        lua_pushstring(L, tensor->axis[d] >= 0 ? reader_kernel(t->r)->axis[tensor->axis[d]] : "");
        lua_rawseti(L, -2, d + 1);
    }
    return 1;
}

int trace_places(lua_State *L)
{
    struct trace *t = trace_of(L, "places");
    const struct spec_tensor *tensor = argument_tensor(t, "places");
    const int given = lua_gettop(L);
    if (!lua_istable(L, 2))
        return sandbox_fault(L, "PROGRAM-CALL", "places",
                             "places takes a table of coordinates by axis, this is %s; write places(t.%s, { ... })",
                             describe(t->r, 2), tensor->name);
    luaL_checkstack(L, SPEC_MAX_RANK + given, "places");
    for (int d = 0; d < tensor->rank; d++) {
        const char *axis = tensor->axis[d] >= 0 ? reader_kernel(t->r)->axis[tensor->axis[d]] : "";
        lua_pushstring(L, axis);
        if (lua_rawget(L, 2) == LUA_TNIL)
            return sandbox_fault(L, "PROGRAM-AXES", "places",
                                 *axis ? "%s runs along '%s', which the table gives no coordinate; write %s = at.%s, "
                                         "span(...) or all"
                                       : "a dim of %s has no axis; write axes = \"...\" in its tensor { }",
                                 tensor->name, axis, axis, axis);
    }
    for (int i = 3; i <= given; i++)
        lua_pushvalue(L, i);
    return lua_gettop(L) - given;
}

int trace_dtype(lua_State *L)
{
    struct trace *t = trace_of(L, "dtype");
    lua_pushstring(L, tw_dtype_name(argument_tensor(t, "dtype")->dtype));
    return 1;
}

int trace_extent(lua_State *L)
{
    struct trace *t = trace_of(L, "extent");
    const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
    int axis = trace_axis(reader_kernel(t->r), name), node = axis >= 0 ? trace_known_extent(t->r, axis) : -1;
    if (node < 0)
        return sandbox_fault(L, "PROGRAM-AXES", "extent",
                             "no tensor of the kernel runs along an axis '%s'; write extent \"%s\"", name,
                             t->p->axis[0].name);
    push_node(t->r, node);
    return 1;
}

int trace_constant(lua_State *L)
{
    struct trace *t = trace_of(L, "constant");
    trace_expect_arguments(L, "constant", 1, 1, "constant \"stride\"");
    if (lua_type(L, 1) == LUA_TSTRING) {
        if (push_default(t->r, lua_tostring(L, 1)) == LUA_TNIL)
            return sandbox_fault(L, "PROGRAM-CALL", "constant", "no \"%s\" stands in the family's constants = { ... }",
                                 lua_tostring(L, 1));
        push_constant(t->r, lua_tostring(L, 1));
        return 1;
    }
    int64_t value;
    if (exact_integer(L, 1, &value) ||
        (luaL_testudata(L, 1, TYPE_EXPRESSION) && expr_is_int(t->p->graph, value_at(t->r, 1).node, &value)))
        lua_pushinteger(L, value);
    else
        lua_pushnil(L);
    return 1;
}

int trace_refuse(lua_State *L)
{
    struct trace *t = trace_of(L, "refuse");
    trace_expect_arguments(L, "refuse", 2, 2, "refuse(\"stride\", \"it is 0; write 1 or more\")");
    const char *field = luaL_checkstring(L, 1), *why = luaL_checkstring(L, 2);
    int aside = reader_aside(t->r);
    reader_fault(t->r, field, AT_VALUE, "FAMILY", "%s", *why ? why : "its family refuses it");
    reader_aside_end(t->r, aside, true);
    return 0;
}
