/* A kernel's program from its table: axes, tile and grid, then the function itself, called once on symbolic values. */
#include "program/trace.h"

#include <ctype.h>
#include <string.h>

const struct program_kind_info program_kinds[PROGRAM_KIND_COUNT] = {
#define PROGRAM_OP(id, name, arguments, doc) {name, doc, arguments},
#include "program/program_ops.def"
#undef PROGRAM_OP
};

/* ---- axes, tile, grid ------------------------------------------------------------------------------------------ */

static void read_axes(struct reader *r, int table)
{
    struct spec_kernel *k = reader_kernel(r);
    const char *word[SPEC_MAX_AXES + 2];
    int type = lua_getfield(r->L, table, "axes"), count = 0;
    if (type == LUA_TSTRING)
        count = split_words(r, lua_tostring(r->L, -1), word, SPEC_MAX_AXES + 1);
    if (type != LUA_TSTRING || count == 0)
        reader_fault(r, type == LUA_TNIL ? "program" : "axes", type == LUA_TNIL ? AT_KEY : AT_VALUE, "PROGRAM-AXES",
                     "a program names its axes in one text, this is %s; write axes = \"r c\"", describe(r, -1));
    if (count > SPEC_MAX_AXES) {
        reader_fault(r, "axes", AT_VALUE, "PROGRAM-AXES", "a kernel has at most %d axes", SPEC_MAX_AXES);
        count = SPEC_MAX_AXES;
    }
    for (int i = 0; i < count; i++) {
        if (!is_identifier(word[i]))
            reader_fault(r, "axes", AT_VALUE, "PROGRAM-AXES", "'%s' is no name; write letters, digits and _", word[i]);
        for (int e = 0; e < i; e++)
            if (strcmp(word[e], word[i]) == 0)
                reader_fault(r, "axes", AT_VALUE, "PROGRAM-AXES", "axis '%s' stands twice", word[i]);
        k->axis[k->axis_count++] = word[i];
    }
    lua_pop(r->L, 1);
}

static int find_axis(const struct spec_kernel *k, const char *name)
{
    for (int i = 0; name && i < k->axis_count; i++)
        if (strcmp(k->axis[i], name) == 0)
            return i;
    return -1;
}

/* The axis that an entry of tile or grid names; -1: told that there is none. */
static int entry_axis(struct reader *r, const char *field, const struct key *key, const char **path)
{
    const struct spec_kernel *k = reader_kernel(r);
    const char *known[SPEC_MAX_AXES + 1] = {0};
    int axis = find_axis(k, key->name);
    memcpy(known, k->axis, (size_t)k->axis_count * sizeof *known);
    *path = key->name ? arena_format(r->arena, "%s.%s", field, key->name)
                      : arena_format(r->arena, "%s[%lld]", field, (long long)key->position);
    reader_check(r, *path);
    if (axis < 0)
        reader_fault(r, *path, AT_KEY, "PROGRAM-AXES", "there is no such axis; there are %s%s",
                     reader_list(r, known, " and "), key->name ? reader_suggest(r, key->name, known) : "");
    return axis;
}

void read_program_axes(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    struct program *p = arena_alloc(r->arena, sizeof *p);
    reader_check(r, p);
    k->program = p;
    p->graph = &k->graph;
    p->loc = reader_locate(r, "program", AT_VALUE);
    read_axes(r, table);
    p->axis_count = k->axis_count;
    for (int i = 0; i < k->axis_count; i++)
        p->axis[i] = (struct program_axis){.name = k->axis[i], .extent = -1};
    int type = lua_getfield(L, table, "tile"), count = 0;
    if (type != LUA_TNIL && type != LUA_TTABLE)
        reader_fault(r, "tile", AT_VALUE, "FIELD-TYPE", "takes a table by axis, this is %s; write tile = { r = 64 }",
                     describe(r, -1));
    struct key *key = type == LUA_TTABLE ? sorted_keys(r, lua_gettop(L), &count) : NULL;
    for (int i = 0; i < count; i++) {
        const char *path;
        int axis = entry_axis(r, "tile", &key[i], &path);
        int64_t value = 0;
        if (axis < 0)
            continue;
        lua_getfield(L, -1, key[i].name);
        bool whole = exact_integer(L, -1, &value);
        if (!whole)
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a whole number, this is %s", describe(r, -1));
        else if (value < 1 || value > 1 << 20)
            reader_fault(r, path, AT_VALUE, "FIELD-RANGE", "%lld is out of range; write 1 to %d", (long long)value,
                         1 << 20);
        else
            p->axis[axis].tile = (int)value;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_grid(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int type = lua_getfield(L, table, "grid"), count = 0;
    if (type != LUA_TTABLE)
        reader_fault(
            r, type == LUA_TNIL ? "program" : "grid", type == LUA_TNIL ? AT_KEY : AT_VALUE, "KERNEL-GRID",
            "a program needs the extents over which its items run, by axis, this is %s; write grid = { r = R }",
            describe(r, -1));
    struct key *key = type == LUA_TTABLE ? sorted_keys(r, lua_gettop(L), &count) : NULL;
    if (type == LUA_TTABLE && count == 0)
        reader_fault(r, "grid", AT_VALUE, "KERNEL-GRID", "names no axis; write grid = { r = R }");
    for (int i = 0; i < count; i++) {
        const char *path, *what;
        int64_t value;
        int axis = entry_axis(r, "grid", &key[i], &path);
        if (axis < 0)
            continue;
        lua_getfield(L, -1, key[i].name);
        int node = shape_node(r, -1, &what);
        if (node < 0)
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a whole number or an expression of dims, this is %s",
                         what);
        else if (expr_is_int(&k->shape, node, &value) && value < 1)
            reader_fault(r, path, AT_VALUE, "FIELD-RANGE", "%lld is no extent; write 1 or more", (long long)value);
        else
            k->program->axis[axis].extent = made(r, expr_import(&k->graph, &k->shape, node));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* ---- axes of dims that name none ------------------------------------------------------------------------------- */

/* The extent of an axis as far as grid or a tensor with axes tells; -1. */
static int known_extent(struct reader *r, int axis)
{
    struct spec_kernel *k = reader_kernel(r);
    if (k->program->axis[axis].extent >= 0)
        return k->program->axis[axis].extent;
    for (int i = 0; i < k->tensor_count; i++)
        for (int d = 0; d < k->tensor[i].rank; d++)
            if (k->tensor[i].axis[d] == axis)
                return made(r, expr_import(&k->graph, &k->shape, k->tensor[i].dim[d]));
    return -1;
}

static bool is_called(const struct spec *spec, const struct expr_node *n, const char *axis)
{
    if (n->op != EXPR_SYMBOL)
        return false;
    const char *name = spec->dim[n->integer].name;
    for (; *name && *axis; name++, axis++)
        if (tolower((unsigned char)*name) != tolower((unsigned char)*axis))
            return false;
    return !*name && !*axis;
}

/* A dim without axes belongs to the one axis of its extent, else to the axis that is called as its symbol (R and r). */
static void infer_axes(struct reader *r)
{
    struct spec_kernel *k = reader_kernel(r);
    int extent[SPEC_MAX_AXES];
    for (int a = 0; a < k->axis_count; a++)
        extent[a] = known_extent(r, a);
    for (int i = 0; i < k->tensor_count; i++) {
        struct spec_tensor *t = &k->tensor[i];
        bool taken[SPEC_MAX_AXES] = {false}, open = t->rank > 0;
        for (int d = 0; d < t->rank; d++)
            open &= t->axis[d] < 0;
        for (int d = 0; open && d < t->rank; d++) {
            int node = made(r, expr_import(&k->graph, &k->shape, t->dim[d])), found = -1, several = 0;
            for (int a = 0; a < k->axis_count; a++)
                if (extent[a] == node && !taken[a]) {
                    several += found >= 0;
                    found = a;
                }
            for (int a = 0; a < k->axis_count && (found < 0 || several); a++)
                if (!taken[a] && is_called(r->spec, &k->graph.node[node], k->axis[a])) {
                    found = a;
                    several = 0;
                }
            if (found < 0 || several)
                continue;
            t->axis[d] = found;
            taken[found] = true;
        }
    }
}

/* ---- at and tile ----------------------------------------------------------------------------------------------- */

static int get_place(lua_State *L)
{
    struct trace *t = trace_of(L, "at");
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL, *known[SPEC_MAX_AXES + 1] = {0};
    int axis = find_axis(reader_kernel(t->r), name), count = 0;
    if (axis >= 0 && t->p->axis[axis].extent >= 0) {
        push_node(t->r, expr_leaf(t->p->graph, EXPR_AT, EXPR_INT, axis));
        return 1;
    }
    for (int a = 0; a < t->p->axis_count; a++)
        if (t->p->axis[a].extent >= 0)
            known[count++] = t->p->axis[a].name;
    name = name ? name : describe(t->r, 2);
    if (axis >= 0)
        return sandbox_fault(L, "PROGRAM-AXES", name,
                             "items do not run along %s; grid has %s: write grid = { %s = EXTENT } or loop over it",
                             name, reader_list(t->r, known, " and "), name);
    return sandbox_fault(L, "PROGRAM-AXES", name, "there is no at.%s; items run along %s", name,
                         reader_list(t->r, known, " and "));
}

static int get_tile(lua_State *L)
{
    struct trace *t = trace_of(L, "tile");
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    int axis = find_axis(reader_kernel(t->r), name);
    if (axis >= 0 && t->p->axis[axis].tile) {
        lua_pushinteger(L, t->p->axis[axis].tile);
        return 1;
    }
    name = name ? name : describe(t->r, 2);
    return sandbox_fault(L, "PROGRAM-AXES", name, "the kernel's tile has no %s; write tile = { %s = 64 }", name, name);
}

static int set_nothing(lua_State *L)
{
    return luaL_error(L, "at and tile are what the kernel says; nothing can be assigned to them");
}

static void push_reader_table(lua_State *L, const char *type, lua_CFunction get)
{
    lua_newtable(L);
    if (luaL_newmetatable(L, type)) {
        lua_pushcfunction(L, get);
        lua_setfield(L, -2, "__index");
        lua_pushcfunction(L, set_nothing);
        lua_setfield(L, -2, "__newindex");
    }
    lua_setmetatable(L, -2);
}

/* ---- the trace ------------------------------------------------------------------------------------------------- */

/* Below sandbox_try: the function, then t, at and tile. */
static int traced(lua_State *L)
{
    struct reader *r = reader_of(L);
    lua_call(L, 3, LUA_MULTRET);
    if (lua_gettop(L) > 0)
        luaL_error(L, "a program returns nothing, it stores: store(t.y, span(...), value); this one returns %s",
                   describe(r, 1));
    r->returned = true;
    trace_check(r->program);
    return 0;
}

/* What the program would have read is unknown: no second fault. */
static void forget_uses(struct spec_kernel *k)
{
    for (int i = 0; i < k->tensor_count; i++)
        k->tensor[i].read = true;
    for (int i = 0; i < k->scalar_count; i++)
        k->scalar[i].read = true;
}

void read_program(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    struct trace t = {.r = r, .p = k->program};
    int reported = r->diags->reported;
    struct sandbox_error error;
    read_grid(r, table);
    infer_axes(r);
    if (k->tensor_count == 0)
        reader_fault(r, "", AT_KEY, "TENSOR-MISSING", "the kernel has no tensor; write x = tensor { ... }");
    if (lua_getfield(L, table, "program") != LUA_TFUNCTION)
        reader_fault(r, "program", AT_VALUE, "FIELD-TYPE", "takes a function(t, at, tile), this is %s",
                     describe(r, -1));
    if (r->diags->reported != reported || lua_type(L, -1) != LUA_TFUNCTION) {
        lua_pop(L, 1);
        forget_uses(k);
        return;
    }
    luaL_checkstack(L, 16, "trace");
    for (int i = 0; i < 3; i++) { /* metatables of what the words make */
        static const char *const type[] = {TYPE_SPAN, TYPE_ALL, TYPE_RANGE};
        luaL_newmetatable(L, type[i]);
        lua_pop(L, 1);
    }
    r->epoch = ++r->epochs;
    r->returned = false;
    r->program = &t;
    t.body[0] = (struct trace_body){0, -1};
    trace_open_words(r);
    lua_pushcfunction(L, traced);
    lua_insert(L, -2);
    lua_newtable(L);
    luaL_setmetatable(L, TYPE_TENSORS);
    push_reader_table(L, TYPE_AT, get_place);
    push_reader_table(L, "sizes of the tile", get_tile);
    sandbox_on_line(r->sandbox, trace_look_at_line);
    int status = sandbox_try(L, 4, 0, &error);
    sandbox_on_line(r->sandbox, NULL);
    trace_close_words(r);
    r->epoch = 0;
    r->program = NULL;
    if (status == SANDBOX_NO_MEMORY)
        sandbox_no_memory(L);
    if (status != SANDBOX_OK && error.line == 0)
        reader_fault(r, "program", AT_VALUE, error.rule ? error.rule : "PROGRAM-TRACE", "%s", error.text);
    else if (status != SANDBOX_OK)
        sandbox_report(r->sandbox, r->diags, &error, k->name, "program");
    if (status != SANDBOX_OK)
        forget_uses(k);
}
