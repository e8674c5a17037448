/* A kernel's program from its table: axes, tile and grid, then the function itself, called once on symbolic values. */
#include "read/trace.h"

#include <string.h>

const struct program_kind_info program_kinds[PROGRAM_KIND_COUNT] = {
#define PROGRAM_OP(id, name, arguments, doc) {name, doc, arguments},
#include "program/program_ops.def"
#undef PROGRAM_OP
};

/* ---- at and tile ----------------------------------------------------------------------------------------------- */

static int get_place(lua_State *L)
{
    struct trace *t = trace_of(L, "at");
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL, *known[SPEC_MAX_AXES + 1] = {0};
    int axis = trace_axis(reader_kernel(t->r), name), count = 0;
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
    int axis = trace_axis(reader_kernel(t->r), name);
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

static int no_length(lua_State *L)
{
    return luaL_error(L, "at and tile have no length; their fields are at.r and tile.r, by axis");
}

static void push_reader_table(lua_State *L, const char *type, lua_CFunction get)
{
    lua_newtable(L);
    if (luaL_newmetatable(L, type)) {
        lua_pushcfunction(L, get);
        lua_setfield(L, -2, "__index");
        lua_pushcfunction(L, set_nothing);
        lua_setfield(L, -2, "__newindex");
        lua_pushcfunction(L, no_length);
        lua_setfield(L, -2, "__len");
    }
    lua_setmetatable(L, -2);
}

/* ---- the trace ------------------------------------------------------------------------------------------------- */

/* Below sandbox_try: the function, then t, at and tile. */
static int traced(lua_State *L)
{
    struct reader *r = reader_of(L);
    lua_call(L, 3, LUA_MULTRET);
    r->returned = true;
    if (lua_gettop(L) > 0)
        luaL_error(L, "a program returns nothing, it stores: store(t.y, span(...), value); this one returns %s",
                   describe(r, 1));
    trace_check(r->program);
    return 0;
}

/* Traces the kernel's function, on top of the stack and left there, to p. in_function: a fault lies in a function that
 * the kernel gives. False: it has a fault, which is told. */
static bool trace_once(struct reader *r, struct program *p, bool *in_function)
{
    lua_State *L = r->L;
    struct trace t = {.r = r, .p = p};
    struct sandbox_error error;
    int open = r->diags->reported - r->draft[r->now].reported;
    luaL_checkstack(L, 16, "trace");
    lua_Debug own;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &own);
    r->epoch = ++r->epochs;
    r->returned = false;
    r->program = &t;
    t.body[0] = (struct trace_body){0, -1};
    trace_open_load(r, true);
    lua_pushcfunction(L, traced);
    lua_pushvalue(L, -2);
    lua_newtable(L);
    luaL_setmetatable(L, TYPE_TENSORS);
    push_reader_table(L, TYPE_AT, get_place);
    push_reader_table(L, TYPE_SIZES, get_tile);
    int status = sandbox_try(L, 4, 0, &error);
    trace_open_load(r, false);
    r->epoch = 0;
    r->program = NULL;
    if (status == SANDBOX_NO_MEMORY)
        sandbox_no_memory(L);
    /* What a family's program makes of its kernel's function is the function's fault: it is told where that stands. */
    const struct diag_loc field = r->fused ? reader_locate(r, r->fused, AT_VALUE) : (struct diag_loc){-1, 0, 0};
    const struct diag_loc where = status != SANDBOX_OK ? sandbox_loc(r->sandbox, r->diags, error.file, error.line, 0)
                                                       : (struct diag_loc){-1, 0, 0};
    const bool outside = status != SANDBOX_OK && field.line && error.file == sandbox_source_index(own.source) &&
                         where.file != field.file;
    if (outside)
        reader_fault(r, r->fused, AT_VALUE, error.rule ? error.rule : "TRACE-RESULT", "%s", error.text);
    else if (status != SANDBOX_OK && (r->returned || error.line == 0))
        reader_fault(r, "program", AT_VALUE, "TRACE-RESULT", "%s", error.text);
    else if (status != SANDBOX_OK)
        sandbox_report(r->sandbox, r->diags, &error, reader_kernel(r)->name, r->fused ? r->fused : "program");
    *in_function = status != SANDBOX_OK && r->fused;
    r->fused = NULL;
    return r->diags->reported - r->draft[r->now].reported == open;
}

/* Rules of faults that follow from no tensor's. */
static const char *const stand_alone[] = {"FAMILY", "TRACE-LUA", "TRACE-OPERAND", "TRACE-RESULT", "TENSOR-DTYPE", NULL};

/* Traces as trace_once does. Of a kernel whose tensors have faults, what is told may follow from them, and is not
 * passed on. A fault of a function that the kernel gives leaves its program: that is traced without it, and what is
 * then wrong of the kernel's own fields can be told as well. False: there is no program. */
static bool trace_program(struct reader *r, struct program *p)
{
    struct draft *d = &r->draft[r->now];
    struct diag_mark before = diag_mark(r->diags);
    const int aside = d->reported;
    bool in_function = false, follows = d->bare, whole = trace_once(r, p, &in_function), traced = whole;
    if (!traced && !d->bare && in_function) {
        struct diag_mark told = diag_mark(r->diags);
        d->bare = true;
        p->op = NULL;
        p->op_count = 0;
        traced = trace_once(r, p, &in_function);
        diag_take_back(r->diags, told, NULL);
    }
    if (follows || d->doubtful)
        diag_take_back(r->diags, before, follows ? NULL : stand_alone);
    d->reported = traced ? aside + r->diags->reported - before.reported : aside;
    d->unplanned |= !traced;
    return whole;
}

bool trace_quietly(struct reader *r, struct program *p)
{
    const struct draft before = r->draft[r->now];
    struct diag_mark mark = diag_mark(r->diags);
    bool in_function, traced = trace_once(r, p, &in_function);
    diag_take_back(r->diags, mark, NULL);
    r->draft[r->now] = before;
    return traced;
}

static bool is_listed(const struct spec_kernel *k, const char *arch)
{
    bool listed = k->arch_count == 0;
    for (int i = 0; i < k->arch_count; i++)
        listed |= strcmp(k->arch[i].name, arch) == 0;
    return listed;
}

static bool is_place(struct diag_loc a, struct diag_loc b)
{
    return a.file == b.file && a.line == b.line && a.column == b.column;
}

/* Another architecture's that was traced with the same sizes; NULL: none was. */
static struct program *find_same(const struct spec_kernel *k, const struct program *p)
{
    for (int i = 0; i < k->arch_program_count; i++) {
        bool same = true;
        for (int a = 0; a < p->axis_count; a++) {
            const struct program_axis *x = &p->axis[a], *y = &k->arch_program[i].program->axis[a];
            same = same && x->tile == y->tile && x->cluster == y->cluster && x->chosen == y->chosen &&
                   is_place(x->tile_loc, y->tile_loc) && is_place(x->cluster_loc, y->cluster_loc);
        }
        if (same)
            return k->arch_program[i].program;
    }
    return NULL;
}

/* The program again where an architecture has sizes of its own. The function stands on top of the stack. */
static void trace_architectures(struct reader *r, int table)
{
    struct spec_kernel *k = reader_kernel(r);
    lua_State *L = r->L;
    int top = lua_gettop(L);
    for (const char *const *arch = r->options->arch; arch && *arch; arch++) {
        struct program *p = arena_alloc(r->arena, sizeof *p);
        reader_check(r, p);
        *p = (struct program){k->program->loc, &k->graph, {{0}}, k->program->axis_count, NULL, 0};
        memcpy(p->axis, k->program->axis, sizeof p->axis);
        int reported = r->diags->reported;
        if (!is_listed(k, *arch) || !trace_arch_fields(r, table, *arch, p) || reported != r->diags->reported) {
            lua_settop(L, top);
            continue;
        }
        lua_settop(L, top);
        struct program *same = find_same(k, p);
        struct spec_arch_program *grown = arena_grow(r->arena, k->arch_program, k->arch_program_count, sizeof *grown);
        reader_check(r, grown);
        k->arch_program = grown;
        if (same || trace_program(r, p))
            k->arch_program[k->arch_program_count++] = (struct spec_arch_program){*arch, same ? same : p};
    }
}

/* The newest architecture that the kernel is for. */
static const char *preferred(const struct reader *r)
{
    const struct spec_kernel *k = &r->spec->kernel[r->now];
    const char *newest = "";
    const bool unnamed = k->arch_count == 0 && r->options->arch_unnamed;
    const char *const *all = unnamed ? r->options->arch_unnamed : r->options->arch;
    for (const char *const *arch = all; arch && *arch; arch++)
        newest = is_listed(k, *arch) ? *arch : newest;
    return newest;
}

void read_program(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    trace_grid(r, table);
    if (k->tensor_count == 0 && !k->family) /* a family says which it needs */
        reader_fault(r, "", AT_KEY, "TENSOR-MISSING", "the kernel has no tensor; write x = tensor { ... }");
    if (lua_getfield(L, table, "program") != LUA_TFUNCTION)
        reader_fault(r, "program", AT_VALUE, "FIELD-TYPE", "takes a function(t, at, tile), this is %s",
                     describe(r, -1));
    struct draft *d = &r->draft[r->now];
    if (r->diags->reported == d->reported) { /* else what it would find is unknown */
        trace_infer_axes(r);
        module_sizes(r, preferred(r), k->program, &k->choices);
        bool whole = trace_program(r, k->program);
        int aside = reader_aside(r);
        if (whole)
            trace_how(r, table);
        reader_aside_end(r, aside, false);
        if (!d->unplanned)
            trace_architectures(r, table);
        if (whole && r->options->tunes)
            trace_tunes(r);
    }
    lua_pop(L, 1);
}
