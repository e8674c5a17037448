/* Expressions in Lua: symbols of dims, the values of fused functions and programs while they are traced, and the trace
 * of a fused function. */
#include "read/trace.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

struct expr_graph *graph_of(struct reader *r)
{
    return r->epoch ? &reader_kernel(r)->graph : &r->shape;
}

int made(struct reader *r, int node)
{
    if (node >= 0)
        return node;
    if (graph_of(r)->count >= EXPR_MAX_NODES)
        return luaL_error(r->L, "the expression has more than %d terms", EXPR_MAX_NODES);
    return sandbox_no_memory(r->L);
}

bool is_symbolic(lua_State *L, int index)
{
    return luaL_testudata(L, index, TYPE_EXPRESSION) || luaL_testudata(L, index, TYPE_ELEMENT);
}

const char *type_word(enum expr_type type)
{
    return type == EXPR_PRED ? "a condition" : type == EXPR_REAL ? "a value" : "a whole number";
}

struct value plain_value(struct reader *r, int node)
{
    struct value v = {.node = made(r, node), .epoch = r->epoch};
    v.tile = program_no_tile;
    if (r->program) {
        v.tile.rows = v.tile.columns = 1;
        v.tile.dtype = program_dtype(r, v.node);
    }
    return v;
}

void push_value(struct reader *r, const struct value *v)
{
    struct value *made_here = lua_newuserdatauv(r->L, sizeof *v, 0);
    *made_here = *v;
    luaL_setmetatable(r->L, TYPE_EXPRESSION);
}

void push_node(struct reader *r, int node)
{
    struct value v = plain_value(r, node);
    push_value(r, &v);
}

void push_result(struct reader *r, const char *name, int node, const struct value *operand, int count)
{
    struct value v = plain_value(r, node);
    if (r->program)
        program_merge(r, name, operand, count, &v);
    push_value(r, &v);
}

void push_symbol(struct reader *r, int dim)
{
    int epoch = r->epoch;
    r->epoch = 0;
    push_node(r, expr_symbol(&r->shape, dim));
    r->epoch = epoch;
}

static const struct spec_tensor *tensor_of(struct reader *r, const struct element *e)
{
    if (e->epoch != r->epoch)
        luaL_error(r->L, "this tensor belongs to another function; use its argument t here");
    return &reader_kernel(r)->tensor[e->tensor];
}

/* A family's operand with an axis over which the function does not run, such as the A of a gemm, is brought tile by
 * tile to where the sums are made; the function has no pointer to it. */
static void refuse_family_operand(struct reader *r, const struct spec_tensor *t)
{
    const struct spec_family *f = r->fused ? module_family(r, reader_kernel(r)->family) : NULL;
    const struct spec_family_tensor *row = f ? f->tensor : NULL;
    const char *word[SPEC_MAX_RANK], *known[SPEC_MAX_AXES];
    while (row && row->name && strcmp(row->name, t->name) != 0)
        row++;
    if (!row || !row->name || row->shared)
        return;
    int words = split_words(r, row->axes, word, SPEC_MAX_RANK);
    int axes = split_words(r, f->grid, known, SPEC_MAX_AXES);
    for (int i = 0; i < words; i++) {
        bool has = false;
        for (int a = 0; a < axes; a++)
            has |= strcmp(word[i], known[a]) == 0;
        if (!has)
            sandbox_fault(r->L, "TRACE-OPERAND", t->name,
                          "%s is an operand of family \"%s\", which this function cannot read; pass the same memory a "
                          "second time under another name: X = tensor { ... } and t.X",
                          t->name, f->name);
    }
}

/* The element at these indices. */
static int read_element(struct reader *r, const struct element *e, const int *index)
{
    struct spec_tensor *t = &reader_kernel(r)->tensor[e->tensor];
    bool real = tw_dtype_info(t->dtype)->kind == TW_KIND_FLOAT;
    refuse_family_operand(r, t);
    if (t->out)
        return sandbox_fault(r->L, "TRACE-OPERAND", t->name, "t.%s is written by this kernel and cannot be read in it",
                             t->name);
    for (int d = 0; d < t->rank; d++) {
        int64_t at, extent;
        if (!expr_is_int(graph_of(r), index[d], &at))
            continue;
        if (at < 0)
            return sandbox_fault(r->L, "TRACE-INDEX", t->name, "index %lld of t.%s is before its first element, 0",
                                 (long long)at, t->name);
        if (expr_is_int(&reader_kernel(r)->shape, t->dim[d], &extent) && at >= extent && !t->doubtful)
            return sandbox_fault(r->L, "TRACE-INDEX", t->name, "index %lld of t.%s is behind its last element, %lld",
                                 (long long)at, t->name, (long long)extent - 1);
    }
    t->read = true;
    return made(r, expr_tensor(graph_of(r), e->tensor, real ? EXPR_REAL : EXPR_INT, t->rank, index));
}

/* The index along an axis: the one that the family gives the function, else that of the tiles which ask for it. */
static struct value index_along(struct reader *r, int axis)
{
    if (r->fused && r->fused_index && r->fused_index[axis].node >= 0)
        return r->fused_index[axis];
    return plain_value(r, expr_leaf(graph_of(r), EXPR_INDEX, EXPR_INT, axis));
}

/* The axes over which the function runs: those of its value, of a program all. NULL-terminated. */
static int running_axes(struct reader *r, const char *known[SPEC_MAX_AXES + 1])
{
    const struct spec_kernel *k = reader_kernel(r);
    int count = 0;
    for (int a = 0; a < k->axis_count; a++)
        if (!r->fused || (r->fused_axes >> a & 1))
            known[count++] = k->axis[a];
    known[count] = NULL;
    return count;
}

/* A tensor is to broadcast whose axes are unknown. */
static int ask_axes(struct reader *r, const struct spec_tensor *t)
{
    const struct spec_kernel *k = reader_kernel(r);
    int extent[SPEC_MAX_AXES];
    for (int a = 0; a < k->axis_count; a++)
        extent[a] = k->program && (!r->fused || (r->fused_axes >> a & 1)) ? trace_known_extent(r, a) : -1;
    return refuse_broadcast(r, t, extent);
}

/* The element of a tensor without indices: each dim at the index of its axis. */
static int broadcast(struct reader *r, const struct element *e)
{
    const struct spec_kernel *k = reader_kernel(r);
    const struct spec_tensor *t = tensor_of(r, e);
    const char *known[SPEC_MAX_AXES + 1] = {0};
    int index[SPEC_MAX_RANK], count = running_axes(r, known);
    if (e->count > 0)
        return luaL_error(r->L, "t.%s has %d dims, %d of them indexed; index all or none", t->name, t->rank, e->count);
    for (int d = 0; d < t->rank; d++) {
        bool has = false;
        if (t->axis[d] < 0)
            return ask_axes(r, t);
        for (int a = 0; a < count; a++)
            has |= strcmp(known[a], k->axis[t->axis[d]]) == 0;
        if (!has)
            return luaL_error(r->L, "t.%s has axis %s, over which this function does not run; it runs over %s", t->name,
                              k->axis[t->axis[d]], reader_list(r, known, " and "));
        index[d] = index_along(r, t->axis[d]).node;
    }
    return read_element(r, e, index);
}

/* A shape expression of the spec as a node of the current graph. */
static int adopt(struct reader *r, const struct value *v)
{
    if (v->epoch == r->epoch)
        return v->node;
    if (v->epoch != 0)
        return luaL_error(r->L, "this value belongs to another function; a value lives while its function is traced");
    return made(r, expr_import(graph_of(r), &r->shape, v->node));
}

/* A number that is none of fp32 would become infinity or 0 without a word. */
static double constant_at(struct reader *r, int index)
{
    double value = lua_tonumber(r->L, index), size = fabs(value);
    if (isfinite(value) && isinf((float)value))
        luaL_error(r->L, "the constant %s is beyond fp32, in which it is computed with; write one up to 3.4e38, or inf",
                   describe(r, index));
    if (size > 0 && size < FLT_MIN)
        luaL_error(r->L,
                   "the constant %s is too small for fp32, in which it is computed with; write 0, or 1.2e-38 or more",
                   describe(r, index));
    return value;
}

struct value value_at(struct reader *r, int index)
{
    lua_State *L = r->L;
    int64_t integer;
    if (lua_type(L, index) == LUA_TNUMBER) {
        if (lua_isinteger(L, index))
            return plain_value(r, expr_int(graph_of(r), lua_tointeger(L, index)));
        if (!r->epoch && exact_integer(L, index, &integer))
            return plain_value(r, expr_int(graph_of(r), integer));
        if (!r->epoch)
            luaL_error(L, "%s in an expression of dims: they are whole numbers", describe(r, index));
        return plain_value(r, expr_real(graph_of(r), constant_at(r, index)));
    }
    const struct value *v = luaL_testudata(L, index, TYPE_EXPRESSION);
    if (v && v->epoch == r->epoch) {
        if (r->program)
            program_check_body(r, v);
        return *v;
    }
    if (v)
        return plain_value(r, adopt(r, v));
    const struct element *e = luaL_testudata(L, index, TYPE_ELEMENT);
    if (!e)
        luaL_error(L, "%s stands in an expression; it takes numbers, tensors, scalars and indices", describe(r, index));
    return plain_value(r, broadcast(r, e));
}

int shape_node(struct reader *r, int index, const char **what)
{
    struct expr_graph *shape = &reader_kernel(r)->shape;
    const struct value *v = luaL_testudata(r->L, index, TYPE_EXPRESSION);
    int64_t integer;
    int node;
    *what = "";
    if (v && v->epoch == 0)
        node = expr_import(shape, &r->shape, v->node);
    else if (exact_integer(r->L, index, &integer))
        node = expr_int(shape, integer);
    else {
        *what = describe(r, index);
        return -1;
    }
    if (node < 0)
        sandbox_no_memory(r->L);
    const char **name = arena_alloc(r->arena, (size_t)(r->spec->dim_count + 1) * sizeof *name);
    reader_check(r, name);
    for (int d = 0; d < r->spec->dim_count; d++)
        name[d] = r->spec->dim[d].name;
    if (expr_print_c(shape, node, name, NULL, 0) > 4000) {
        *what = "an expression of more than 4000 characters";
        return -1;
    }
    return node;
}
/* ---- t and i --------------------------------------------------------------------------------------------------- */

static const char *key_of(lua_State *L)
{
    return lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
}

static int get_operand(lua_State *L)
{
    struct reader *r = reader_of(L);
    const char *name = key_of(L);
    if (!r || !r->epoch)
        return luaL_error(L, "t lives while its function is traced");
    struct spec_kernel *k = reader_kernel(r);
    for (int i = 0; name && i < k->scalar_count; i++)
        if (strcmp(k->scalar[i].name, name) == 0) {
            bool real = tw_dtype_info(k->scalar[i].dtype)->kind == TW_KIND_FLOAT;
            k->scalar[i].read = true;
            push_node(r, expr_leaf(graph_of(r), EXPR_SCALAR, real ? EXPR_REAL : EXPR_INT, i));
            return 1;
        }
    for (int i = 0; name && i < k->tensor_count; i++)
        if (strcmp(k->tensor[i].name, name) == 0) {
            if (k->tensor[i].out && (!r->program || r->fused))
                return sandbox_fault(L, "TRACE-OPERAND", name,
                                     "t.%s is written by this kernel and cannot be read in it", name);
            struct element *e = lua_newuserdatauv(L, sizeof *e, 0);
            *e = (struct element){.tensor = i, .epoch = r->epoch};
            luaL_setmetatable(L, TYPE_ELEMENT);
            return 1;
        }
    const char **known = arena_alloc(r->arena, (size_t)(k->tensor_count + k->scalar_count + 1) * sizeof *known);
    reader_check(r, known);
    int count = 0;
    for (int i = 0; i < k->tensor_count; i++)
        if (!k->tensor[i].out || (r->program && !r->fused))
            known[count++] = k->tensor[i].name;
    for (int i = 0; i < k->scalar_count; i++)
        known[count++] = k->scalar[i].name;
    name = name ? name : describe(r, 2);
    const char *near = reader_suggest(r, name, known);
    if (*near || !count)
        return sandbox_fault(L, "TRACE-OPERAND", name, "the kernel has no tensor or scalar '%s'%s", name, near);
    return sandbox_fault(L, "TRACE-OPERAND", name, "the kernel has no tensor or scalar '%s'; it has %s", name,
                         reader_list(r, known, " and "));
}

static int get_index(lua_State *L)
{
    struct reader *r = reader_of(L);
    const char *name = key_of(L), *known[SPEC_MAX_AXES + 1] = {0};
    if (!r || !r->epoch)
        return luaL_error(L, "i lives while its function is traced");
    const struct spec_kernel *k = reader_kernel(r);
    int count = running_axes(r, known);
    for (int a = 0; name && a < count; a++)
        if (strcmp(known[a], name) == 0)
            for (int p = 0; p < k->axis_count; p++)
                if (strcmp(k->axis[p], name) == 0) {
                    const struct value index = index_along(r, p);
                    push_value(r, &index);
                    return 1;
                }
    return sandbox_fault(L, "TRACE-INDEX", name, "there is no index i.%s; this function runs over %s",
                         name ? name : describe(r, 2), reader_list(r, known, " and "));
}

static int set_nothing(lua_State *L)
{
    const struct reader *r = reader_of(L);
    if (r && r->program && !r->fused)
        return luaL_error(L, "a program assigns nothing to tensors; write store(t.y, span(...), value)");
    return luaL_error(L, "a fused function returns its values and assigns nothing; write return { D = ... }");
}

static int no_length(lua_State *L)
{
    return luaL_error(L, "t and i have no length; their fields are the kernel's tensors and axes: t.X, i.m");
}

/* t.R[i.m]: one more index; the last one makes a value. */
static int index_element(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r)
        return luaL_error(L, "t lives while its function is traced");
    struct element e = *(const struct element *)luaL_checkudata(L, 1, TYPE_ELEMENT);
    const struct spec_tensor *t = tensor_of(r, &e);
    lua_replace(L, 1);
    if (lua_type(L, 1) == LUA_TSTRING)
        return luaL_error(L, "t.%s takes indices: t.%s[i.m]", t->name, t->name);
    if (r->program && e.count > 0)
        program_check_body(r, &e.at);
    struct value v = value_at(r, 1), both[2] = {e.at, v};
    if (graph_of(r)->node[v.node].type != EXPR_INT)
        return luaL_error(L, "an index of t.%s is a whole number, this is %s", t->name,
                          type_word(graph_of(r)->node[v.node].type));
    if (r->program)
        program_merge(r, t->name, e.count ? both : both + 1, e.count ? 2 : 1, &e.at);
    e.index[e.count++] = v.node;
    if (e.count == t->rank) {
        push_result(r, t->name, read_element(r, &e, e.index), &e.at, 1);
        return 1;
    }
    struct element *deeper = lua_newuserdatauv(L, sizeof *deeper, 0);
    *deeper = e;
    luaL_setmetatable(L, TYPE_ELEMENT);
    return 1;
}

/* ---- what the language has ------------------------------------------------------------------------------------- */

static void add_table(lua_State *L, const char *name, lua_CFunction get)
{
    luaL_newmetatable(L, name);
    lua_pushcfunction(L, get);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, set_nothing);
    lua_setfield(L, -2, "__newindex");
    lua_pushcfunction(L, no_length);
    lua_setfield(L, -2, "__len");
    lua_pop(L, 1);
}

void open_operands(struct reader *r)
{
    lua_State *L = r->L;
    luaL_getmetatable(L, TYPE_ELEMENT);
    lua_pushcfunction(L, index_element);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, set_nothing);
    lua_setfield(L, -2, "__newindex");
    lua_pop(L, 1);
    add_table(L, TYPE_TENSORS, get_operand);
    add_table(L, TYPE_INDICES, get_index);
}
