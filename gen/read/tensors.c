/* Tensors and scalars: tensor { M, K, dtype = "bf16", ... }, scalar("fp32", 1.5), and what must hold among them. */
#include "read/read.h"

#include <stdlib.h>
#include <string.h>

#include "architecture.h"

/* Of a constant extent or stride: with it, the bytes of a row and a row's pitch stay in 64 bits. */

const char *const tensor_words[] = {"axes",     "dtype",  "fill",    "maps", "out",
                                    "pointers", "stride", "swizzle", "tile", NULL};

int split_words(struct reader *r, const char *text, const char **word, int most)
{
    int count = 0;
    for (;;) {
        text += strspn(text, " ");
        size_t n = strcspn(text, " ");
        if (n == 0 || count == most)
            return count;
        word[count] = arena_copy(r->arena, text, n);
        reader_check(r, word[count++]);
        text += n;
    }
}

/* The family's row of the tensor, or NULL. */
static const struct spec_family_tensor *family_tensor(const struct spec_family *f, const char *name)
{
    for (const struct spec_family_tensor *t = f ? f->tensor : NULL; t && t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

/* ---- the words tensor and scalar ------------------------------------------------------------------------------- */

static const char *const *dtype_names(struct reader *r)
{
    const char **name = arena_alloc(r->arena, (TW_DTYPE_COUNT + 1) * sizeof *name);
    reader_check(r, name);
    for (int i = 0; i < TW_DTYPE_COUNT; i++)
        name[i] = tw_dtype_name((enum tw_dtype)i);
    return name;
}

int make_tensor(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r)
        return luaL_error(L, "a tensor is declared in a spec, not in a reference");
    if (lua_type(L, 1) != LUA_TTABLE)
        return luaL_error(L, "tensor takes a table: tensor { M, K, dtype = \"bf16\" }, this is %s", describe(r, 1));
    struct tensor_value *t = lua_newuserdatauv(L, sizeof *t, 1);
    t->site.open = -1;
    t->site.file = sandbox_where(L, 1, &t->site.line);
    r->made_count = r->made.file == t->site.file && r->made.line == t->site.line ? r->made_count + 1 : 0;
    r->made = t->site;
    t->nth = r->made_count;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, TYPE_TENSOR);
    return 1;
}

int make_scalar(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r)
        return luaL_error(L, "a scalar is declared in a spec, not in a reference");
    if (lua_type(L, 1) != LUA_TSTRING)
        return luaL_error(L, "scalar takes a dtype: scalar \"fp32\" or scalar(\"fp32\", 1.5), this is %s",
                          describe(r, 1));
    const char *word = lua_tostring(L, 1);
    enum tw_dtype dtype = tw_dtype_from_name(word);
    if (dtype == TW_DTYPE_COUNT)
        return luaL_error(L, "there is no dtype \"%s\"%s", word, reader_suggest(r, word, dtype_names(r)));
    if (tw_dtype_info(dtype)->kind == TW_KIND_FLOAT && tw_dtype_info(dtype)->bits < 16)
        return luaL_error(L, "scalar \"%s\": no arithmetic reads one number of %s; write \"fp32\"", word, word);
    if (lua_gettop(L) > 1 && lua_type(L, 2) != LUA_TNUMBER)
        return luaL_error(L, "scalar(\"%s\", value): the value is a number, this is %s", word, describe(r, 2));
    double value = lua_gettop(L) > 1 ? lua_tonumber(L, 2) : 1;
    struct scalar_value *s = lua_newuserdatauv(L, sizeof *s, 0);
    *s = (struct scalar_value){.site.open = -1, .dtype = dtype, .value = value};
    s->site.file = sandbox_where(L, 1, &s->site.line);
    luaL_setmetatable(L, TYPE_SCALAR);
    return 1;
}

/* ---- one tensor ------------------------------------------------------------------------------------------------ */

struct item {
    struct reader *r;
    struct spec_tensor *t;
    int table; /* stack index of its fields */
    const char *name;
};

/* "A.dtype", "A[1]", "A.stride[2]" in memory of the arena. */
static const char *path_of(const struct item *i, const char *field, int position)
{
    struct arena *a = i->r->arena;
    const char *dot = *field ? "." : "";
    const char *path = position ? arena_format(a, "%s%s%s[%d]", i->name, dot, field, position)
                                : arena_format(a, "%s%s%s", i->name, dot, field);
    reader_check(i->r, path);
    return path;
}

/* The dtype in field `key`. What is none stands for the one that is near, else for bf16. */
static void read_dtype(struct item *i, const char *key)
{
    lua_State *L = i->r->L;
    const char *path = path_of(i, "dtype", 0);
    int aside = reader_aside(i->r), type = lua_getfield(L, i->table, key);
    bool near_one = false;
    i->t->dtype = TW_BF16;
    i->t->dtype_loc = reader_locate(i->r, path, AT_VALUE);
    if (type == LUA_TNIL) {
        reader_fault(i->r, i->name, AT_VALUE, "TENSOR-DTYPE", "the tensor has no dtype; write dtype = \"bf16\"");
    } else if (type != LUA_TSTRING) {
        reader_fault(i->r, path, AT_VALUE, "FIELD-TYPE", "takes a dtype such as \"bf16\", this is %s",
                     describe(i->r, -1));
    } else {
        const char *word = lua_tostring(L, -1);
        i->t->dtype = tw_dtype_from_name(word);
        if (i->t->dtype == TW_DTYPE_COUNT) {
            const char *const *known = dtype_names(i->r);
            const char *suggested = diag_suggest(word, known), *near = reader_suggest(i->r, word, known);
            if (*near)
                reader_fault(i->r, path, AT_VALUE, "FIELD-WORD", "there is no dtype \"%s\"%s", word, near);
            else
                reader_fault(i->r, path, AT_VALUE, "FIELD-WORD", "there is no dtype \"%s\"; there are %s", word,
                             reader_list(i->r, known, " and "));
            i->t->dtype = suggested ? tw_dtype_from_name(suggested) : TW_BF16;
            near_one = suggested != NULL;
        }
    }
    i->t->dtype_guessed = !near_one && i->r->diags->reported > aside;
    reader_aside_end(i->r, aside, !near_one);
    lua_pop(L, 1);
}

static void read_swizzle(struct item *i)
{
    lua_State *L = i->r->L;
    const char *path = path_of(i, "swizzle", 0), *known[TW_SWIZZLE_COUNT + 1] = {0};
    for (int s = 0; s < TW_SWIZZLE_COUNT; s++)
        known[s] = tw_swizzles[s].name;
    if (lua_getfield(L, i->table, "swizzle") != LUA_TNIL) {
        const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        for (int s = 0; word && s < TW_SWIZZLE_COUNT; s++)
            if (strcmp(word, known[s]) == 0) {
                i->t->swizzle = (enum tw_swizzle)s;
                i->t->swizzle_set = true;
                i->t->swizzle_loc = reader_locate(i->r, path, AT_VALUE);
            }
        if (!i->t->swizzle_set)
            reader_fault(i->r, path, AT_VALUE, "FIELD-WORD", "takes %s, this is %s%s", reader_list(i->r, known, " or "),
                         describe(i->r, -1), word ? reader_suggest(i->r, word, known) : "");
    }
    lua_pop(L, 1);
}

static void read_fill(struct item *i, const char *text)
{
    const char *path = path_of(i, "fill", 0), *known[FILL_WORD_COUNT + 1] = {0}, *form[FILL_WORD_COUNT + 1] = {0};
    const char *word[2];
    const struct fill_word *row = fill_word_of(text);
    if (row) {
        if (!fill_read(row, text, &i->t->fill))
            reader_fault(i->r, path, AT_VALUE, "FIELD-WORD", "\"%s\" is not understood; write %s", text, row->usage);
        return;
    }
    for (int n = 0; fill_words[n].word; n++) {
        known[n] = fill_words[n].word;
        form[n] = fill_words[n].form;
    }
    reader_fault(i->r, path, AT_VALUE, "FIELD-WORD", "there is no fill \"%s\"; write %s%s", text,
                 reader_list(i->r, form, " or "),
                 split_words(i->r, text, word, 1) ? reader_suggest(i->r, word[0], known) : "");
}

static void read_flags(struct item *i)
{
    lua_State *L = i->r->L;
    if (lua_getfield(L, i->table, "fill") == LUA_TSTRING) {
        read_fill(i, lua_tostring(L, -1));
    } else if (lua_isfunction(L, -1)) {
        lua_pushvalue(L, -1);
        i->t->lua_fill = luaL_ref(L, LUA_REGISTRYINDEX);
    } else if (!lua_isnil(L, -1)) {
        reader_fault(i->r, path_of(i, "fill", 0), AT_VALUE, "FIELD-TYPE",
                     "takes a text or a function(i, j, ..., n), this is %s", describe(i->r, -1));
    }
    if (lua_getfield(L, i->table, "out") == LUA_TBOOLEAN)
        i->t->out = lua_toboolean(L, -1);
    else if (!lua_isnil(L, -1))
        reader_fault(i->r, path_of(i, "out", 0), AT_VALUE, "FIELD-TYPE", "takes true or false, this is %s",
                     describe(i->r, -1));
    lua_pop(L, 2);
}

/* The place of an extent or stride that has a fault, for what else is wrong with the kernel: a multiple of all that is
 * asked for. */
static int stand_in(struct item *i)
{
    i->t->doubtful = true;
    return expr_int(&reader_kernel(i->r)->shape, 1 << 24);
}

/* Dims: the list part of the table. A family's tensor that has too few or too many of all is told to have another rank
 * than the family's, and then has that (read_axes). */
static void read_dims(struct item *i, bool of_family)
{
    lua_State *L = i->r->L;
    lua_Integer rank = (lua_Integer)lua_rawlen(L, i->table);
    struct expr_graph *shape = &reader_kernel(i->r)->shape;
    int aside = reader_aside(i->r);
    if (rank < 1 || rank > SPEC_MAX_RANK) {
        reader_fault(i->r, i->name, AT_VALUE, "TENSOR-RANK", "the tensor has %lld dims; write 1 to %d", (long long)rank,
                     SPEC_MAX_RANK);
        if (of_family)
            reader_aside_end(i->r, aside, false);
        return;
    }
    for (int d = 0; d < (int)rank; d++) {
        const char *path = path_of(i, "", d + 1), *what;
        int told = i->r->diags->reported;
        int64_t value;
        i->t->dim_loc[d] = reader_locate(i->r, path, AT_VALUE);
        lua_rawgeti(L, i->table, d + 1);
        i->t->dim[d] = shape_node(i->r, -1, &what);
        if (i->t->dim[d] < 0) {
            reader_fault(i->r, path, AT_VALUE, "FIELD-TYPE",
                         "a dim is a symbol of dims, a whole number or an "
                         "expression of both, this is %s",
                         what);
        } else if (expr_is_int(shape, i->t->dim[d], &value) && value < 1) {
            reader_fault(i->r, path, AT_VALUE, "FIELD-RANGE", "%lld is no extent; write 1 or more", (long long)value);
        } else if (expr_is_int(shape, i->t->dim[d], &value) && value > SPEC_MAX_EXTENT) {
            reader_fault(i->r, path, AT_VALUE, "FIELD-RANGE", "%lld is no extent; write 1 to 2^%d", (long long)value,
                         SPEC_EXTENT_BITS);
        }
        if (i->r->diags->reported > told)
            i->t->dim[d] = stand_in(i);
        lua_pop(L, 1);
    }
    i->t->rank = (int)rank;
    reader_aside_end(i->r, aside, false);
}

/* True where the field is a list of `rank` items (or one less, where `less`); left on the stack. */
static bool begin_list(struct item *i, const char *field, bool less)
{
    lua_State *L = i->r->L;
    int type = lua_getfield(L, i->table, field);
    lua_Integer n = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : -1;
    if (type == LUA_TNIL || i->t->rank == 0)
        return false;
    if (n == i->t->rank || (less && n == i->t->rank - 1))
        return true;
    reader_fault(i->r, path_of(i, field, 0), AT_VALUE, "FIELD-TYPE",
                 "takes a list of %d, one for each dim%s, this is %s", i->t->rank,
                 less ? " (the innermost, 1, may be left out)" : "",
                 n < 0 ? describe(i->r, -1) : "a list of another length");
    return false;
}

static void read_strides(struct item *i)
{
    lua_State *L = i->r->L;
    int told = i->r->diags->reported;
    for (int d = 0; d < SPEC_MAX_RANK; d++)
        i->t->stride[d] = -1;
    if (begin_list(i, "stride", true)) {
        int list = lua_gettop(L);
        for (int d = 0; d < (int)lua_rawlen(L, list); d++) {
            const char *path = path_of(i, "stride", d + 1), *what;
            int64_t value = 1;
            lua_rawgeti(L, list, d + 1);
            int node = shape_node(i->r, -1, &what);
            bool constant = expr_is_int(&reader_kernel(i->r)->shape, node, &value);
            if (node < 0)
                reader_fault(i->r, path, AT_VALUE, "FIELD-TYPE",
                             "a stride is a whole number of elements or an "
                             "expression of dims, this is %s",
                             what);
            else if (d == i->t->rank - 1 && !(constant && value == 1))
                reader_fault(i->r, path, AT_VALUE, "TENSOR-STRIDE",
                             "the innermost stride is 1: dims stand in memory "
                             "order, innermost last");
            else if (constant && value < 1)
                reader_fault(i->r, path, AT_VALUE, "FIELD-RANGE", "%lld is no stride; write 1 or more",
                             (long long)value);
            else if (constant && value > SPEC_MAX_EXTENT)
                reader_fault(i->r, path, AT_VALUE, "FIELD-RANGE", "%lld is no stride; write 1 to 2^%d",
                             (long long)value, SPEC_EXTENT_BITS);
            else if (d < i->t->rank - 1)
                i->t->stride[d] = node;
            lua_pop(L, 1);
        }
    }
    for (int d = 0; d + 1 < i->t->rank && i->r->diags->reported > told; d++)
        i->t->stride[d] = i->t->stride[d] < 0 ? stand_in(i) : i->t->stride[d];
    lua_pop(L, 1);
}

static const char *dim_text(struct reader *r, int node)
{
    const char **name = arena_alloc(r->arena, (size_t)(r->spec->dim_count + 1) * sizeof *name);
    char text[200];
    reader_check(r, name);
    for (int d = 0; d < r->spec->dim_count; d++)
        name[d] = r->spec->dim[d].name;
    expr_print_lua(&reader_kernel(r)->shape, node, name, text, sizeof text);
    const char *copy = arena_text(r->arena, text);
    reader_check(r, copy);
    return copy;
}

/* The dim that is called so: by its axis, or its size. -1: none. */
static int dim_named(const struct item *i, const char *word)
{
    const struct spec_kernel *k = reader_kernel(i->r);
    for (int d = 0; d < i->t->rank; d++)
        if ((i->t->axis[d] >= 0 && strcmp(k->axis[i->t->axis[d]], word) == 0) ||
            strcmp(dim_text(i->r, i->t->dim[d]), word) == 0)
            return d;
    return -1;
}

/* The name of the first dim that field has, which says of its slices what `what` does; NULL where there is none or it
 * is another's. */
static const char *read_first(struct item *i, const char *field, const char *rule, const char *what)
{
    const struct spec_kernel *k = reader_kernel(i->r);
    const char *path = path_of(i, field, 0);
    const char *first = i->t->axis[0] >= 0 ? k->axis[i->t->axis[0]] : dim_text(i->r, i->t->dim[0]);
    const char *word = lua_type(i->r->L, -1) == LUA_TSTRING ? lua_tostring(i->r->L, -1) : NULL;
    const int dim = word ? dim_named(i, word) : 0;
    if (!word)
        reader_fault(i->r, path, AT_VALUE, "FIELD-TYPE", "takes the name of the first dim, \"%s\", this is %s", first,
                     describe(i->r, -1));
    else if (dim < 0)
        reader_fault(i->r, path, AT_VALUE, rule, "no dim is called \"%s\"; write %s = \"%s\"", word, field, first);
    else if (dim > 0)
        reader_fault(i->r, path, AT_VALUE, rule,
                     "\"%s\" is dim %d, and it is slices along the first that have %s of their own; write %s = \"%s\"",
                     word, dim + 1, what, field, first);
    return dim == 0 ? word : NULL;
}

/* pointers = "B": what the first dim is called, at each index of which a slice has an address of its own. */
static void read_pointers(struct item *i)
{
    lua_State *L = i->r->L;
    const char *path = path_of(i, "pointers", 0);
    const bool said = lua_getfield(L, i->table, "pointers") != LUA_TNIL && i->t->rank > 0;
    const bool word = lua_type(L, -1) == LUA_TSTRING;
    if (said && word && reader_kernel(i->r)->template_path)
        reader_fault(i->r, path, AT_KEY, "TENSOR-POINTERS",
                     "a kernel with its own template reads addresses itself; write them as a tensor of int64");
    else if (said && word && i->t->rank < 2)
        reader_fault(i->r, path, AT_KEY, "TENSOR-POINTERS",
                     "the tensor has one dim, and none is left for a slice with an address of its own; leave "
                     "pointers out, or write a dim of slices before it");
    else if (said && word && i->t->rank == SPEC_MAX_RANK)
        reader_fault(i->r, path, AT_KEY, "TENSOR-POINTERS",
                     "the tensor has %d dims, and tensor maps have %d, of which an address takes two; write two of "
                     "them as one",
                     i->t->rank, SPEC_MAX_RANK);
    else if (said)
        i->t->pointers = read_first(i, "pointers", "TENSOR-POINTERS", "addresses") != NULL;
    lua_pop(L, 1);
}

/* maps = "p": what the first dim is called, a number, each index of which has a tensor map of its own. */
static void read_maps(struct item *i)
{
    enum { MAP_BYTES = 128, MOST = TW_ARCH_PARAMETER_BYTES / MAP_BYTES };
    lua_State *L = i->r->L;
    const char *path = path_of(i, "maps", 0);
    int64_t count = 0;
    if (lua_getfield(L, i->table, "maps") != LUA_TNIL && i->t->rank > 0 &&
        read_first(i, "maps", "TENSOR-MAPS", "maps")) {
        const bool constant = expr_is_int(&reader_kernel(i->r)->shape, i->t->dim[0], &count);
        if (i->t->rank < 2)
            reader_fault(i->r, path, AT_KEY, "TENSOR-MAPS",
                         "the tensor has one dim, and none is left for a slice with a map of its own; leave maps out, "
                         "or write a dim of slices before it");
        else if (i->t->pointers)
            reader_fault(i->r, path, AT_KEY, "TENSOR-MAPS",
                         "one map reaches all slices whose addresses a launch is given; take out maps, or pointers");
        else if (!constant)
            reader_fault(
                i->r, path, AT_VALUE, "TENSOR-MAPS",
                "the first dim is %s, and a kernel has a fixed number of parameters, of which each map is one; "
                "write a number there, or leave maps out: one map reaches all slices",
                dim_text(i->r, i->t->dim[0]));
        else if (count < 1 || count > MOST)
            reader_fault(i->r, path, AT_VALUE, "TENSOR-MAPS",
                         "%lld tensor maps of %d bytes, and a kernel takes %d bytes of parameters; write 1 to %d, or "
                         "leave maps out: one map reaches all slices",
                         (long long)count, MAP_BYTES, TW_ARCH_PARAMETER_BYTES, MOST);
        else {
            i->t->maps = (int)count;
            i->t->maps_loc = reader_locate(i->r, path, AT_VALUE);
        }
    }
    lua_pop(L, 1);
}

static void read_tile(struct item *i)
{
    lua_State *L = i->r->L;
    if (begin_list(i, "tile", false)) {
        int list = lua_gettop(L);
        i->t->tile_set = true;
        for (int d = 0; d < i->t->rank; d++) {
            const char *path = path_of(i, "tile", d + 1);
            int64_t value = 0;
            lua_rawgeti(L, list, d + 1);
            bool whole = exact_integer(L, -1, &value);
            if (!whole || value < 1 || value > 1 << 20)
                reader_fault(i->r, path, AT_VALUE, whole ? "FIELD-RANGE" : "FIELD-TYPE",
                             "takes a whole number from 1 to %d, this is %s", 1 << 20, describe(i->r, -1));
            else
                i->t->tile[d] = (int)value;
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

/* Position of the axis in the kernel, made where a user's kernel names it first; -1: the family has none. */
static int axis_position(struct reader *r, const char *axis)
{
    struct spec_kernel *k = reader_kernel(r);
    for (int i = 0; i < k->axis_count; i++)
        if (strcmp(k->axis[i], axis) == 0)
            return i;
    if (k->family || k->program || k->axis_count == SPEC_MAX_AXES)
        return -1;
    k->axis[k->axis_count] = axis;
    return k->axis_count++;
}

/* The dims that the family's tensor has, in the place of others, for what else is wrong with the kernel. */
static void take_rank(struct item *i, int rank)
{
    i->t->rank = rank;
    for (int d = 0; d < rank; d++) {
        i->t->dim[d] = stand_in(i);
        i->t->stride[d] = -1;
        i->t->dim_loc[d] = i->t->loc;
    }
}

/* axes = "k m"; without, the family's own order where the tensor is the family's. */
static void read_axes(struct item *i, const struct spec_family_tensor *row)
{
    struct reader *r = i->r;
    struct spec_kernel *k = reader_kernel(r);
    lua_State *L = r->L;
    const char *word[SPEC_MAX_RANK + 1], *path = path_of(i, "axes", 0), *text = row ? row->axes : NULL;
    for (int d = 0; d < SPEC_MAX_RANK; d++)
        i->t->axis[d] = -1;
    int type = lua_getfield(L, i->table, "axes");
    bool written = type == LUA_TSTRING;
    if (written)
        text = lua_tostring(L, -1);
    else if (type != LUA_TNIL)
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE",
                     "takes the axes of the dims in one text such as \"k m\", this is "
                     "%s",
                     describe(r, -1));
    int count = text ? split_words(r, text, word, SPEC_MAX_RANK + 1) : 0;
    i->t->axes_given = count > 0;
    i->t->axes_written = written;
    if (text && i->t->rank > 0 && count != i->t->rank) {
        if (written)
            reader_fault(r, path, AT_VALUE, "TENSOR-AXES", "\"%s\" names %d axes, the tensor has %d dims", text, count,
                         i->t->rank);
        else
            reader_fault(r, i->name, AT_VALUE, "TENSOR-RANK", "the tensor has %d dim%s, the family's %s has %d: \"%s\"",
                         i->t->rank, i->t->rank == 1 ? "" : "s", i->name, count, text);
        count = row ? split_words(r, row->axes, word, SPEC_MAX_RANK + 1) : 0;
        i->t->axes_written = written = written && !row;
    }
    if (row && !written && i->t->rank != count)
        take_rank(i, count);
    for (int d = 0; d < count && i->t->rank > 0; d++) {
        int axis = axis_position(r, word[d]);
        const char *known[SPEC_MAX_AXES + 1] = {0};
        memcpy(known, k->axis, (size_t)k->axis_count * sizeof *known);
        if (axis < 0)
            reader_fault(r, path, AT_VALUE, "TENSOR-AXES", "there is no axis '%s'; there are %s", word[d],
                         reader_list(r, known, " and "));
        for (int e = 0; e < d && axis >= 0; e++)
            if (i->t->axis[e] == axis) {
                reader_fault(r, path, AT_VALUE, "TENSOR-AXES", "axis '%s' stands twice", word[d]);
                axis = -1;
            }
        if (axis >= 0 && row && written) {
            const char *own[SPEC_MAX_RANK + 1];
            int n = split_words(r, row->axes, own, SPEC_MAX_RANK), hit = 0;
            for (int e = 0; e < n; e++)
                hit |= strcmp(own[e], word[d]) == 0;
            if (!hit)
                reader_fault(r, path, AT_VALUE, "TENSOR-AXES",
                             "the family's %s has no axis '%s'; it has \"%s\", in any "
                             "order",
                             i->name, word[d], row->axes);
        }
        i->t->axis[d] = axis;
    }
    lua_pop(L, 1);
}

/* Fields that no tensor has. Under which name the dtype stands: "dtype", where none of them is near it. */
static const char *check_words(struct item *i)
{
    int count;
    const char *dtype = "dtype";
    struct key *key = sorted_keys(i->r, i->table, &count);
    for (int n = 0; n < count; n++) {
        bool known =
            !key[n].name && key[n].position >= 1 && key[n].position <= (lua_Integer)lua_rawlen(i->r->L, i->table);
        for (int w = 0; key[n].name && tensor_words[w]; w++)
            known |= strcmp(key[n].name, tensor_words[w]) == 0;
        if (known)
            continue;
        const char *path = key[n].name ? path_of(i, key[n].name, 0) : path_of(i, "", (int)key[n].position);
        const char *elsewhere = "";
        if (key[n].name) {
            lua_getfield(i->r->L, i->table, key[n].name);
            elsewhere = field_elsewhere(i->r, key[n].name, IN_TENSOR);
            lua_pop(i->r->L, 1);
        }
        reader_fault(i->r, path, AT_KEY, "FIELD-UNKNOWN", "a tensor has no such field; it has %s%s",
                     reader_list(i->r, tensor_words, " and "),
                     *elsewhere || !key[n].name ? elsewhere : reader_suggest(i->r, key[n].name, tensor_words));
        const char *near = key[n].name ? diag_suggest(key[n].name, tensor_words) : NULL;
        if (near && strcmp(near, "dtype") == 0)
            dtype = key[n].name;
    }
    return dtype;
}

/* A tensor or scalar becomes a name in C beside the dims. */
static void check_operand_name(struct reader *r, const char *name)
{
    if (!is_identifier(name))
        reader_fault(r, name, AT_KEY, "TENSOR-NAME", "the name becomes one in C: letters, digits and _, no keyword");
    else if (is_taken(name))
        reader_fault(r, name, AT_KEY, "TENSOR-NAME",
                     "the text that is made of the kernel has its own %s; write another name, such as my_%s", name,
                     name);
    for (int d = 0; d < r->spec->dim_count; d++)
        if (strcmp(r->spec->dim[d].name, name) == 0)
            reader_fault(r, name, AT_KEY, "TENSOR-NAME", "the name is that of a dim; both become arguments in C");
}

void read_tensor(struct reader *r, const char *name)
{
    struct spec_kernel *k = reader_kernel(r);
    const struct spec_family_tensor *row = family_tensor(module_family(r, k->family), name);
    struct spec_tensor *grown = arena_grow(r->arena, k->tensor, k->tensor_count, sizeof *grown);
    reader_check(r, grown);
    luaL_checkstack(r->L, 8, "tensor");
    k->tensor = grown;
    struct item i = {r, &k->tensor[k->tensor_count++], 0, arena_text(r->arena, name)};
    reader_check(r, i.name);
    *i.t = (struct spec_tensor){.name = i.name, .loc = reader_locate(r, name, AT_KEY)};
    int aside = reader_aside(r);
    check_operand_name(r, name);
    reader_aside_end(r, aside, false);
    lua_getiuservalue(r->L, -1, 1);
    i.table = lua_gettop(r->L);
    aside = reader_aside(r);
    const char *dtype = check_words(&i);
    reader_aside_end(r, aside, false);
    read_dtype(&i, dtype);
    read_dims(&i, row != NULL);
    aside = reader_aside(r);
    read_strides(&i);
    reader_aside_end(r, aside, false);
    aside = reader_aside(r);
    read_axes(&i, row);
    reader_aside_end(r, aside, true);
    aside = reader_aside(r);
    read_swizzle(&i);
    read_flags(&i);
    read_pointers(&i);
    read_maps(&i);
    reader_aside_end(r, aside, false);
    read_tile(&i);
    if (i.t->tile_set && k->family)
        reader_fault(r, path_of(&i, "tile", 0), AT_KEY, "FIELD-UNKNOWN",
                     "only a kernel with its own template has it; "
                     "write tile = { ... } in the kernel");
    if (row) {
        if (i.t->out && !row->out)
            reader_fault(r, path_of(&i, "out", 0), AT_VALUE, "TENSOR-OUT", "the family reads %s", name);
        i.t->out = row->out;
        if (i.t->fill.kind == FILL_DRAWN && !i.t->lua_fill)
            i.t->lua_fill = row->lua_fill;
        i.t->read = !k->program;
    }
    if (k->template_path)
        i.t->read = true;
    lua_pop(r->L, 1);
}

void read_scalar(struct reader *r, const char *name)
{
    struct spec_kernel *k = reader_kernel(r);
    const struct scalar_value *value = lua_touserdata(r->L, -1);
    struct spec_scalar *grown = arena_grow(r->arena, k->scalar, k->scalar_count, sizeof *grown);
    reader_check(r, grown);
    k->scalar = grown;
    k->scalar[k->scalar_count] = (struct spec_scalar){arena_text(r->arena, name), value->dtype,
                                                      reader_locate(r, name, AT_KEY), value->value, false};
    reader_check(r, k->scalar[k->scalar_count].name);
    check_operand_name(r, name);
    struct spec_scalar *s = &k->scalar[k->scalar_count++];
    s->read |= k->template_path != NULL;
}

/* ---- all tensors ----------------------------------------------------------------------------------------------- */

/* A tensor A also has the parameters A_map, A_stride, A_stride0, ..., and in C macros such as A_map_image: no other
 * operand is called so. */
static void check_parameter_name(struct reader *r, const char *name)
{
    const struct spec_kernel *k = reader_kernel(r);
    for (int i = 0; i < k->tensor_count; i++) {
        const char *tensor = k->tensor[i].name;
        size_t n = strlen(tensor);
        const char *rest = name + n;
        if (strncmp(name, tensor, n) != 0)
            continue;
        bool stride = strncmp(rest, "_stride", 7) == 0 && !rest[7 + strspn(rest + 7, "0123456789")];
        bool map = strncmp(rest, "_map", 4) == 0 && (!rest[4] || rest[4] == '_');
        if (stride || map)
            reader_fault(r, name, AT_KEY, "TENSOR-NAME",
                         "the name is that of a parameter of tensor %s; write another name, such as my_%s", tensor,
                         name);
    }
}

/* Types that the emitted text has for a tensor: bias_two. The entry point stands beside them. */
static void check_kernel_name(struct reader *r)
{
    static const char *const types[] = {"_fragments", "_line", "_place", "_position", "_two", "_vector"};
    const struct spec_kernel *k = reader_kernel(r);
    for (int i = 0; i < k->tensor_count; i++) {
        size_t n = strlen(k->tensor[i].name);
        for (size_t t = 0; t < sizeof types / sizeof *types && strncmp(k->name, k->tensor[i].name, n) == 0; t++)
            if (strcmp(k->name + n, types[t]) == 0)
                reader_fault(r, "", AT_KEY, "KERNEL-NAME",
                             "the text that is made of tensor %s has its own %s; write another name, such as my_%s",
                             k->tensor[i].name, k->name, k->name);
    }
}

static void check_parameter_names(struct reader *r)
{
    const struct spec_kernel *k = reader_kernel(r);
    for (int i = 0; i < k->tensor_count; i++)
        check_parameter_name(r, k->tensor[i].name);
    for (int i = 0; i < k->scalar_count; i++)
        check_parameter_name(r, k->scalar[i].name);
    bool used[MOST_DIMS] = {false};
    used_dims(k, used);
    for (int d = 0; d < r->spec->dim_count; d++)
        if (used[d])
            check_parameter_name(r, r->spec->dim[d].name);
    check_kernel_name(r);
}

void check_tensors(struct reader *r)
{
    struct spec_kernel *k = reader_kernel(r);
    const struct spec_family *f = module_family(r, k->family);
    lua_rawgeti(r->L, LUA_REGISTRYINDEX, r->draft[r->now].table);
    for (const struct spec_family_tensor *row = f ? f->tensor : NULL; row && row->name; row++) {
        bool written = lua_getfield(r->L, -1, row->name) != LUA_TNIL; /* what is no tensor was told of */
        lua_pop(r->L, 1);
        if (row->required && !written)
            reader_fault(r, "", AT_KEY, "TENSOR-MISSING",
                         "family \"%s\" needs tensor %s; write %s = tensor { ..., dtype "
                         "= \"bf16\" } with the dims of \"%s\"",
                         f->name, row->name, row->name, row->axes);
    }
    lua_pop(r->L, 1);
    int aside = reader_aside(r);
    check_parameter_names(r);
    reader_aside_end(r, aside, false);
    aside = reader_aside(r);
    if (f)
        infer_family_axes(r, f);
    int owner[SPEC_MAX_AXES], dim[SPEC_MAX_AXES]; /* the first tensor that has the axis, and in which dim */
    for (int a = 0; a < SPEC_MAX_AXES; a++)
        owner[a] = -1;
    for (int i = 0; i < k->tensor_count; i++)
        for (int d = 0; d < k->tensor[i].rank; d++) {
            struct spec_tensor *t = &k->tensor[i];
            int axis = t->axis[d];
            if (axis < 0)
                continue;
            if (owner[axis] < 0) {
                owner[axis] = i;
                dim[axis] = d;
                continue;
            }
            const struct spec_tensor *o = &k->tensor[owner[axis]];
            if (t->dim[d] == o->dim[dim[axis]] || t->doubtful || o->doubtful)
                continue;
            char path[140];
            snprintf(path, sizeof path, "%s[%d]", t->name, d + 1);
            reader_fault(r, path, AT_VALUE, "TENSOR-EXTENT",
                         "axis %s is %s here and %s in %s; write the same extent in "
                         "both",
                         k->axis[axis], dim_text(r, t->dim[d]), dim_text(r, o->dim[dim[axis]]), o->name);
        }
    reader_aside_end(r, aside, true);
}
