/* The fields of a kernel with a program that are no rows of the schema: axes, tile and cluster by axis, grid, ahead,
 * via, direction, cache and split. */
#include "read/trace.h"

#include <ctype.h>
#include <string.h>

#include "program/any_order.h"

/* ---- axes ------------------------------------------------------------------------------------------------------ */

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

int trace_axis(const struct spec_kernel *k, const char *name)
{
    for (int i = 0; name && i < k->axis_count; i++)
        if (strcmp(k->axis[i], name) == 0)
            return i;
    return -1;
}

/* The axis that an entry of tile, cluster or grid names; -1: told that there is none. */
static int entry_axis(struct reader *r, const char *field, const struct key *key, const char **path)
{
    const struct spec_kernel *k = reader_kernel(r);
    const char *known[SPEC_MAX_AXES + 1] = {0};
    int axis = trace_axis(k, key->name), aside = reader_aside(r);
    memcpy(known, k->axis, (size_t)k->axis_count * sizeof *known);
    *path = key->name ? arena_format(r->arena, "%s.%s", field, key->name)
                      : arena_format(r->arena, "%s[%lld]", field, (long long)key->position);
    reader_check(r, *path);
    if (axis < 0 && k->axis_count) {
        const char *elsewhere = "";
        if (key->name) {
            lua_getfield(r->L, -1, key->name);
            elsewhere = field_elsewhere(r, key->name, IN_TABLE);
            lua_pop(r->L, 1);
        }
        reader_fault(r, *path, AT_KEY, "PROGRAM-AXES", "there is no such axis; there are %s%s",
                     reader_list(r, known, " and "),
                     *elsewhere || !key->name ? elsewhere : reader_suggest(r, key->name, known));
        if (strcmp(field, "grid") != 0) /* without an extent it cannot be traced */
            reader_aside_end(r, aside, false);
    }
    return axis;
}

/* ---- tile and cluster ------------------------------------------------------------------------------------------ */

static const struct axis_field {
    const char *name;
    int most;
    const char *form;
} axis_fields[] = {
    [SPEC_TILE] = {"tile", 1 << 20, "tile = { r = 64 }"}, [SPEC_CLUSTER] = {"cluster", 8, "cluster = { r = 2 }"}};

const char *const axis_field_names[] = {"tile", "cluster", NULL};

bool is_axis_field(const char *name)
{
    return strcmp(name, axis_field_names[0]) == 0 || strcmp(name, axis_field_names[1]) == 0;
}

/* The value on top of the stack; 0: told that it is none. */
static int read_axis_value(struct reader *r, const struct axis_field *f, const char *path)
{
    int64_t value = 0;
    if (!exact_integer(r->L, -1, &value))
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a whole number, this is %s", describe(r, -1));
    else if (value < 1 || value > f->most)
        reader_fault(r, path, AT_VALUE, "FIELD-RANGE", "%lld is out of range; write 1 to %d", (long long)value,
                     f->most);
    else
        return (int)value;
    return 0;
}

/* tune: a list of values on top of the stack, or one. */
static void read_axis_list(struct reader *r, enum spec_axis_field which, int axis, const char *path)
{
    struct spec_kernel *k = reader_kernel(r);
    struct spec_axis_tune tune = {.field = which, .axis = axis};
    lua_State *L = r->L;
    bool list = lua_istable(L, -1);
    lua_Integer count = list ? (lua_Integer)lua_rawlen(L, -1) : 1;
    if (count == 0 || count > 1000) {
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a list of values to try, 1 to 1000 of them");
        return;
    }
    tune.value = arena_alloc(r->arena, (size_t)count * sizeof *tune.value);
    tune.loc = arena_alloc(r->arena, (size_t)count * sizeof *tune.loc);
    reader_check(r, tune.value);
    tune.path = arena_alloc(r->arena, (size_t)count * sizeof *tune.path);
    reader_check(r, tune.loc);
    reader_check(r, tune.path);
    for (lua_Integer i = 1; i <= count; i++) {
        const char *item = list ? arena_format(r->arena, "%s[%lld]", path, (long long)i) : path;
        reader_check(r, item);
        if (list)
            lua_rawgeti(L, -1, i);
        int value = read_axis_value(r, &axis_fields[which], item);
        tune.value[tune.count] = value;
        tune.path[tune.count] = item;
        tune.loc[tune.count] = reader_locate(r, item, AT_VALUE);
        tune.count += value != 0;
        if (list)
            lua_pop(L, 1);
    }
    struct spec_axis_tune *grown = arena_grow(r->arena, k->axis_tune, k->axis_tune_count, sizeof *grown);
    reader_check(r, grown);
    k->axis_tune = grown;
    k->axis_tune[k->axis_tune_count++] = tune;
}

/* Reads the field from the table on top of the stack, whose own path is `prefix`. p NULL: lists, for tune. True: it is
 * there. */
static bool read_axis_field(struct reader *r, enum spec_axis_field which, const char *prefix, struct program *p)
{
    lua_State *L = r->L;
    const struct axis_field *f = &axis_fields[which];
    const char *own = arena_format(r->arena, "%s%s", prefix, f->name), *path;
    reader_check(r, own);
    int type = lua_getfield(L, -1, f->name), count = 0;
    if (type != LUA_TNIL && type != LUA_TTABLE)
        reader_fault(r, own, AT_VALUE, "FIELD-TYPE", "takes a table by axis, this is %s; write %s", describe(r, -1),
                     f->form);
    struct key *key = type == LUA_TTABLE ? sorted_keys(r, lua_gettop(L), &count) : NULL;
    for (int i = 0; i < count; i++) {
        int axis = entry_axis(r, own, &key[i], &path), value;
        if (axis < 0)
            continue;
        int aside = reader_aside(r);
        lua_getfield(L, -1, key[i].name);
        if (!p) {
            read_axis_list(r, which, axis, path);
        } else if ((value = read_axis_value(r, f, path)) != 0) {
            *(which == SPEC_TILE ? &p->axis[axis].tile : &p->axis[axis].cluster) = value;
            p->axis[axis].chosen &= which != SPEC_TILE;
            *(which == SPEC_TILE ? &p->axis[axis].tile_loc : &p->axis[axis].cluster_loc) =
                reader_locate(r, path, AT_VALUE);
        }
        if (!p || which == SPEC_CLUSTER)
            reader_aside_end(r, aside, false);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return type != LUA_TNIL;
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
    lua_pushvalue(L, table);
    read_axis_field(r, SPEC_TILE, "", p);
    read_axis_field(r, SPEC_CLUSTER, "", p);
    lua_pop(L, 1);
    if (lua_getfield(L, table, "tune") == LUA_TTABLE) {
        read_axis_field(r, SPEC_TILE, "tune.", NULL);
        read_axis_field(r, SPEC_CLUSTER, "tune.", NULL);
    }
    lua_pop(L, 1);
}

bool trace_arch_fields(struct reader *r, int table, const char *arch, struct program *p)
{
    lua_State *L = r->L;
    bool differs = false;
    const char *prefix = arena_format(r->arena, "arch.%s.", arch);
    reader_check(r, prefix);
    const struct program *own = reader_kernel(r)->program;
    for (int i = 0; i < p->axis_count; i++)
        p->axis[i].tile = own->axis[i].chosen ? 0 : own->axis[i].tile;
    if (lua_getfield(L, table, "arch") == LUA_TTABLE && lua_getfield(L, -1, arch) == LUA_TTABLE) {
        differs = read_axis_field(r, SPEC_TILE, prefix, p);
        differs |= read_axis_field(r, SPEC_CLUSTER, prefix, p);
    }
    module_sizes(r, arch, p, &reader_kernel(r)->choices);
    for (int i = 0; i < p->axis_count; i++)
        differs |= p->axis[i].tile != own->axis[i].tile;
    return differs;
}

/* ---- grid ------------------------------------------------------------------------------------------------------ */

int trace_known_extent(struct reader *r, int axis)
{
    struct spec_kernel *k = reader_kernel(r);
    if (k->program->axis[axis].extent >= 0)
        return k->program->axis[axis].extent;
    for (int i = 0; i < k->tensor_count; i++)
        for (int d = 0; d < k->tensor[i].rank; d++)
            if (k->tensor[i].axis[d] == axis && k->tensor[i].dim[d] >= 0)
                return made(r, expr_import(&k->graph, &k->shape, k->tensor[i].dim[d]));
    return -1;
}

/* grid = "m n": extents of the tensors that have those axes. */
static void grid_of_axes(struct reader *r, const char *text)
{
    struct spec_kernel *k = reader_kernel(r);
    const char *word[SPEC_MAX_AXES];
    int count = split_words(r, text, word, SPEC_MAX_AXES);
    if (r->diags->reported != r->draft[r->now].reported)
        return; /* of tensors with faults, extents are unknown */
    trace_infer_axes(r);
    if (count == 0)
        reader_fault(r, "grid", AT_VALUE, "KERNEL-GRID", "names no axis; write grid = { r = R }");
    for (int i = 0; i < count; i++) {
        int axis = trace_axis(k, word[i]), node = axis >= 0 ? trace_known_extent(r, axis) : -1;
        if (node >= 0)
            k->program->axis[axis].extent = node;
        else
            reader_fault(r, "grid", AT_VALUE, "KERNEL-GRID",
                         "no tensor has an axis '%s'; write axes = \"%s ...\" in one, or grid = { %s = EXTENT }",
                         word[i], word[i], word[i]);
    }
}

/* Of a family's kernel, an axis of grid = { ... } is one whose extent the family leaves to it. */
static bool may_say(struct reader *r, const struct spec_family *family, int axis, const char *path)
{
    const char *word[SPEC_MAX_AXES + 1] = {0}, *name = reader_kernel(r)->axis[axis];
    int count = family ? split_words(r, family->extents, word, SPEC_MAX_AXES) : 0;
    for (int i = 0; i < count; i++)
        if (strcmp(word[i], name) == 0)
            return true;
    if (family)
        reader_fault(r, path, AT_KEY, "KERNEL-GRID",
                     "family \"%s\" leaves the extents of %s alone to a kernel; take it out", family->name,
                     reader_list(r, word, " and "));
    return !family;
}

void trace_grid(struct reader *r, int table)
{
    const struct spec_family *family = module_family(r, reader_kernel(r)->family);
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int type = lua_getfield(L, table, "grid"), count = 0;
    if (type == LUA_TSTRING)
        grid_of_axes(r, lua_tostring(L, -1));
    else if (type != LUA_TTABLE)
        reader_fault(
            r, type == LUA_TNIL ? "program" : "grid", type == LUA_TNIL ? AT_KEY : AT_VALUE, "KERNEL-GRID",
            "a program needs the extents over which its items run, by axis, this is %s; write grid = { r = R }, or "
            "the axes, grid = \"r\", where tensors have them",
            describe(r, -1));
    struct key *key = type == LUA_TTABLE ? sorted_keys(r, lua_gettop(L), &count) : NULL;
    if (type == LUA_TTABLE && count == 0)
        reader_fault(r, "grid", AT_VALUE, "KERNEL-GRID", "names no axis; write grid = { r = R }");
    for (int i = 0; i < count; i++) {
        const char *path, *what;
        int64_t value;
        int axis = entry_axis(r, "grid", &key[i], &path);
        if (axis < 0 || !may_say(r, family, axis, path))
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
    if (family && type == LUA_TTABLE)
        grid_of_axes(r, family->grid);
    lua_pop(L, 1);
}

/* ---- axes of dims that name none ------------------------------------------------------------------------------- */

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

void trace_infer_axes(struct reader *r)
{
    struct spec_kernel *k = reader_kernel(r);
    int extent[SPEC_MAX_AXES];
    for (int a = 0; a < k->axis_count; a++)
        extent[a] = trace_known_extent(r, a);
    for (int i = 0; i < k->tensor_count; i++) {
        struct spec_tensor *t = &k->tensor[i];
        bool taken[SPEC_MAX_AXES] = {false};
        for (int d = 0; d < t->rank; d++)
            if (t->axis[d] >= 0)
                taken[t->axis[d]] = true;
        for (int d = 0; d < t->rank; d++) {
            if (t->axis[d] >= 0)
                continue;
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

/* ---- ahead, via, direction, cache and split ---------------------------------------------------------------------- */

/* The operation of that name, or of none: told, with those that there are. */
static const struct program_op *named(struct reader *r, const char *name, const char *path, enum point point)
{
    const struct program *p = reader_kernel(r)->program;
    const char **known = arena_alloc(r->arena, (size_t)(p->op_count + 1) * sizeof *known);
    int count = 0;
    reader_check(r, known);
    for (int i = 0; i < p->op_count; i++) {
        if (!p->op[i].name || p->op[i].kind == PROGRAM_LOOP)
            continue;
        if (name && strcmp(p->op[i].name, name) == 0)
            return &p->op[i];
        known[count++] = p->op[i].name;
    }
    reader_fault(r, path, point, "PROGRAM-NAME",
                 "no operation of the program has that name%s%s; write :as \"%s\" behind it",
                 count ? "; named are " : "", reader_list(r, known, " and "), name && *name ? name : "s");
    return NULL;
}

/* The LOOP in whose body an operation stands, -1. */
static int loop_around(const struct program *p, int op)
{
    int loop = -1;
    for (int i = 0; i < op; i++)
        if (p->op[i].kind == PROGRAM_LOOP && p->op[i].end > op && (loop < 0 || i > loop))
            loop = i;
    return loop;
}

/* The value carried by the loop that an operation of its body needs, from 1; 0: none. */
static int carried_need(struct trace *t, int op, int loop, bool *seen)
{
    const struct program_op *o = &t->p->op[op];
    if (seen[op])
        return 0;
    seen[op] = true;
    if (o->kind == PROGRAM_PARAM && o->loop == loop)
        return o->which + 1;
    int need = 0;
    for (int i = 0; i < 3 && !need; i++) {
        int *leaf = NULL, count = o->arg[i].node >= 0 ? trace_leaf_operations(t, o->arg[i].node, &leaf) : 0;
        for (int n = 0; n < count && !need; n++)
            need = leaf[n] > loop ? carried_need(t, leaf[n], loop, seen) : 0;
        if (o->arg[i].node >= 0)
            lua_pop(t->r->L, 1);
    }
    return need;
}

/* Only what depends on no carried value may be issued turns earlier, and before an operation of its own turn. */
static void check_ahead(struct reader *r, const struct spec_ahead *ahead, const struct program_op *op,
                        const struct program_op *before, const char *path)
{
    struct trace t = {.r = r, .p = reader_kernel(r)->program};
    int at = (int)(op - t.p->op), loop = loop_around(t.p, at);
    if (loop < 0) {
        reader_fault(r, path, AT_KEY, "PROGRAM-AHEAD", "%s stands in no loop, and has no earlier turn; take it out",
                     ahead->name);
        return;
    }
    bool *seen = arena_alloc(r->arena, (size_t)t.p->op_count);
    reader_check(r, seen);
    int need = carried_need(&t, at, loop, seen);
    if (need)
        reader_fault(r, path, AT_KEY, "PROGRAM-AHEAD",
                     "%s needs value %d that loop '%s' carries, which an earlier turn does not have; only what depends "
                     "on none can go ahead",
                     ahead->name, need, t.p->op[loop].name);
    if (before && loop_around(t.p, (int)(before - t.p->op)) != loop)
        reader_fault(r, path, AT_VALUE, "PROGRAM-AHEAD", "%s and %s stand in different loops; name one of loop '%s'",
                     ahead->before, ahead->name, t.p->op[loop].name);
}

/* { turns = 1, before = "o" } on top of the stack. */
static void read_ahead(struct reader *r, const char *name, const struct program_op *op, const char *path)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    struct spec_ahead ahead = {.name = name, .turns = 1, .loc = reader_locate(r, path, AT_VALUE)};
    ahead.why = r->draft[r->now].ahead_why;
    const struct program_op *other = NULL;
    int count, told = r->diags->reported;
    if (!lua_istable(L, -1)) {
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a table: %s = { turns = 1, before = \"o\" }, this is %s",
                     name, describe(r, -1));
        return;
    }
    struct key *key = sorted_keys(r, lua_gettop(L), &count);
    for (int i = 0; i < count; i++) {
        const char *inner = key[i].name ? arena_format(r->arena, "%s.%s", path, key[i].name)
                                        : arena_format(r->arena, "%s[%lld]", path, (long long)key[i].position);
        int64_t turns = 0;
        reader_check(r, inner);
        if (key[i].name)
            lua_getfield(L, -1, key[i].name);
        else
            lua_rawgeti(L, -1, key[i].position);
        if (key[i].name && strcmp(key[i].name, "turns") == 0) {
            if (!exact_integer(L, -1, &turns) || turns < 1 || turns > 8)
                reader_fault(r, inner, AT_VALUE, "FIELD-RANGE", "takes a whole number from 1 to 8, this is %s",
                             describe(r, -1));
            ahead.turns = (int)turns;
        } else if (key[i].name && strcmp(key[i].name, "before") == 0) {
            const char *before = lua_type(L, -1) == LUA_TSTRING ? arena_text(r->arena, lua_tostring(L, -1)) : NULL;
            if (before && (other = named(r, before, inner, AT_VALUE)) != NULL)
                ahead.before = before;
            else if (!before)
                reader_fault(r, inner, AT_VALUE, "FIELD-TYPE", "takes the name of an operation, this is %s",
                             describe(r, -1));
        } else {
            reader_fault(r, inner, AT_KEY, "FIELD-UNKNOWN", "there is no such field; ahead has turns and before");
        }
        lua_pop(L, 1);
    }
    check_ahead(r, &ahead, op, other, path);
    if (r->diags->reported > told) /* it counts as not written */
        return;
    struct spec_ahead *grown = arena_grow(r->arena, k->ahead, k->ahead_count, sizeof *grown);
    reader_check(r, grown);
    k->ahead = grown;
    k->ahead[k->ahead_count++] = ahead;
}

const char *const spec_via_words[] = {"bulk", "cp_async", "direct", "resident", NULL};

/* The tensor of that name, no output, whose elements arithmetic names; -1. */
static int tensor_of_elements(struct reader *r, const char *name)
{
    const struct spec_kernel *k = reader_kernel(r);
    const struct expr_graph *g = k->program->graph;
    for (int t = 0; name && t < k->tensor_count; t++)
        for (int i = 0; i < g->count && strcmp(k->tensor[t].name, name) == 0 && !k->tensor[t].out; i++)
            if (g->node[i].op == EXPR_TENSOR && g->node[i].integer == t)
                return t;
    return -1;
}

/* The word on top of the stack. op: NULL where the name is a tensor's. */
static void read_via(struct reader *r, const char *name, const struct program_op *op, const char *path)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    int way = -1;
    for (int i = 0; word && spec_via_words[i]; i++)
        if (strcmp(spec_via_words[i], word) == 0)
            way = i;
    if (way < 0) {
        reader_fault(r, path, AT_VALUE, "FIELD-WORD", "takes a word (%s), this is %s%s",
                     reader_list(r, spec_via_words, " or "), describe(r, -1),
                     word ? reader_suggest(r, word, spec_via_words) : "");
        return;
    }
    if (op && op->kind != PROGRAM_LOAD && op->kind != PROGRAM_GATHER) {
        reader_fault(r, path, AT_KEY, "PROGRAM-NAME", "%s is a %s; via says how the data of a load or gather come",
                     name, program_kinds[op->kind].name);
        return;
    }
    struct spec_via *grown = arena_grow(r->arena, k->via, k->via_count, sizeof *grown);
    reader_check(r, grown);
    k->via = grown;
    k->via[k->via_count++] =
        (struct spec_via){name, spec_via_words[way], r->draft[r->now].via_why, !op, reader_locate(r, path, AT_VALUE)};
}

/* The LOOP of that name, -1: told, with those that there are. */
static int named_loop(struct reader *r, const char *name, const char *path)
{
    const struct program *p = reader_kernel(r)->program;
    const char **known = arena_alloc(r->arena, (size_t)(p->op_count + 1) * sizeof *known);
    int count = 0;
    reader_check(r, known);
    for (int i = 0; i < p->op_count; i++) {
        if (!p->op[i].name || p->op[i].kind != PROGRAM_LOOP)
            continue;
        if (name && strcmp(p->op[i].name, name) == 0)
            return i;
        known[count++] = p->op[i].name;
    }
    reader_fault(r, path, AT_KEY, "PROGRAM-NAME", "no loop of the program has that name; %s%s",
                 count ? "there are " : "it has no loop; take it out", reader_list(r, known, " and "));
    return -1;
}

/* Only turns whose order does not matter, but for rounding, may go down. */
static void check_down(struct reader *r, int loop, const char *path)
{
    const struct program *p = reader_kernel(r)->program;
    int which = 0;
    switch (program_any_order(p, loop, &r->arena->memory, &which)) {
    case ANY_ORDER:
        break;
    case ANY_ORDER_NO_MEMORY:
        reader_check(r, NULL);
        break;
    case ANY_ORDER_WRITES:
        reader_fault(r, path, AT_VALUE, "PROGRAM-DIRECTION",
                     "turns of loop '%s' write to memory (line %d), in their order; write \"up\", or take it out",
                     p->op[loop].name, p->op[which].loc.line);
        break;
    case ANY_ORDER_CARRIED:
        reader_fault(
            r, path, AT_VALUE, "PROGRAM-DIRECTION",
            "value %d that loop '%s' carries may depend on the order of its turns; they may go down where each "
            "value is a sum, a maximum or minimum, or a sum that is rescaled by exp2_diff of a maximum; write "
            "\"up\", or take it out",
            which + 1, p->op[loop].name);
    }
}

/* The word on top of the stack. */
static void read_direction(struct reader *r, const char *name, const char *path)
{
    static const char *const words[] = {"up", "down", NULL};
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    int loop = named_loop(r, name, path);
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    bool down = word && strcmp(word, words[1]) == 0;
    const int told = r->diags->reported;
    if (loop < 0)
        return;
    if (!down && (!word || strcmp(word, words[0]) != 0)) {
        reader_fault(r, path, AT_VALUE, "FIELD-WORD", "takes a word (%s), this is %s%s", reader_list(r, words, " or "),
                     describe(r, -1), word ? reader_suggest(r, word, words) : "");
        return;
    }
    if (down)
        check_down(r, loop, path);
    if (r->diags->reported > told) /* it counts as not written */
        return;
    struct spec_direction *grown = arena_grow(r->arena, k->direction, k->direction_count, sizeof *grown);
    reader_check(r, grown);
    k->direction = grown;
    k->direction[k->direction_count++] =
        (struct spec_direction){k->program->op[loop].name, down, reader_locate(r, path, AT_VALUE)};
}

const char *const spec_cache_words[] = {"evict_first",          "evict_last",          "prefetch",
                                        "prefetch_evict_first", "prefetch_evict_last", NULL};

/* The word on top of the stack. */
static void read_cache(struct reader *r, const char *name, const char *path)
{
    lua_State *L = r->L;
    struct spec_kernel *k = reader_kernel(r);
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    const char **known = arena_alloc(r->arena, (size_t)(k->tensor_count + 1) * sizeof *known);
    int tensor = -1, word = 0;
    reader_check(r, known);
    for (int i = 0; i < k->tensor_count; i++) {
        known[i] = k->tensor[i].name;
        tensor = name && strcmp(name, known[i]) == 0 ? i : tensor;
    }
    while (spec_cache_words[word] && (!text || strcmp(text, spec_cache_words[word]) != 0))
        word++;
    if (tensor < 0) {
        reader_fault(r, path, AT_KEY, "PROGRAM-NAME", "no tensor of the kernel has that name; there are %s",
                     reader_list(r, known, " and "));
        return;
    }
    if (!spec_cache_words[word]) {
        reader_fault(r, path, AT_VALUE, "FIELD-WORD", "takes a word (%s), this is %s%s",
                     reader_list(r, spec_cache_words, " or "), describe(r, -1),
                     text ? reader_suggest(r, text, spec_cache_words) : "");
        return;
    }
    struct spec_cache *grown = arena_grow(r->arena, k->cache, k->cache_count, sizeof *grown);
    reader_check(r, grown);
    k->cache = grown;
    k->cache[k->cache_count++] = (struct spec_cache){tensor, spec_cache_words[word], r->draft[r->now].cache_why,
                                                     reader_locate(r, path, AT_VALUE)};
}

/* The number of parts on top of the stack; 0: told that it is none. */
static int read_parts(struct reader *r, const char *path, bool blocks)
{
    int64_t parts = 0;
    bool fine = exact_integer(r->L, -1, &parts) && parts >= 1;
    if (fine && (blocks ? parts <= 64 : parts <= 8 && !(parts & (parts - 1))))
        return (int)parts;
    reader_fault(r, path, AT_VALUE, "FIELD-RANGE", "takes a number of parts (%s), this is %s",
                 blocks ? "1 to 64" : "1, 2, 4 or 8", describe(r, -1));
    return 0;
}

/* { parts = 4, over = "blocks" } on top of the stack. The number of parts; 0: told what is wrong. */
static int read_parts_over(struct reader *r, const char *path, bool *blocks)
{
    static const char *const words[] = {"cluster", "blocks", NULL};
    lua_State *L = r->L;
    const int told = r->diags->reported;
    int count, parts = 0;
    struct key *key = sorted_keys(r, lua_gettop(L), &count);
    for (int i = 0; i < count; i++) { /* "over" comes before "parts" */
        const char *inner = key[i].name ? arena_format(r->arena, "%s.%s", path, key[i].name)
                                        : arena_format(r->arena, "%s[%lld]", path, (long long)key[i].position);
        reader_check(r, inner);
        if (key[i].name)
            lua_getfield(L, -1, key[i].name);
        else
            lua_rawgeti(L, -1, key[i].position);
        const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        if (key[i].name && strcmp(key[i].name, "parts") == 0) {
            parts = read_parts(r, inner, *blocks);
        } else if (key[i].name && strcmp(key[i].name, "over") == 0) {
            *blocks = word && strcmp(word, words[1]) == 0;
            if (!*blocks && (!word || strcmp(word, words[0]) != 0))
                reader_fault(r, inner, AT_VALUE, "FIELD-WORD", "takes a word (%s), this is %s%s",
                             reader_list(r, words, " or "), describe(r, -1),
                             word ? reader_suggest(r, word, words) : "");
        } else {
            reader_fault(r, inner, AT_KEY, "FIELD-UNKNOWN", "there is no such field; split has parts and over");
        }
        lua_pop(L, 1);
    }
    if (r->diags->reported == told && !parts)
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "parts are missing; write { parts = 4, over = \"%s\" }",
                     words[*blocks]);
    return r->diags->reported == told ? parts : 0;
}

/* What is on top of the stack. What may be split depends on the tiles: lower/split.c. */
static void read_split(struct reader *r, const char *name, const char *path)
{
    struct spec_kernel *k = reader_kernel(r);
    bool blocks = false;
    int loop = named_loop(r, name, path);
    if (loop < 0)
        return;
    int parts = lua_istable(r->L, -1) ? read_parts_over(r, path, &blocks) : read_parts(r, path, false);
    if (!parts)
        return;
    struct spec_split *grown = arena_grow(r->arena, k->split, k->split_count, sizeof *grown);
    reader_check(r, grown);
    k->split = grown;
    k->split[k->split_count++] =
        (struct spec_split){k->program->op[loop].name, parts, blocks, reader_locate(r, path, AT_VALUE)};
}

void trace_how(struct reader *r, int table)
{
    static const char *const field[] = {"ahead", "via", "direction", "cache", "split"};
    static const char *const of[] = {"operations", "operations", "loops", "tensors", "loops"};
    lua_State *L = r->L;
    r->draft[r->now].how_read = true;
    for (int f = 0; f < 5; f++) {
        int type = lua_getfield(L, table, field[f]), count = 0;
        if (type != LUA_TNIL && type != LUA_TTABLE)
            reader_fault(r, field[f], AT_VALUE, "FIELD-TYPE", "takes a table by the names of %s, this is %s", of[f],
                         describe(r, -1));
        struct key *key = type == LUA_TTABLE ? sorted_keys(r, lua_gettop(L), &count) : NULL;
        for (int i = 0; i < count; i++) {
            const char *path = key[i].name ? arena_format(r->arena, "%s.%s", field[f], key[i].name)
                                           : arena_format(r->arena, "%s[%lld]", field[f], (long long)key[i].position);
            reader_check(r, path);
            const bool tensor = f == 1 && tensor_of_elements(r, key[i].name) >= 0;
            const struct program_op *op = f < 2 && !tensor ? named(r, key[i].name, path, AT_KEY) : NULL;
            if (f < 2 && !op && !tensor)
                continue;
            if (key[i].name)
                lua_getfield(L, -1, key[i].name);
            else
                lua_rawgeti(L, -1, key[i].position);
            if (f == 0)
                read_ahead(r, key[i].name, op, path);
            else if (f == 1)
                read_via(r, key[i].name, op, path);
            else if (f == 2)
                read_direction(r, key[i].name, path);
            else if (f == 3)
                read_cache(r, key[i].name, path);
            else
                read_split(r, key[i].name, path);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
}
