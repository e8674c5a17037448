/* One kernel: its fields in the order in which they depend on each other. */
#include "read/read.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "architecture.h"

enum { MOST_OPERANDS = 64 };

/* Fields that are no row of the schema and no operand. */
const char *const kernel_words[] = {"family", "template",  "like",  "arch",     "tune",      "run",     "bench",
                                    "rings",  "grid",      "axes",  "epilogue", "reference", "program", "ahead",
                                    "via",    "direction", "cache", "split",    "peer",      NULL};

static bool is_other(const char *name)
{
    for (int i = 0; kernel_words[i]; i++)
        if (strcmp(kernel_words[i], name) == 0)
            return true;
    return false;
}

/* ---- family and template --------------------------------------------------------------------------------------- */

static void read_family(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    const char *known[64] = {0};
    int families = 0;
    for (const char *const *f = r->options->library_family; f && *f && families < 62; f++)
        known[families++] = *f;
    int type = lua_getfield(L, table, "family");
    const char *word = type == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    const struct spec_family *f = word ? read_module(r, word) : NULL;
    if (f) {
        k->family = f->name; /* its axes are read with its program */
    } else if (word) {
        const char *near = reader_suggest(r, word, known);
        if (*near)
            reader_fault(r, "family", AT_VALUE, "FIELD-WORD", "there is no family \"%s\"%s", word, near);
        else
            reader_fault(r, "family", AT_VALUE, "FIELD-WORD",
                         "there is no family \"%s\"; there is %s; write program = function(t, at, tile) ... end, "
                         "template = \"FILE.cu\" or a module lib/%s.lua",
                         word, reader_list(r, known, " and "), word);
    } else if (type != LUA_TNIL) {
        reader_fault(r, "family", AT_VALUE, "FIELD-TYPE", "takes a text such as \"%s\", this is %s", known[0],
                     describe(r, -1));
    }
    lua_pop(L, 1);
}

/* False: there are both family and template. */
static bool read_template(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int type = lua_getfield(L, table, "template"), family = lua_getfield(L, table, "family");
    int program = lua_getfield(L, table, "program");
    lua_pop(L, 2);
    if (program != LUA_TNIL && (type != LUA_TNIL || family != LUA_TNIL)) {
        reader_fault(r, "program", AT_KEY, "KERNEL-FAMILY",
                     "a kernel is a family's, a template or a program; write one of family, template and program");
        lua_pop(L, 1);
        return false;
    }
    if (type == LUA_TNIL && family == LUA_TNIL && program == LUA_TNIL)
        reader_fault(r, "", AT_KEY, "KERNEL-FAMILY",
                     "there is neither family, program nor template; write family = \"gemm\", "
                     "program = function(t, at, tile) ... end or template = \"FILE.cu\"");
    else if (type != LUA_TNIL && family != LUA_TNIL)
        reader_fault(r, "template", AT_KEY, "KERNEL-FAMILY",
                     "a kernel of a family has the family's templates; write "
                     "one of them, family or template");
    else if (type != LUA_TNIL && type != LUA_TSTRING)
        reader_fault(r, "template", AT_VALUE, "FIELD-TYPE", "takes the name of a file beside the spec, this is %s",
                     describe(r, -1));
    if (type == LUA_TSTRING && family == LUA_TNIL) {
        const char *name = lua_tostring(L, -1), *folder = sandbox_folder(r->sandbox);
        bool here = strcmp(folder, ".") == 0;
        const char *path = arena_format(r->arena, "%s%s%s", here ? "" : folder, here ? "" : "/", name);
        char file[PATH_MAX], root[PATH_MAX];
        struct stat info;
        reader_check(r, path);
        k->template_path = path;
        k->template_loc = reader_locate(r, "template", AT_VALUE);
        size_t n = realpath(folder, root) ? strlen(root) : 0;
        if (!*name || name[0] == '/' || strstr(name, ".."))
            reader_fault(r, "template", AT_VALUE, "TEMPLATE-FILE", "\"%s\" leaves the spec's folder; name a file in it",
                         name);
        else if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
            reader_fault(r, "template", AT_VALUE, "TEMPLATE-FILE", "there is no file %s", path);
        else if (!realpath(path, file) || strncmp(file, root, n) != 0 || (file[n] != '/' && n != 1))
            reader_fault(r, "template", AT_VALUE, "TEMPLATE-FILE", "%s is a link that leaves the spec's folder", path);
    }
    lua_pop(L, 1);
    return type == LUA_TNIL || family == LUA_TNIL;
}

/* ---- operands and plain fields --------------------------------------------------------------------------------- */

/* A tensor or scalar and where it is declared, for their order: the family's, then that of the source, then names. */
struct operand {
    const char *name;
    int family; /* position in the family, or INT_MAX */
    struct diag_loc loc;
    bool tensor;
};

static int compare_operands(const void *a, const void *b)
{
    const struct operand *x = a, *y = b;
    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    if (x->loc.file != y->loc.file)
        return x->loc.file < y->loc.file ? -1 : 1;
    if (x->loc.line != y->loc.line)
        return x->loc.line < y->loc.line ? -1 : 1;
    if (x->loc.column != y->loc.column)
        return x->loc.column < y->loc.column ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int family_position(const struct spec_family *f, const char *name)
{
    int n = 0;
    for (const struct spec_family_tensor *t = f ? f->tensor : NULL; t && t->name; t++, n++)
        if (strcmp(t->name, name) == 0)
            return n;
    for (const char *const *s = f ? f->scalar : NULL; s && *s; s++, n++)
        if (strcmp(*s, name) == 0)
            return n;
    return INT_MAX;
}

/* All names that a field can have here, for suggestions. */
static const char *const *all_names(struct reader *r)
{
    const struct spec_family *f = module_family(r, reader_kernel(r)->family);
    const char **field = field_names(r), **name = arena_alloc(r->arena, 256 * sizeof *name);
    int count = 0;
    reader_check(r, name);
    for (int i = 0; field[i] && count < 100; i++)
        name[count++] = field[i];
    for (int i = 0; reader_kernel(r)->program && axis_field_names[i]; i++)
        name[count++] = axis_field_names[i];
    for (int i = 0; kernel_words[i]; i++)
        name[count++] = kernel_words[i];
    for (const struct spec_family_tensor *t = f ? f->tensor : NULL; t && t->name && count < 200; t++)
        name[count++] = t->name;
    for (const char *const *s = f ? f->scalar : NULL; s && *s && count < 250; s++)
        name[count++] = *s;
    return name;
}

/* A field that nothing knows, or an operand of the family that is no tensor or scalar. */
static void unknown_field(struct reader *r, const struct key *key)
{
    const struct spec_family *f = module_family(r, reader_kernel(r)->family);
    int aside = reader_aside(r);
    if (!key->name) {
        diag_report(r->diags, DIAG_ERROR, reader_call_loc(r), reader_kernel(r)->name, NULL, "FIELD-UNKNOWN",
                    "item %lld has no name; every field of a kernel has one: A = tensor { ... }",
                    (long long)key->position);
        reader_aside_end(r, aside, false);
    } else if (family_position(f, key->name) != INT_MAX) {
        reader_fault(r, key->name, AT_VALUE, "FIELD-TYPE", "takes %s, this is %s",
                     f->scalar && family_position(f, key->name) >= family_position(f, f->scalar[0]) ? "scalar \"fp32\""
                                                                                                    : "tensor { ... }",
                     describe(r, -1));
    } else {
        const char *elsewhere = field_elsewhere(r, key->name, IN_KERNEL);
        reader_fault(r, key->name, AT_KEY, "FIELD-UNKNOWN", "there is no such field%s",
                     *elsewhere ? elsewhere : reader_suggest(r, key->name, all_names(r)));
        reader_aside_end(r, aside, false);
    }
}

/* Reads rows of the schema at once, and collects the operands. */
static void read_plain(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    const struct spec_family *f = module_family(r, k->family);
    struct operand operand[MOST_OPERANDS];
    int count, operands = 0;
    struct key *key = sorted_keys(r, table, &count);
    for (int i = 0; i < count; i++) {
        if (key[i].name && k->program && is_axis_field(key[i].name))
            continue; /* read_program_axes */
        int aside = reader_aside(r);
        if (key[i].name && read_field(r, table, key[i].name, "", &k->fields, false)) {
            reader_aside_end(r, aside, false);
            continue;
        }
        if (key[i].name && is_other(key[i].name))
            continue;
        if (key[i].name)
            lua_getfield(L, table, key[i].name);
        else
            lua_rawgeti(L, table, key[i].position);
        bool tensor = luaL_testudata(L, -1, TYPE_TENSOR) != NULL;
        bool function = key[i].name && lua_isfunction(L, -1) && module_has_function(r, k->family, key[i].name);
        if (function)
            (void)0; /* the program calls it */
        else if (key[i].name && module_has_constant(r, key[i].name))
            module_constant(r, key[i].name);
        else if (!key[i].name || (!tensor && !luaL_testudata(L, -1, TYPE_SCALAR)))
            unknown_field(r, &key[i]);
        else if (operands == MOST_OPERANDS)
            luaL_error(L, "a kernel has at most %d tensors and scalars", MOST_OPERANDS);
        else
            operand[operands++] = (struct operand){key[i].name, family_position(f, key[i].name),
                                                   reader_locate(r, key[i].name, AT_KEY), tensor};
        lua_pop(L, 1);
    }
    qsort(operand, (size_t)operands, sizeof *operand, compare_operands);
    for (int i = 0; i < operands; i++) {
        lua_getfield(L, table, operand[i].name);
        if (operand[i].tensor)
            read_tensor(r, operand[i].name);
        else
            read_scalar(r, operand[i].name);
        lua_pop(L, 1);
    }
}

/* ---- arch, tune ------------------------------------------------------------------------------------------------ */

/* The fields in the table on top of the stack, which stands at `prefix`. */
static void read_overrides(struct reader *r, const char *prefix, struct spec_fields *out, bool lists)
{
    int table = lua_gettop(r->L), count;
    struct key *key = sorted_keys(r, table, &count);
    for (int i = 0; i < count; i++) {
        if (key[i].name && reader_kernel(r)->program && is_axis_field(key[i].name))
            continue; /* read_program_axes, read_program */
        if (key[i].name && read_field(r, table, key[i].name, prefix, out, lists))
            continue;
        const char *path = key[i].name ? arena_format(r->arena, "%s%s", prefix, key[i].name)
                                       : arena_format(r->arena, "%.*s[%lld]", (int)strlen(prefix) - 1, prefix,
                                                      (long long)key[i].position);
        reader_check(r, path);
        const char **known = field_names(r), *more = "";
        if (key[i].name) {
            lua_getfield(r->L, table, key[i].name);
            more = field_elsewhere(r, key[i].name, IN_ARCH);
            lua_settop(r->L, table);
        }
        reader_fault(r, path, AT_KEY, "FIELD-UNKNOWN", "there is no such field here%s",
                     *more || !key[i].name ? more : reader_suggest(r, key[i].name, known));
    }
}

/* The known one that is meant: of a name that is an architecture's the one for the same devices, else one that is
 * spelled nearly so; NULL. */
static const char *near_architecture(const char *name, const char *const *known)
{
    struct tw_architecture_name wanted, have;
    if (tw_architecture_parse(name, &wanted) != 0)
        return diag_suggest(name, known);
    for (; *known; known++)
        if (tw_architecture_parse(*known, &have) == 0 && have.number == wanted.number)
            return *known;
    return NULL;
}

static void read_arch(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int count, type = lua_getfield(L, table, "arch"), arch = lua_gettop(L);
    const char *const *known = r->options->arch;
    if (type != LUA_TTABLE) {
        if (type != LUA_TNIL)
            reader_fault(r, "arch", AT_VALUE, "FIELD-TYPE",
                         "takes a table: arch = { sm_90a = {}, sm_80 = { ... } }, "
                         "this is %s",
                         describe(r, arch));
        lua_pop(L, 1);
        return;
    }
    int aside = reader_aside(r);
    bool meant[64] = {false}; /* by a name that is near, or in a list */
    struct key *key = sorted_keys(r, arch, &count);
    for (int i = 0; i < count; i++) {
        int hit = 0;
        const char *const suggested[] = {key[i].name ? near_architecture(key[i].name, known) : NULL, NULL};
        for (int n = 0; key[i].name && known[n]; n++)
            hit |= strcmp(known[n], key[i].name) == 0;
        for (int n = 0; known[n] && n < 64; n++)
            meant[n] |= !hit && suggested[0] == known[n];
        const char *path = key[i].name ? arena_format(r->arena, "arch.%s", key[i].name)
                                       : arena_format(r->arena, "arch[%lld]", (long long)key[i].position);
        reader_check(r, path);
        const char *near = key[i].name ? reader_suggest(r, key[i].name, suggested) : "";
        const char *listed = NULL, *elsewhere = "";
        if (key[i].name && !hit) {
            lua_getfield(L, arch, key[i].name);
            elsewhere = field_elsewhere(r, key[i].name, IN_ARCH);
            lua_settop(L, arch);
        }
        if (!key[i].name) { /* arch = { "sm_90a" } */
            lua_rawgeti(L, arch, key[i].position);
            for (int n = 0; known[n]; n++)
                if (lua_type(L, -1) == LUA_TSTRING && strcmp(known[n], lua_tostring(L, -1)) == 0) {
                    listed = known[n];
                    meant[n] = true;
                }
            lua_settop(L, arch);
        }
        if (listed)
            reader_fault(
                r, path, AT_VALUE, "FIELD-TYPE",
                "architectures are keys, with the fields that differ as their values; write arch = { %s = {} }",
                listed);
        else if (!hit && *near)
            reader_fault(r, path, AT_KEY, "ARCH-UNKNOWN", "there is no such architecture%s", near);
        else if (!hit)
            reader_fault(r, path, AT_KEY, "ARCH-UNKNOWN", "there is no such architecture; there are %s%s",
                         reader_list(r, known, " and "), elsewhere);
    }
    /* Where none is known or meant, what else is wrong is told of all. */
    for (int n = 0; known[n]; n++) {
        int kind = lua_getfield(L, arch, known[n]);
        const char *path = arena_format(r->arena, "arch.%s", known[n]);
        const char *prefix = arena_format(r->arena, "arch.%s.", known[n]);
        reader_check(r, path);
        reader_check(r, prefix);
        if (kind == LUA_TTABLE || (kind == LUA_TNIL && meant[n])) {
            struct spec_arch *grown = arena_grow(r->arena, k->arch, k->arch_count, sizeof *grown);
            reader_check(r, grown);
            k->arch = grown;
            k->arch[k->arch_count++] = (struct spec_arch){.name = known[n], .loc = reader_locate(r, path, AT_KEY)};
            if (kind == LUA_TTABLE)
                read_overrides(r, prefix, &k->arch[k->arch_count - 1].fields, false);
        } else if (kind != LUA_TNIL) {
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE",
                         "takes a table of fields, {} where nothing differs, this is %s", describe(r, -1));
        }
        lua_settop(L, arch);
    }
    if (count == 0)
        reader_fault(r, "arch", AT_VALUE, "FIELD-TYPE", "names no architecture; write arch = { %s = {} }", known[0]);
    reader_aside_end(r, aside, false);
    lua_pop(L, 1);
}

static void read_tune(struct reader *r, int table)
{
    struct spec_fields unused;
    int aside = reader_aside(r), type = lua_getfield(r->L, table, "tune");
    if (type == LUA_TTABLE)
        read_overrides(r, "tune.", &unused, true);
    else if (type != LUA_TNIL)
        reader_fault(r, "tune", AT_VALUE, "FIELD-TYPE",
                     "takes a table: tune = { tile = { n = { 128, 256 } } }, this is "
                     "%s",
                     describe(r, -1));
    reader_aside_end(r, aside, false);
    lua_pop(r->L, 1);
}

/* ---- run, bench ------------------------------------------------------------------------------------------------ */

void used_dims(const struct spec_kernel *k, bool *used)
{
    for (int i = 0; i < k->shape.count; i++)
        if (k->shape.node[i].op == EXPR_SYMBOL)
            used[k->shape.node[i].integer] = true;
    for (int i = 0; k->program && i < k->graph.count; i++)
        if (k->graph.node[i].op == EXPR_SYMBOL)
            used[k->graph.node[i].integer] = true;
}

/* One set of sizes, on top of the stack. */
static void read_size(struct reader *r, const char *path, struct spec_sizes *out)
{
    lua_State *L = r->L;
    int table = lua_gettop(L), count, dims = r->spec->dim_count;
    bool used[MOST_DIMS] = {false}, given[MOST_DIMS] = {false};
    const char *known[MOST_DIMS + 1] = {0};
    out->value = arena_alloc(r->arena, MOST_DIMS * sizeof *out->value);
    reader_check(r, out->value);
    out->loc = reader_locate(r, path, AT_VALUE);
    for (int d = 0; d < MOST_DIMS; d++)
        out->value[d] = -1;
    for (int d = 0; d < dims; d++)
        known[d] = r->spec->dim[d].name;
    struct key *key = sorted_keys(r, table, &count);
    for (int i = 0; i < count; i++) {
        const char *inner = key[i].name ? arena_format(r->arena, "%s.%s", path, key[i].name)
                                        : arena_format(r->arena, "%s[%lld]", path, (long long)key[i].position);
        int dim = -1;
        int64_t value = 0;
        reader_check(r, inner);
        for (int d = 0; key[i].name && d < dims; d++)
            if (strcmp(known[d], key[i].name) == 0)
                dim = d;
        if (dim < 0) {
            const char *near = key[i].name ? reader_suggest(r, key[i].name, known) : "";
            reader_fault(r, inner, AT_KEY, "SIZE-DIM", "there is no such dim%s%s", near,
                         *near  ? ""
                         : dims ? arena_format(r->arena, "; there are %s", reader_list(r, known, " and "))
                                : "; the spec has none");
            continue;
        }
        lua_getfield(L, table, key[i].name);
        int64_t multiple = r->spec->dim[dim].multiple;
        bool whole = exact_integer(L, -1, &value);
        if (!whole)
            reader_fault(r, inner, AT_VALUE, "FIELD-TYPE", "takes a whole number, this is %s", describe(r, -1));
        else if (value < 0 || value > SPEC_MAX_EXTENT)
            reader_fault(r, inner, AT_VALUE, "FIELD-RANGE", "%lld is no extent; write 0 to 2^%d", (long long)value,
                         SPEC_EXTENT_BITS);
        else if (value % multiple)
            reader_fault(r, inner, AT_VALUE, "SIZE-MULTIPLE",
                         "%lld is no multiple of %lld, which dims \"%s%%%lld\" "
                         "states; write %lld",
                         (long long)value, (long long)multiple, known[dim], (long long)multiple,
                         (long long)((value / multiple + 1) * multiple));
        out->value[dim] = value;
        given[dim] = true;
        lua_pop(L, 1);
    }
    used_dims(reader_kernel(r), used);
    for (int d = 0; d < dims; d++)
        if (used[d] && !given[d])
            reader_fault(r, path, AT_VALUE, "SIZE-MISSING", "gives no value to dim %s, which the kernel has", known[d]);
}

static void read_sizes(struct reader *r, int table, const char *field, struct spec_sizes **list, int *count)
{
    lua_State *L = r->L;
    int type = lua_getfield(L, table, field), keys;
    bool fits = type == LUA_TTABLE;
    lua_Integer n = fits ? (lua_Integer)lua_rawlen(L, -1) : 0;
    struct key *key = fits ? sorted_keys(r, lua_gettop(L), &keys) : NULL;
    fits = fits && keys == n && n <= 10000;
    for (int i = 0; key && i < keys; i++)
        fits &= key[i].name == NULL;
    if (type != LUA_TNIL && !fits)
        reader_fault(r, field, AT_VALUE, "FIELD-TYPE", "takes a list of sizes: %s = { { M = 256, N = 512 } }%s%s",
                     field, type == LUA_TTABLE ? "" : ", this is ", type == LUA_TTABLE ? "" : describe(r, -1));
    for (lua_Integer i = 1; fits && i <= n; i++) {
        const char *path = arena_format(r->arena, "%s[%lld]", field, (long long)i);
        struct spec_sizes *grown = arena_grow(r->arena, *list, *count, sizeof *grown);
        reader_check(r, path);
        reader_check(r, grown);
        *list = grown;
        if (lua_rawgeti(L, -1, i) == LUA_TTABLE)
            read_size(r, path, &(*list)[(*count)++]);
        else
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a table such as { M = 256, N = 512 }, this is %s",
                         describe(r, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* ---- a user's own kernel --------------------------------------------------------------------------------------- */

/* One ring, on top of the stack: { "x", "y", stages = 2 }. */
static void read_ring(struct reader *r, const char *path, struct spec_ring *ring)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int table = lua_gettop(L), count;
    int64_t stages = 0;
    ring->loc = reader_locate(r, path, AT_VALUE);
    ring->stages = 1;
    struct key *key = sorted_keys(r, table, &count);
    for (int i = 0; i < count; i++) {
        const char *inner = key[i].name ? arena_format(r->arena, "%s.%s", path, key[i].name)
                                        : arena_format(r->arena, "%s[%lld]", path, (long long)key[i].position);
        reader_check(r, inner);
        if (key[i].name && strcmp(key[i].name, "stages") == 0) {
            lua_getfield(L, table, "stages");
            if (exact_integer(L, -1, &stages) && stages >= 1 && stages <= 32)
                ring->stages = (int)stages;
            else
                reader_fault(r, inner, AT_VALUE, "FIELD-RANGE", "takes a whole number from 1 to 32, this is %s",
                             describe(r, -1));
        } else if (key[i].name) {
            reader_fault(r, inner, AT_KEY, "FIELD-UNKNOWN", "a ring has no such field; it has tensors and stages");
            continue;
        } else {
            int tensor = -1;
            lua_rawgeti(L, table, key[i].position);
            const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
            for (int t = 0; t < k->tensor_count; t++)
                if (strcmp(k->tensor[t].name, name) == 0)
                    tensor = t;
            if (tensor < 0)
                reader_fault(r, inner, AT_VALUE, "RING-TENSOR", "takes the name of a tensor of the kernel, this is %s",
                             describe(r, -1));
            else if (ring->tensor_count == 8)
                reader_fault(r, inner, AT_VALUE, "RING-TENSOR", "a ring holds at most 8 tensors");
            else
                ring->tensor[ring->tensor_count++] = tensor;
        }
        lua_settop(L, table);
    }
    if (lua_rawlen(L, table) == 0)
        reader_fault(r, path, AT_VALUE, "RING-TENSOR", "names no tensor; write { \"x\", stages = 2 }");
}

static void read_rings(struct reader *r, int table)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int type = lua_getfield(L, table, "rings");
    lua_Integer n = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 0;
    if (type != LUA_TNIL && (n < 1 || n > 16))
        reader_fault(r, "rings", AT_VALUE, "FIELD-TYPE", "takes a list of rings: rings = { { \"x\", stages = 2 } }");
    for (lua_Integer i = 1; i <= n && n <= 16; i++) {
        const char *path = arena_format(r->arena, "rings[%lld]", (long long)i);
        struct spec_ring *grown = arena_grow(r->arena, k->ring, k->ring_count, sizeof *grown);
        reader_check(r, path);
        reader_check(r, grown);
        k->ring = grown;
        k->ring[k->ring_count] = (struct spec_ring){0};
        if (lua_rawgeti(L, -1, i) == LUA_TTABLE)
            read_ring(r, path, &k->ring[k->ring_count++]);
        else
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a table such as { \"x\", stages = 2 }, this is %s",
                         describe(r, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_grid(struct reader *r, int table)
{
    static const int64_t most[3] = {2147483647, 65535, 65535}; /* gridDim in x, y, z */
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int type = lua_getfield(L, table, "grid");
    lua_Integer n = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 0;
    if (type == LUA_TNIL)
        reader_fault(r, "", AT_KEY, "KERNEL-GRID",
                     "a kernel with its own template needs a grid; write grid = { ... }, "
                     "blocks in x, y, z");
    else if (n < 1 || n > 3)
        reader_fault(r, "grid", AT_VALUE, "FIELD-TYPE",
                     "takes a list of 1 to 3 expressions of dims: grid = { M // 128 }");
    for (int i = 0; i < (int)n && n <= 3; i++) {
        const char *path = arena_format(r->arena, "grid[%d]", i + 1), *what;
        int64_t value;
        reader_check(r, path);
        lua_rawgeti(L, -1, i + 1);
        k->grid[i] = shape_node(r, -1, &what);
        if (k->grid[i] < 0)
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a whole number or an expression of dims, this is %s",
                         what);
        else if (expr_is_int(&k->shape, k->grid[i], &value) && (value < 1 || value > most[i]))
            reader_fault(r, path, AT_VALUE, "FIELD-RANGE", "%lld is no number of blocks; write 1 to %lld",
                         (long long)value, (long long)most[i]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_reference(struct reader *r, int table)
{
    int type = lua_getfield(r->L, table, "reference");
    if (type == LUA_TFUNCTION) {
        reader_kernel(r)->lua_reference = luaL_ref(r->L, LUA_REGISTRYINDEX);
        return;
    }
    if (type != LUA_TNIL)
        reader_fault(r, "reference", AT_VALUE, "FIELD-TYPE", "takes a function(t, n), this is %s", describe(r, -1));
    lua_pop(r->L, 1);
}

/* Fields that the kernel's kind does not have. */
static void refuse_fields(struct reader *r, int table, const char *const *field, const char *why)
{
    int aside = reader_aside(r);
    for (; *field; field++) {
        if (lua_getfield(r->L, table, *field) != LUA_TNIL)
            reader_fault(r, *field, AT_KEY, "FIELD-UNKNOWN", "%s", why);
        lua_pop(r->L, 1);
    }
    reader_aside_end(r, aside, false);
}

void read_kernel(struct reader *r, int table)
{
    static const char *const of_families[] = {"epilogue", "axes", "ahead", "via", "direction", "cache", "split", NULL};
    static const char *const of_others[] = {"epilogue", "rings", NULL};
    struct spec_kernel *k = reader_kernel(r);
    lua_State *L = r->L;
    luaL_checkstack(L, 12, "kernel");
    read_family(r, table);
    if (!read_template(r, table)) /* of two kinds: what its fields should be is unknown */
        return;
    bool module = module_family(r, k->family) != NULL;
    if (module)
        table = apply_module(r, table);
    bool program = lua_getfield(L, table, "program") != LUA_TNIL;
    lua_pop(L, 1);
    if (program)
        read_program_axes(r, table);
    read_plain(r, table);
    check_tensors(r);
    read_arch(r, table);
    read_tune(r, table);
    if (k->template_path) {
        refuse_fields(r, table, of_families, "only a kernel of a family has it");
        read_rings(r, table);
        read_grid(r, table);
        read_reference(r, table);
        if (k->tensor_count == 0)
            reader_fault(r, "", AT_KEY, "TENSOR-MISSING", "the kernel has no tensor; write x = tensor { ... }");
    }
    if (program) {
        if (!module || !module_has_function(r, k->family, "epilogue"))
            refuse_fields(r, table, of_others, "a kernel with a program has none");
        read_program(r, table);
        read_reference(r, table);
    }
    int aside = reader_aside(r);
    read_sizes(r, table, "run", &k->run, &k->run_count);
    read_sizes(r, table, "bench", &k->bench, &k->bench_count);
    check_layouts(r);
    if (module)
        module_peer(r, table);
    else
        peer_field(r, table);
    k->meaning = module ? module_family(r, k->family)->meaning : NULL;
    reader_aside_end(r, aside, false);
    if (module)
        lua_pop(L, 1);
}
