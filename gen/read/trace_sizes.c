/* What a family chooses where a kernel says nothing: sizes = function(arch, said, extent, bytes) of its module, called
 * for each architecture of the kernel, and for the tiles of `tune`. It gets
 *   said    what the kernel gives: tiles by axis; fields of pipeline and schedule by their own names (said.consumers);
 *           ahead, via, direction, cache and split, true where the kernel has them; tuned, a table of those fields
 *           whose values `tune` lists; and the family's constants. Where the kernel names no instruction,
 *           said.instruction is the one without which nothing reads a field that it says or tunes, such as consumers: a
 *           choice of another would refuse the field. copied, once it has been asked for the kernel's own tile: whether
 *           it returned via then
 *   extent  by axis, the extents that are constants
 *   bytes   of an element, by tensor of the kernel
 * and returns a table:
 *   by axis            tiles; why: a text, for what reason
 *   pipeline, schedule { instruction = "mma.sync", stages = 1, why = "a warp for 16 rows" }: what these fields are
 *                      where neither the kernel nor its architecture says them
 *   ahead, via, cache  the fields, likewise; one for all architectures and tiles, that of the kernel's own tile */
#include "read/trace.h"

#include <stdio.h>
#include <string.h>

static const char *last_name(const struct spec_row *row)
{
    const char *dot = strrchr(row->path, '.');
    return dot ? dot + 1 : row->path;
}

/* Sets field `name` of the table on top of the stack. */
static void push_number(lua_State *L, const char *name, int64_t number)
{
    lua_pushinteger(L, number);
    lua_setfield(L, -2, name);
}

static void push_true(lua_State *L, const char *name)
{
    lua_pushboolean(L, true);
    lua_setfield(L, -2, name);
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

static void push_field(lua_State *L, const struct spec_row *row, const struct spec_value *v)
{
    if (row->type == 'i')
        lua_pushinteger(L, v->integer);
    else if (row->type == 'b')
        lua_pushboolean(L, v->integer != 0);
    else
        lua_pushstring(L, v->text);
    lua_setfield(L, -2, last_name(row));
}

/* Of one that several consumers share, each takes a part: mode is about wgmma, too. */
static bool needs_wgmma(enum spec_field field)
{
    return field == FIELD_MODE || strcmp(spec_rows[field].needs, "wgmma") == 0;
}

/* Sets the fields that are said in the table on top of the stack. */
static void put_fields(struct reader *r, const struct spec_fields *fields)
{
    lua_State *L = r->L;
    const struct spec_kernel *k = reader_kernel(r);
    bool wgmma = false;
    for (int f = 0; f < SPEC_FIELD_COUNT; f++) {
        const struct spec_value *v = &fields->value[f];
        if (!v->set)
            continue;
        push_field(L, &spec_rows[f], v);
        wgmma |= needs_wgmma((enum spec_field)f);
    }
    lua_newtable(L);
    for (int i = 0; i < k->tune_count; i++) {
        push_true(L, last_name(&spec_rows[k->tune[i].field]));
        wgmma |= needs_wgmma(k->tune[i].field);
    }
    lua_setfield(L, -2, "tuned");
    if (wgmma && !fields->value[FIELD_INSTRUCTION].set) {
        lua_pushstring(L, "wgmma");
        lua_setfield(L, -2, "instruction");
    }
}

/* Whether the kernel itself has the field. */
static bool says(struct reader *r, const char *name)
{
    lua_rawgeti(r->L, LUA_REGISTRYINDEX, r->draft[r->now].table);
    const bool has = lua_getfield(r->L, -1, name) != LUA_TNIL;
    lua_pop(r->L, 2);
    return has;
}

static void push_said(struct reader *r, const struct spec_fields *fields, const struct program *p)
{
    static const char *const how[] = {"ahead", "via", "direction", "cache", "split"};
    lua_newtable(r->L);
    put_fields(r, fields);
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        if (says(r, how[i]))
            push_true(r->L, how[i]);
    if (r->draft[r->now].how_read) {
        lua_pushboolean(r->L, r->draft[r->now].via_why != NULL);
        lua_setfield(r->L, -2, "copied");
    }
    for (int i = 0; i < p->axis_count; i++)
        if (p->axis[i].tile)
            push_number(r->L, p->axis[i].name, p->axis[i].tile);
    module_put_constants(r);
}

static void push_extents(struct reader *r, const struct program *p)
{
    lua_newtable(r->L);
    for (int i = 0; i < p->axis_count; i++) {
        int64_t extent;
        const int node = trace_known_extent(r, i);
        if (node >= 0 && expr_is_int(&reader_kernel(r)->graph, node, &extent))
            push_number(r->L, p->axis[i].name, extent);
    }
}

/* ---- what is chosen, on top of the stack ------------------------------------------------------------------------- */

static void chosen_fault(struct reader *r, const char *path)
{
    module_fault(r, reader_kernel(r)->family,
                 arena_format(r->arena, "sizes returns %s, which is no field of a program, or no value of it", path));
}

static const char *why_of(struct reader *r)
{
    const char *why = NULL;
    if (lua_getfield(r->L, -1, "why") == LUA_TSTRING) {
        why = arena_text(r->arena, lua_tostring(r->L, -1));
        reader_check(r, why);
    } else if (!lua_isnil(r->L, -1)) {
        module_fault(r, reader_kernel(r)->family, "why is a text");
    }
    lua_pop(r->L, 1);
    return why;
}

/* The value on top of the stack as the row wants it; it is not set: it is none. */
static struct spec_value value_of(struct reader *r, const struct spec_row *row, const char *why)
{
    lua_State *L = r->L;
    struct spec_value v = {.loc = reader_call_loc(r), .why = why ? why : "the family's, where the spec says none"};
    const char *word[32];
    const int words = row->type == 'w' && lua_type(L, -1) == LUA_TSTRING ? split_words(r, row->words, word, 32) : 0;
    for (int i = 0; i < words; i++)
        if (strcmp(word[i], lua_tostring(L, -1)) == 0) {
            v.set = true;
            v.integer = i;
            v.text = word[i];
        }
    if (row->type == 'i') {
        v.set = exact_integer(L, -1, &v.integer) && v.integer >= row->low && v.integer <= row->high;
    } else if (row->type == 'b') {
        v.set = lua_isboolean(L, -1);
        v.integer = lua_toboolean(L, -1);
    }
    return v;
}

static void choose_field(struct reader *r, struct spec_choice choice, const char *path, struct spec_choices *to)
{
    int field = 0;
    while (field < SPEC_FIELD_COUNT && strcmp(spec_rows[field].path, path) != 0)
        field++;
    if (field == SPEC_FIELD_COUNT || strcmp(spec_rows[field].family, "program") != 0) {
        chosen_fault(r, path);
        return;
    }
    choice.field = (enum spec_field)field;
    choice.value = value_of(r, &spec_rows[field], choice.value.why);
    if (!choice.value.set)
        chosen_fault(r, path);
    struct spec_choice *grown = arena_grow(r->arena, to->choice, to->count, sizeof *grown);
    reader_check(r, grown);
    to->choice = grown;
    to->choice[to->count++] = choice;
}

static void choose_group(struct reader *r, const char *arch, const char *group, struct spec_choices *to)
{
    lua_State *L = r->L;
    int count;
    if (lua_getfield(L, -1, group) == LUA_TTABLE) {
        const struct spec_choice choice = {.arch = arch, .value.why = why_of(r)};
        const struct key *key = sorted_keys(r, lua_gettop(L), &count);
        for (int i = 0; i < count; i++) {
            if (key[i].name && strcmp(key[i].name, "why") == 0)
                continue;
            const char *path = arena_format(r->arena, "%s.%s", group, key[i].name ? key[i].name : "?");
            reader_check(r, path);
            lua_getfield(L, -1, key[i].name ? key[i].name : "?");
            choose_field(r, choice, path, to);
            lua_pop(L, 1);
        }
    } else if (!lua_isnil(L, -1)) {
        chosen_fault(r, group);
    }
    lua_pop(L, 1);
}

/* ahead = { s = { turns = 1, before = "o" }, why = "..." }, via = { k = "cp_async", why = "..." }: the draft's field,
 * but for why. */
static void choose_table(struct reader *r, const char *field, const char **why)
{
    lua_State *L = r->L;
    struct draft *d = &r->draft[r->now];
    if (says(r, field) || d->how_read)
        return;
    const int type = lua_getfield(L, -1, field);
    if (type != LUA_TNIL && type != LUA_TTABLE)
        chosen_fault(r, field);
    *why = type == LUA_TTABLE ? why_of(r) : NULL;
    if (type == LUA_TTABLE) {
        *why = *why ? *why : "the family's, where the spec says none";
        lua_pushnil(L);
        lua_setfield(L, -2, "why");
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, d->fields);
    lua_insert(L, -2);
    lua_setfield(L, -2, field);
    lua_pop(L, 1);
}

static void choose_tiles(struct reader *r, struct program *p)
{
    const char *why = why_of(r);
    for (int i = 0; i < p->axis_count; i++) {
        int64_t tile = 0;
        if (p->axis[i].tile)
            continue;
        lua_getfield(r->L, -1, p->axis[i].name);
        if (!lua_isnil(r->L, -1) && (!exact_integer(r->L, -1, &tile) || tile < 1 || tile > 1 << 20))
            module_fault(r, reader_kernel(r)->family, "sizes returns a tile by axis, whole numbers from 1");
        p->axis[i].tile = (int)tile;
        p->axis[i].chosen = tile > 0;
        p->axis[i].why = why;
        lua_pop(r->L, 1);
    }
}

/* Takes the architecture's entries out. */
static void forget(struct spec_choices *all, const char *arch)
{
    int kept = 0;
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->choice[i].arch, arch) != 0)
            all->choice[kept++] = all->choice[i];
    all->count = kept;
}

void module_sizes(struct reader *r, const char *arch, struct program *p, struct spec_choices *to)
{
    lua_State *L = r->L;
    const struct spec_kernel *k = reader_kernel(r);
    const int top = lua_gettop(L);
    static struct spec_fields fields;
    luaL_checkstack(L, 12, "sizes");
    forget(to, arch);
    if (!module_push(r) || lua_getfield(L, -1, "sizes") != LUA_TFUNCTION) {
        lua_settop(L, top);
        return;
    }
    spec_said(k, arch, &fields);
    lua_pushstring(L, arch);
    push_said(r, &fields, p);
    push_extents(r, p);
    lua_newtable(L);
    for (int i = 0; i < k->tensor_count; i++)
        push_number(L, k->tensor[i].name, (int64_t)tw_dtype_bytes(k->tensor[i].dtype));
    lua_call(L, 4, 1);
    if (lua_istable(L, -1)) {
        choose_tiles(r, p);
        choose_group(r, arch, "pipeline", to);
        choose_group(r, arch, "schedule", to);
        choose_table(r, "ahead", &r->draft[r->now].ahead_why);
        choose_table(r, "via", &r->draft[r->now].via_why);
        choose_table(r, "cache", &r->draft[r->now].cache_why);
    }
    lua_settop(L, top);
}
