#include "emit/engine.h"

#include <ctype.h>
#include <string.h>

#include <lua5.4/lauxlib.h>

#include "emit/lua_sink.h"
#include "plan/map_pointers.h"
#include "swizzle.h"

void *emit_helper_context(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static int hex(lua_State *L)
{
    lua_pushfstring(L, "0x");
    char digits[20];
    int count = 0;
    for (lua_Unsigned n = (lua_Unsigned)luaL_checkinteger(L, 1); n || !count; n >>= 4)
        digits[count++] = "0123456789abcdef"[n & 15];
    for (int i = 0; i < count / 2; i++) {
        char c = digits[i];
        digits[i] = digits[count - 1 - i];
        digits[count - 1 - i] = c;
    }
    lua_pushlstring(L, digits, (size_t)count);
    lua_concat(L, 2);
    return 1;
}

static int log2_exact(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1), power = 0;
    luaL_argcheck(L, n > 0 && (n & (n - 1)) == 0, 1, "no power of two");
    while (n >> power > 1)
        power++;
    lua_pushinteger(L, power);
    return 1;
}

/* ceil(a / b) for a >= 0 and b > 0. */
static lua_Integer quotient(lua_State *L)
{
    lua_Integer a = luaL_checkinteger(L, 1), b = luaL_checkinteger(L, 2);
    luaL_argcheck(L, a >= 0, 1, "negative");
    luaL_argcheck(L, b > 0, 2, "not positive");
    return a / b + (a % b != 0);
}

static int ceil_div(lua_State *L)
{
    lua_pushinteger(L, quotient(L));
    return 1;
}

static int align_up(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)((lua_Unsigned)quotient(L) * (lua_Unsigned)lua_tointeger(L, 2)));
    return 1;
}

static enum tw_dtype check_dtype(lua_State *L)
{
    enum tw_dtype dtype = tw_dtype_from_name(luaL_checkstring(L, 1));
    luaL_argcheck(L, dtype != TW_DTYPE_COUNT, 1, "no dtype");
    return dtype;
}

static int bytes(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)tw_dtype_info(check_dtype(L))->bits / 8);
    return 1;
}

static int ctype_of(lua_State *L)
{
    lua_pushstring(L, tw_dtype_info(check_dtype(L))->cuda_type);
    return 1;
}

/* Types of operands of matrix instructions, as PTX names them. */
static int ptx_type(lua_State *L)
{
    static const char *const name[TW_DTYPE_COUNT] = {
        [TW_BF16] = "bf16", [TW_FP16] = "f16", [TW_TF32] = "tf32", [TW_FP8_E4M3] = "e4m3", [TW_FP8_E5M2] = "e5m2",
        [TW_INT8] = "s8",   [TW_UINT8] = "u8", [TW_FP32] = "f32",  [TW_INT32] = "s32",
    };
    const char *text = name[check_dtype(L)];
    if (!text)
        return luaL_argerror(L, 1, "no matrix instruction has it");
    lua_pushstring(L, text);
    return 1;
}

static int upper(lua_State *L)
{
    size_t length;
    const char *s = luaL_checklstring(L, 1, &length);
    sandbox_charge(L, (int64_t)(length / 16));
    luaL_Buffer b;
    char *copy = luaL_buffinitsize(L, &b, length);
    for (size_t i = 0; i < length; i++)
        copy[i] = (char)toupper((unsigned char)s[i]);
    luaL_pushresultsize(&b, length);
    return 1;
}

/* Whether each index of the first dim of the tensor at 1 has an address of its own. */
static bool has_pointers(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushliteral(L, "pointers");
    model_get(L, 1);
    bool has = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return has;
}

static int slice(lua_State *L)
{
    const char *index = luaL_checkstring(L, 2);
    bool own = has_pointers(L);
    lua_pushliteral(L, "name");
    model_get(L, 1);
    lua_pushfstring(L, own ? "args.%s[%s]" : "args.%s", luaL_checkstring(L, -1), index);
    lua_pushinteger(L, own ? 2 : 1);
    return 2;
}

static int map_pointers(lua_State *L)
{
    const struct {
        const char *name;
        lua_Integer value;
    } field[] = {{"base", POINTERS_BASE},
                 {"unit", POINTERS_UNIT},
                 {"shift", POINTERS_SHIFT},
                 {"low", (INT64_C(1) << POINTERS_LOW_BITS) - 1}};
    lua_createtable(L, 0, 4);
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        lua_pushinteger(L, field[i].value);
        lua_setfield(L, -2, field[i].name);
    }
    return 1;
}

static int map_rank_of(lua_State *L)
{
    bool own = has_pointers(L);
    lua_pushliteral(L, "maps");
    model_get(L, 1);
    lua_pushliteral(L, "rank");
    model_get(L, 1);
    lua_pushinteger(L, luaL_checkinteger(L, -1) + own - !lua_isnil(L, -2));
    return 1;
}

static int csv(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer count = model_length(L, 1);
    sandbox_charge(L, count);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (lua_Integer i = 1; i <= count; i++) {
        if (i > 1)
            luaL_addstring(&b, ", ");
        lua_pushinteger(L, i);
        model_get(L, 1);
        if (!lua_isinteger(L, -1) && lua_type(L, -1) != LUA_TSTRING)
            return luaL_error(L, "csv takes a list of ints and texts; item %d is a %s", (int)i, luaL_typename(L, -1));
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    return 1;
}

static int has(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    model_get(L, 1);
    lua_pushboolean(L, !lua_isnil(L, -1));
    return 1;
}

/* ---- the banner ------------------------------------------------------------------------------------------------ */

enum { BANNER_COLUMNS = 116 };

/* The integer or text at a dotted path of the table at index, as a text that the state keeps; NULL where there is none.
 * Leaves one value on the stack. */
static const char *fact(lua_State *L, int index, const char *path)
{
    lua_pushvalue(L, index);
    for (const char *part = path, *dot; part; part = dot ? dot + 1 : NULL) {
        dot = strchr(part, '.');
        lua_pushlstring(L, part, dot ? (size_t)(dot - part) : strlen(part));
        model_get(L, -2);
        lua_remove(L, -2);
    }
    return lua_isinteger(L, -1) || lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
}

/* Adds an item to a comment that is filled up to a width. */
static void add_item(struct emit_text *t, size_t *line, const char *item)
{
    bool first = *line == t->length;
    if (!first && t->length - *line + 2 + strlen(item) > BANNER_COLUMNS) {
        text_string(t, ",\n");
        *line = t->length;
        first = true;
    }
    text_format(t, "%s%s", first ? "// " : ", ", item);
}

/* What the model holds of: kernel, entry and architecture; the values that shape the code; shared memory, threads and
 * the stages of each ring. */
static int banner(lua_State *L)
{
    struct engine *e = emit_helper_context(L);
    struct emit_text t = {.arena = &e->arena};
    enum { STEPS = 1000 };
    sandbox_charge(L, STEPS);
    lua_settop(L, 0);
    luaL_checkstack(L, 64, NULL);
    lua_rawgeti(L, LUA_REGISTRYINDEX, e->model_ref);
    const char *kernel = fact(L, 1, "kernel"), *entry = fact(L, 1, "entry"), *arch = fact(L, 1, "arch");
    if (!kernel)
        return luaL_error(L, "the banner needs a field 'kernel' of '%s'", e->model->root);
    text_format(&t, "// tilewright %d: kernel %s", e->options->generator_version, kernel);
    if (entry)
        text_format(&t, ", entry %s", entry);
    if (arch)
        text_format(&t, ", arch %s", arch);
    if (e->options->debug_ms)
        text_format(&t, ", debug build: waits end after %d ms", e->options->debug_ms);
    if (e->options->profile)
        text_format(&t, ", profile build: %d stamps", e->options->profile);
    if (e->options->passes > 1)
        text_format(&t, ", pass %d of %d", e->options->pass + 1, e->options->passes);
    text_string(&t, "\n");
    size_t line = t.length;
    lua_settop(L, 1);
    lua_pushstring(L, "value");
    model_get(L, 1);
    lua_Integer count = lua_istable(L, 2) ? model_length(L, 2) : 0;
    for (lua_Integer i = 1; i <= count; i++, lua_settop(L, 2)) {
        lua_pushinteger(L, i);
        model_get(L, 2);
        const char *name = fact(L, 3, "name"), *text = fact(L, 3, "text");
        const char *value = text ? text : fact(L, 3, "integer");
        if (name && value)
            add_item(&t, &line, lua_pushfstring(L, "%s %s", name, value));
    }
    if (line != t.length)
        text_string(&t, "\n");
    line = t.length;
    lua_settop(L, 1);
    const char *shared = fact(L, 1, "launch.shared_bytes"), *threads = fact(L, 1, "launch.block");
    if (shared)
        add_item(&t, &line, lua_pushfstring(L, "%s bytes of shared memory", shared));
    if (threads)
        add_item(&t, &line, lua_pushfstring(L, "%s threads", threads));
    lua_settop(L, 1);
    lua_pushstring(L, "ring");
    model_get(L, 1);
    count = lua_istable(L, 2) ? model_length(L, 2) : 0;
    for (lua_Integer i = 1; i <= count; i++, lua_settop(L, 2)) {
        lua_pushinteger(L, i);
        model_get(L, 2);
        const char *name = fact(L, 3, "name"), *stages = fact(L, 3, "stages");
        if (name && stages)
            add_item(&t, &line,
                     lua_pushfstring(L, "ring %s of %s stage%s", name, stages, strcmp(stages, "1") == 0 ? "" : "s"));
    }
    if (t.failed) {
        e->no_memory = true;
        return luaL_error(L, "out of memory");
    }
    lua_pushstring(L, t.data);
    return 1;
}

static int debug_ms(lua_State *L)
{
    const struct engine *e = emit_helper_context(L);
    lua_pushinteger(L, e->options->debug_ms);
    return 1;
}

static int profile(lua_State *L)
{
    const struct engine *e = emit_helper_context(L);
    lua_pushinteger(L, e->options->profile);
    return 1;
}

/* Where a bulk copy goes that is of one block: the Plan's architecture decides. */
static int copy_space(lua_State *L)
{
    const struct engine *e = emit_helper_context(L);
    lua_settop(L, 0);
    lua_rawgeti(L, LUA_REGISTRYINDEX, e->model_ref);
    lua_pushstring(L, "copies");
    model_get(L, 1);
    lua_pushstring(L, lua_isnil(L, -1) ? "shared::cluster" : "shared::cta");
    return 1;
}

static int deeper(lua_State *L)
{
    struct engine *e = emit_helper_context(L);
    if (e->indent.length + 4 > ENGINE_INDENT)
        return luaL_error(L, "lines stand more than %d columns deep", ENGINE_INDENT);
    text_string(&e->indent, "    ");
    return 0;
}

static int shallower(lua_State *L)
{
    struct engine *e = emit_helper_context(L);
    if (e->indent.length < 4)
        return luaL_error(L, "nothing here is deeper");
    e->indent.length -= 4;
    return 0;
}

/* A row of swizzles.def: a table with the fields that templates need. */
static int swizzle(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    for (int i = 0; i < TW_SWIZZLE_COUNT; i++) {
        const struct tw_swizzle_info *row = &tw_swizzles[i];
        if (strcmp(row->name, name) != 0)
            continue;
        const struct {
            const char *name;
            uint32_t value;
        } field[] = {{"span", row->span}, {"align", row->align}, {"mask", row->mask}, {"wgmma", row->wgmma}};
        lua_createtable(L, 0, 4);
        for (size_t f = 0; f < sizeof field / sizeof *field; f++) {
            lua_pushinteger(L, field[f].value);
            lua_setfield(L, -2, field[f].name);
        }
        return 1;
    }
    return luaL_argerror(L, 1, "no swizzle; write NONE, 32B, 64B or 128B");
}

static int is_real(lua_State *L)
{
    enum tw_dtype dtype = tw_dtype_from_name(luaL_checkstring(L, 1));
    luaL_argcheck(L, dtype != TW_DTYPE_COUNT, 1, "no dtype");
    lua_pushboolean(L, tw_dtype_info(dtype)->kind == TW_KIND_FLOAT);
    return 1;
}

/* The rows of expr_functions.def. */
static int functions(lua_State *L)
{
    static const char *const key[] = {"name", "call", "cuda", "doc"};
    static const char *const row[][sizeof key / sizeof *key] = {
#define FUNCTION(id, name, call, cuda, doc, reference, bound) {name, #call, cuda, doc},
#include "spec/expr_functions.def"
#undef FUNCTION
    };
    int count = (int)(sizeof row / sizeof *row);
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_createtable(L, 0, 4);
        for (size_t k = 0; k < sizeof key / sizeof *key; k++) {
            lua_pushstring(L, row[i][k]);
            lua_setfield(L, -2, key[k]);
        }
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const struct emit_helper_doc emit_helpers[] = {
    {"hex", "n", "0x and the digits of an integer", hex},
    {"log2", "n", "the exponent of a power of two; another number is an error", log2_exact},
    {"ceil_div", "a, b", "a / b rounded up; a is not negative, b positive", ceil_div},
    {"align_up", "a, b", "the multiple of b that is next to a, or a", align_up},
    {"bytes", "dtype", "bytes of an element: bytes(\"bf16\") is 2", bytes},
    {"swizzle", "name", "the swizzle's span, align, mask and wgmma code, as swizzles.def has them", swizzle},
    {"ptx_type", "dtype", "its name in matrix instructions: s8 for int8", ptx_type},
    {"ctype", "dtype", "the CUDA type that carries an element: unsigned short for bf16", ctype_of},
    {"is_real", "dtype", "whether expressions take its elements as floats, and not as integers", is_real},
    {"slice", "tensor, index",
     "the address to which coordinates are added, and those from which dim on: args.A, 1; where slices along the first "
     "have addresses of their own args.A[index], 2",
     slice},
    {"map_pointers", "", "how a map has an address as two coordinates: base, unit, shift, low, as map_pointers.h says",
     map_pointers},
    {"map_rank", "tensor",
     "dims of its tensor map: one more than its own where slices have addresses, one less where they have maps",
     map_rank_of},
    {"upper", "s", "the text in capitals", upper},
    {"csv", "list", "the list's integers and texts with \", \" between them", csv},
    {"has", "table, name", "whether the table has that field, and it is not null", has},
    {"banner", "", "the comment that begins every emitted file: generator, kernel, options, cost", banner},
    {"functions", "", "the fused functions of one real: name, call, cuda and doc, as expr_functions.def has them",
     functions},
    {"debug_ms", "", "milliseconds that a wait of a debug build may last; 0 in other builds", debug_ms},
    {"profile", "", "stamps of the clock that an instance of a role has room for in a profile build; 0 in other builds",
     profile},
    {"copy_space", "", "the state space that a bulk copy of one block names: shared::cluster, or shared::cta",
     copy_space},
    {"deeper", "", "lines from here on stand four blanks further right", deeper},
    {"shallower", "", "lines from here on stand four blanks further left", shallower},
    {NULL, NULL, NULL, NULL},
};

void engine_open_helpers(struct engine *e, lua_State *L)
{
    model_push_pairs(L);
    sandbox_set_global(e->sandbox, "pairs");
    model_push_next(L);
    sandbox_set_global(e->sandbox, "next");
    for (const struct emit_helper_doc *h = emit_helpers; h->name; h++) {
        lua_pushlightuserdata(L, e);
        lua_pushcclosure(L, h->function, 1);
        sandbox_set_global(e->sandbox, h->name);
    }
}

void engine_set_model(struct engine *e, lua_State *L, int index)
{
    lua_pushvalue(L, index);
    if (e->model_ref)
        lua_rawseti(L, LUA_REGISTRYINDEX, e->model_ref);
    else
        e->model_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

void engine_open_own_helpers(struct engine *e, lua_State *L)
{
    for (int i = 0; i < e->options->helper_count; i++) {
        const struct emit_helper *h = &e->options->helper[i];
        lua_pushlightuserdata(L, h->context);
        lua_pushcclosure(L, h->function, 1);
        sandbox_set_global(e->sandbox, h->name);
    }
}
