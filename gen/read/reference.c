/* Functions of a spec that compute plain numbers: `reference = function(t, n)`, the expected result of a kernel, and a
 * tensor's `fill = function(i, j, ..., n)`, what it holds. */
#include "read/read.h"

#include <stdio.h>
#include <string.h>

#include "read/processes.h"

#define MOST_INSTRUCTIONS 2000000000 /* they compute, element by element */
#define TYPE_VIEW "tensor of the reference"

/* t.x, t.x[r]: what is left of a tensor after some indices. */
struct view {
    const struct spec_tensor *tensor;
    double *data; /* of the first element of the view */
    int64_t extent[SPEC_MAX_RANK];
    int first, rank; /* the next dim to index, and the tensor's rank */
};

struct call {
    const struct spec *spec;
    const struct spec_kernel *kernel;
    const int64_t *dims;
    double *const *data;
};

/* The element or sub-view that key 2 of the view at 1 names; NULL: a sub-view, whose start is *inner. */
static double *locate(lua_State *L, const struct view *v, double **inner)
{
    int64_t at, step = 1;
    if (!exact_integer(L, 2, &at)) {
        luaL_error(L, "t.%s takes whole numbers as indices", v->tensor->name);
        return NULL;
    }
    if (at < 0 || at >= v->extent[v->first])
        luaL_error(L, "index %I is outside of t.%s, whose dim %d has the indices 0 to %I", (LUAI_UACINT)at,
                   v->tensor->name, v->first + 1, (LUAI_UACINT)(v->extent[v->first] - 1));
    for (int d = v->first + 1; d < v->rank; d++)
        step *= v->extent[d];
    *inner = v->data + at * step;
    return v->first + 1 == v->rank ? *inner : NULL;
}

/* The view at 1, known by its metatable, upvalue 1: a reference asks for millions of elements, and the registry finds a
 * metatable by the text of its name. */
static const struct view *view_of(lua_State *L)
{
    if (!lua_isuserdata(L, 1) || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(1)))
        return luaL_checkudata(L, 1, TYPE_VIEW);
    lua_pop(L, 1);
    return lua_touserdata(L, 1);
}

static int get(lua_State *L)
{
    const struct view *v = view_of(L);
    double *inner, *element = locate(L, v, &inner);
    if (element) {
        lua_pushnumber(L, *element);
        return 1;
    }
    struct view *deeper = lua_newuserdatauv(L, sizeof *deeper, 0);
    *deeper = *v;
    deeper->data = inner;
    deeper->first++;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_setmetatable(L, -2);
    return 1;
}

static int set(lua_State *L)
{
    const struct view *v = view_of(L);
    double *inner, *element = locate(L, v, &inner);
    if (!element)
        return luaL_error(L, "t.%s has %d dims; index all of them to assign", v->tensor->name, v->rank);
    if (!v->tensor->out)
        return luaL_error(L, "t.%s is an input; a reference writes the tensors with out = true", v->tensor->name);
    if (lua_type(L, 3) != LUA_TNUMBER)
        return luaL_error(L, "t.%s holds numbers, this is a %s", v->tensor->name, luaL_typename(L, 3));
    *element = lua_tonumber(L, 3);
    return 0;
}

static int unknown(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : luaL_typename(L, 2);
    return luaL_error(L, "there is no %s.%s", lua_tostring(L, lua_upvalueindex(1)), name);
}

/* Reading another name of the table on top of the stack is an error that names it. */
static void refuse_unknown(lua_State *L, const char *name)
{
    lua_newtable(L);
    lua_pushstring(L, name);
    lua_pushcclosure(L, unknown, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

/* The table n on the stack: extents by name. */
static void push_dims(lua_State *L, const struct spec *spec, const int64_t *dims)
{
    lua_newtable(L);
    for (int d = 0; d < spec->dim_count; d++) {
        lua_pushinteger(L, dims[d]);
        lua_setfield(L, -2, spec->dim[d].name);
    }
    refuse_unknown(L, "n");
}

static int run(lua_State *L)
{
    const struct call *c = lua_touserdata(L, 1);
    const struct spec_kernel *k = c->kernel;
    if (luaL_newmetatable(L, TYPE_VIEW)) {
        lua_pushvalue(L, -1);
        lua_pushcclosure(L, get, 1);
        lua_setfield(L, -2, "__index");
        lua_pushvalue(L, -1);
        lua_pushcclosure(L, set, 1);
        lua_setfield(L, -2, "__newindex");
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, k->lua_reference);
    lua_newtable(L);
    for (int i = 0; i < k->tensor_count; i++) {
        struct view *v = lua_newuserdatauv(L, sizeof *v, 0);
        *v = (struct view){&k->tensor[i], c->data[i], {0}, 0, k->tensor[i].rank};
        for (int d = 0; d < v->rank; d++)
            if (!expr_eval_int(&k->shape, k->tensor[i].dim[d], c->dims, &v->extent[d]))
                return luaL_error(L, "the extent of dim %d of %s overflows", d + 1, k->tensor[i].name);
        luaL_setmetatable(L, TYPE_VIEW);
        lua_setfield(L, -2, k->tensor[i].name);
    }
    for (int i = 0; i < k->scalar_count; i++) {
        lua_pushnumber(L, k->scalar[i].value);
        lua_setfield(L, -2, k->scalar[i].name);
    }
    refuse_unknown(L, "t");
    push_dims(L, c->spec, c->dims);
    lua_call(L, 2, 0);
    return 0;
}

int spec_run_reference(struct spec *spec, int kernel, const int64_t *dims, double *const *data, struct diag_set *diags)
{
    struct spec_store *store = spec->arena;
    const struct spec_kernel *k = &spec->kernel[kernel];
    struct call c = {spec, k, dims, data};
    struct sandbox_error error;
    if (!spec->lua || k->lua_reference == LUA_NOREF) {
        diag_report(diags, DIAG_ERROR, k->loc, k->name, "reference", NULL,
                    "there is none; write reference = "
                    "function(t, n) ... end");
        return 1;
    }
    sandbox_set_instruction_limit(store->sandbox, MOST_INSTRUCTIONS);
    sandbox_compute(store->sandbox, true);
    int status = sandbox_protect(store->sandbox, run, &c, &error);
    sandbox_compute(store->sandbox, false);
    if (status == SANDBOX_FAULT)
        sandbox_report(store->sandbox, diags, &error, k->name, "reference");
    return status == SANDBOX_OK ? 0 : status == SANDBOX_FAULT ? 1 : 3;
}

/* ---- fill -------------------------------------------------------------------------------------------------------- */

struct fill_call {
    const struct spec *spec;
    const struct spec_kernel *kernel;
    const struct spec_tensor *tensor;
    const int64_t *dims;
    int64_t extent[SPEC_MAX_RANK];
    int64_t first, end; /* elements to be written */
    double *to;
};

/* Elements that are worth a process: some tenths of a second. */
enum { FILL_PROCESS = 1 << 17 };

/* The function returned no number: an error at the line where it begins. */
static int refuse_result(lua_State *L, const struct spec_tensor *t)
{
    struct sandbox_error error = {.file = -1};
    lua_Debug place;
    lua_rawgeti(L, LUA_REGISTRYINDEX, t->lua_fill);
    if (lua_getinfo(L, ">S", &place) && sscanf(place.source, "@#%d", &error.file) == 1)
        error.line = sandbox_line(sandbox_of(L), error.file, place.linedefined, &error.token);
    snprintf(error.text, sizeof error.text, "it returns a number for each element, this is a %s", luaL_typename(L, -1));
    error.rule = "LUA-RUN";
    return sandbox_raise(L, &error);
}

static int fill(lua_State *L)
{
    const struct fill_call *c = lua_touserdata(L, 1);
    const struct spec_tensor *t = c->tensor;
    int64_t at[SPEC_MAX_RANK] = {0}, rest = c->first;
    push_dims(L, c->spec, c->dims);
    int n = lua_gettop(L);
    for (int d = 0; d < t->rank; d++) {
        lua_pushinteger(L, c->extent[d]);
        lua_rawseti(L, n, d + 1);
    }
    for (int d = t->rank - 1; d >= 0 && rest; d--) {
        at[d] = rest % c->extent[d];
        rest /= c->extent[d];
    }
    luaL_checkstack(L, SPEC_MAX_RANK + 4, "fill");
    for (int64_t e = c->first; e < c->end; e++) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, t->lua_fill);
        for (int d = 0; d < t->rank; d++)
            lua_pushinteger(L, at[d]);
        lua_pushvalue(L, n);
        lua_call(L, t->rank + 1, 1);
        if (lua_type(L, -1) != LUA_TNUMBER)
            return refuse_result(L, t);
        c->to[e] = lua_tonumber(L, -1);
        lua_settop(L, n);
        for (int d = t->rank - 1; d >= 0 && ++at[d] == c->extent[d]; d--)
            at[d] = 0;
    }
    return 0;
}

static int fill_elements(struct spec_store *store, struct fill_call *c, struct sandbox_error *error)
{
    sandbox_set_instruction_limit(store->sandbox, MOST_INSTRUCTIONS);
    sandbox_compute(store->sandbox, true);
    int status = sandbox_protect(store->sandbox, fill, c, error);
    sandbox_compute(store->sandbox, false);
    return status;
}

struct fill_share {
    struct spec_store *store;
    const struct fill_call *call;
};

static bool fill_share(void *context, double *to, int64_t first, int64_t end)
{
    const struct fill_share *s = context;
    struct fill_call own = *s->call;
    struct sandbox_error error;
    own.to = to;
    own.first = first;
    own.end = end;
    return fill_elements(s->store, &own, &error) == SANDBOX_OK;
}

int spec_run_fill(struct spec *spec, int kernel, int tensor, const int64_t *dims, int64_t most, double *to,
                  struct diag_set *diags)
{
    struct spec_store *store = spec->arena;
    const struct spec_kernel *k = &spec->kernel[kernel];
    const struct spec_tensor *t = &k->tensor[tensor];
    struct fill_call c = {.spec = spec, .kernel = k, .tensor = t, .dims = dims, .to = to};
    int64_t count = 1;
    char path[160];
    struct sandbox_error error;
    snprintf(path, sizeof path, "%s.fill", t->name);
    for (int d = 0; d < t->rank; d++) {
        if (!expr_eval_int(&k->shape, t->dim[d], dims, &c.extent[d])) {
            diag_report(diags, DIAG_ERROR, k->loc, k->name, path, NULL, "the extent of dim %d overflows", d + 1);
            return 1;
        }
        count *= c.extent[d];
    }
    const int64_t slice = t->rank > 0 && c.extent[0] > 0 ? count / c.extent[0] : count;
    c.end = count <= most ? count : slice > most ? slice : most / slice * slice;
    struct fill_share share = {store, &c};
    const struct processes processes = {.count = c.end, .least = FILL_PROCESS, .write = fill_share, .context = &share};
    /* What goes wrong in a process is found again, and told, without it. */
    int status = processes_compute(&processes, to) ? SANDBOX_OK : fill_elements(store, &c, &error);
    for (int64_t e = c.end; e < count && status == SANDBOX_OK; e++)
        to[e] = to[e - c.end];
    if (status == SANDBOX_FAULT)
        sandbox_report(store->sandbox, diags, &error, k->name, path);
    return status == SANDBOX_OK ? 0 : status == SANDBOX_FAULT ? 1 : 3;
}
