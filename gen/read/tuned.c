/* SPEC.tuned.lua, which stands beside a spec and says which set-ups of its kernels were quickest where:
 *
 *   tuned "gemm_bf16" { gpu = "NVIDIA H200", arch = "sm_90a",
 *     { M = 1, N = 4096, K = 4096, mode = "sustained", use = { tile = { m = 64 } }, us = 10.1, ratio = 1.02 },
 *     { M = 8192, N = 8192, K = 8192, use = {}, us = 1598.4 },
 *   }
 *
 * A row has a size for each dim of the kernel, and in `use` the fields that differ from the spec; mode is "sustained"
 * where it is left out. us and ratio (the best peer's time by this one's) are for people. `tilewright tune` writes it.
 *
 * exact = true: a kernel is made for just the row's sizes beside the set-up's own. They are numbers in its text, so
 * that its compiler folds them; other sizes go on as if the row did not say so. It counts in kernels of microseconds.
 */
#include "read/read.h"
#include "spec/tuned.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 4096, MOST_USE = 600, MOST_NAME = 90 };

/* A call of tuned. */
struct call {
    struct reader *r;
    struct site site;
    int kernel; /* position in spec.kernel */
    const char *name, *gpu, *arch;
};

static void fault(const struct call *c, const char *path, enum point point, const char *rule, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static struct diag_loc locate(const struct call *c, const char *path, enum point point, int *token)
{
    struct reader *r = c->r;
    const struct tokens *t = sandbox_tokens(r->sandbox, c->site.file);
    struct token_field field = {-1, -1};
    int line = c->site.line, column = 0;
    char parent[200];
    size_t n = strlen(path);
    bool found = false;
    *token = -1;
    for (bool whole = true; t && c->site.open >= 0 && !found && n > 0 && n < sizeof parent; whole = false) {
        memcpy(parent, path, n);
        parent[n] = 0;
        found = tokens_find_field(t, c->site.open, parent, &field);
        *token = found ? point == AT_KEY && whole ? field.key : field.value : -1;
        while (n > 0 && path[n - 1] != '.' && path[n - 1] != '[')
            n--;
        n -= n > 0;
    }
    if (!found && t && c->site.open > 0)
        *token = c->site.open;
    if (*token >= 0) {
        line = t->token[*token].line;
        column = t->token[*token].column;
    }
    struct diag_loc loc = sandbox_loc(r->sandbox, r->diags, c->site.file, line, column);
    if (r->diags->out_of_memory)
        sandbox_no_memory(r->L);
    return loc;
}

static void fault(const struct call *c, const char *path, enum point point, const char *rule, const char *format, ...)
{
    char text[600];
    int token;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    diag_report(c->r->diags, DIAG_ERROR, locate(c, path, point, &token), c->name, *path ? path : NULL, rule, "%s",
                text);
}

/* ---- what a set-up is called ----------------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t length, room;
    bool full;
};

static void add(struct text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(to->data + to->length, to->room - to->length, format, list);
    va_end(list);
    to->full = to->full || n < 0 || (size_t)n >= to->room - to->length;
    to->length = to->full ? to->length : to->length + (size_t)n;
    to->data[to->length] = 0;
}

/* Adds a word to a name: letters and digits, others as one _. */
static void add_word(struct text *to, const char *word)
{
    for (; *word; word++) {
        const bool plain =
            (*word >= 'a' && *word <= 'z') || (*word >= 'A' && *word <= 'Z') || (*word >= '0' && *word <= '9');
        if (plain || (to->length && to->data[to->length - 1] != '_'))
            add(to, "%c", plain ? *word : '_');
    }
}

/* A value behind its field's name: a switch that is on says no more, what the L2 does with a tensor (evict_first,
 * prefetch_evict_last) in short. */
static void add_named(struct text *to, const char *word, bool on)
{
    static const char evict[] = "evict_";
    const char *at = on ? NULL : strstr(word, evict);
    if (on)
        return;
    add_word(to, "_");
    for (const char *c = word; at && c < at; c++)
        add_word(to, (char[]){*c, '\0'});
    add_word(to, at ? at + sizeof evict - 1 : word);
}

/* A group of the schema, or `cache`, whose fields say by themselves what they are. */
static bool is_plain_group(const char *key)
{
    if (strcmp(key, "cache") == 0)
        return true;
    const size_t n = strlen(key);
    for (int f = 0; f < SPEC_FIELD_COUNT; f++)
        if (strncmp(spec_rows[f].path, key, n) == 0 && spec_rows[f].path[n] == '.')
            return true;
    return false;
}

/* The fields of the table on top of the stack as they are written, in order, and what they make of a name. False: a
 * value is none of a field; told. */
static bool print_use(const struct call *c, const char *path, int depth, struct text *use, struct text *name)
{
    struct reader *r = c->r;
    lua_State *L = r->L;
    int count, table = lua_gettop(L);
    luaL_checkstack(L, 6, "use");
    struct key *key = sorted_keys(r, table, &count);
    bool fine = true;
    for (int i = 0; i < count && fine; i++) {
        const char *inner = key[i].name ? arena_format(r->arena, "%s.%s", path, key[i].name)
                                        : arena_format(r->arena, "%s[%lld]", path, (long long)key[i].position);
        reader_check(r, inner);
        add(use, i ? ", " : "");
        if (key[i].name)
            add(use, is_identifier(key[i].name) ? "%s = " : "[\"%s\"] = ", key[i].name);
        if (key[i].name && !(depth == 0 && is_plain_group(key[i].name))) {
            add_word(name, name->length ? "_" : "");
            add_word(name, key[i].name);
        }
        if (key[i].name)
            lua_getfield(L, table, key[i].name);
        else
            lua_rawgeti(L, table, key[i].position);
        const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        if (lua_isinteger(L, -1)) {
            add(use, "%lld", (long long)lua_tointeger(L, -1));
            add_word(name, arena_format(r->arena, "%lld", (long long)lua_tointeger(L, -1)));
        } else if (lua_isboolean(L, -1) || (word && !strpbrk(word, "\"\\\n"))) {
            word = word ? word : lua_toboolean(L, -1) ? "true" : "false";
            add(use, lua_isboolean(L, -1) ? "%s" : "\"%s\"", word);
            add_named(name, word, lua_isboolean(L, -1) && lua_toboolean(L, -1));
        } else if (lua_istable(L, -1) && depth < 6) {
            add(use, "{ ");
            fine = print_use(c, inner, depth + 1, use, name);
            add(use, " }");
        } else {
            fault(c, inner, AT_VALUE, "FIELD-TYPE",
                  "takes a value such as a spec writes, use = { tile = { m = 128 } }, this is %s", describe(r, -1));
            fine = false;
        }
        lua_settop(L, table);
    }
    return fine;
}

/* ---- set-ups --------------------------------------------------------------------------------------------------- */

static bool is_named(const struct spec *spec, int base, const char *arch, const char *name)
{
    for (int i = base + 1; i < spec->kernel_count; i++) {
        const struct spec_kernel *k = &spec->kernel[i];
        if (k->setup.name && k->setup.of == base && strcmp(k->arch[0].name, arch) == 0 &&
            strcmp(k->setup.name, name) == 0)
            return true;
    }
    return false;
}

/* The set-up of that text that was read already, -1. *count: how many the kernel has on the architecture. */
static int find_setup(const struct call *c, const char *use, int *count)
{
    const struct spec *spec = c->r->spec;
    *count = 0;
    for (int i = c->kernel + 1; i < spec->kernel_count; i++) {
        const struct spec_kernel *k = &spec->kernel[i];
        if (!k->setup.name || k->setup.of != c->kernel || strcmp(k->arch[0].name, c->arch) != 0)
            continue;
        if (!k->setup.fixed && strcmp(k->setup.use, use) == 0)
            return i;
        ++*count;
    }
    return -1;
}

/* Where set-ups begin: the spec's own kernels are all read. */
static int first_setup(const struct spec *spec)
{
    int first = 0;
    while (first < spec->kernel_count && !spec->kernel[first].setup.name)
        first++;
    return first;
}

/* Reads the set-up of the table on top of the stack. Under `candidates` its faults are its own. */
static int make_setup(const struct call *c, const char *path, const char *use, const char *name)
{
    struct reader *r = c->r;
    int token, count = 2;
    struct site site = {c->site.file, c->site.line, -1};
    struct diag_loc loc = locate(c, path, AT_VALUE, &token);
    const struct tokens *t = sandbox_tokens(r->sandbox, c->site.file);
    site.line = loc.line;
    site.open = t && token >= 0 && token_is(t, token, "{") ? token : -1;
    const char *unique = arena_text(r->arena, *name ? name : "tuned");
    for (; unique && is_named(r->spec, c->kernel, c->arch, unique); count++)
        unique = arena_format(r->arena, "%s_%d", name, count);
    reader_check(r, unique);
    const struct diag_mark mark = diag_mark(r->diags);
    const char *text = arena_text(r->arena, use), *why = NULL;
    reader_check(r, text);
    int index = read_setup(r, c->kernel, c->arch, lua_gettop(r->L), site, loc);
    struct spec_kernel *k = &r->spec->kernel[index];
    if (r->options->candidates) {
        if (!k->sound)
            why = arena_text(r->arena,
                             r->diags->count > mark.count ? r->diags->item[mark.count].text : "it cannot be read");
        diag_take_back(r->diags, mark, NULL);
    }
    k->setup.name = unique;
    k->setup.use = text;
    k->setup.why = why;
    return index;
}

/* The set-up of that text with the row's sizes as numbers, which are its name: rows of other GPUs and of the other mode
 * share it. */
static int make_exact(const struct call *c, const char *path, const char *use, const int64_t *value)
{
    struct reader *r = c->r;
    for (int i = c->kernel + 1; i < r->spec->kernel_count; i++) {
        const struct spec_setup *s = &r->spec->kernel[i].setup;
        if (s->name && s->fixed && s->of == c->kernel && strcmp(r->spec->kernel[i].arch[0].name, c->arch) == 0 &&
            strcmp(s->use, use) == 0 && memcmp(s->fixed, value, sizeof *value * (size_t)r->spec->dim_count) == 0)
            return i;
    }
    char sized[MOST_NAME] = "";
    struct text text = {sized, 0, sizeof sized, false};
    for (int d = 0; d < r->spec->dim_count; d++)
        if (value[d] >= 0)
            add(&text, "%s%s%lld", text.length ? "_" : "", r->spec->dim[d].name, (long long)value[d]);
    const int index = make_setup(c, path, use, sized);
    r->spec->kernel[index].setup.fixed = value;
    return index;
}

/* Whether the kernel has room for one more set-up on the architecture; else told. */
static bool has_room(const struct call *c, const char *path, int count)
{
    if (count < SPEC_MOST_SETUPS || c->r->options->candidates)
        return true;
    fault(c, path, AT_VALUE, "TUNED-MANY",
          "kernel %s has more than %d set-ups for %s; let rows whose times are near share one", c->name,
          SPEC_MOST_SETUPS, c->arch);
    return false;
}

/* The set-up that `use` of the row asks for; -1: the kernel itself, -2: none, told. Where the row is exact, row->exact
 * too. */
static int row_setup(const struct call *c, const char *row, struct spec_tuned *tuned, bool exact)
{
    struct reader *r = c->r;
    lua_State *L = r->L;
    char use_text[MOST_USE], name_text[MOST_NAME];
    struct text use = {use_text, 0, sizeof use_text, false}, name = {name_text, 0, sizeof name_text, false};
    const char *path = arena_format(r->arena, "%s.use", row);
    int type = lua_getfield(L, -1, "use"), setup = -1, count;
    reader_check(r, path);
    use_text[0] = name_text[0] = 0;
    tuned->use = "";
    if (type != LUA_TNIL && type != LUA_TTABLE) {
        fault(c, path, AT_VALUE, "FIELD-TYPE", "takes a table of fields, {} where nothing differs, this is %s",
              describe(r, -1));
        setup = -2;
    } else if (type == LUA_TTABLE && !print_use(c, path, 0, &use, &name)) {
        setup = -2;
    } else if (use.full) {
        fault(c, path, AT_VALUE, "TUNED-USE", "holds too much: a set-up has at most %d letters", MOST_USE);
        setup = -2;
    } else if (use.length) {
        setup = find_setup(c, use_text, &count);
        if (setup < 0)
            setup = has_room(c, path, count) ? make_setup(c, path, use_text, name_text) : -2;
        tuned->use = setup >= 0 ? r->spec->kernel[setup].setup.use : "";
    }
    if (exact && setup != -2) {
        if (type == LUA_TNIL) {
            lua_newtable(L);
            lua_replace(L, -2);
        }
        find_setup(c, "", &count);
        tuned->exact = has_room(c, path, count) ? make_exact(c, path, tuned->use, tuned->value) : -1;
        setup = tuned->exact < 0 ? -2 : setup;
    }
    lua_pop(L, 1);
    return setup;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static const char *const modes[] = {"sustained", "burst", NULL};

/* The size on top of the stack. */
static int64_t read_extent(const struct call *c, const char *path, int dim)
{
    struct reader *r = c->r;
    const struct spec_dim *d = &r->spec->dim[dim];
    int64_t value = -1;
    if (!exact_integer(r->L, -1, &value))
        fault(c, path, AT_VALUE, "FIELD-TYPE", "takes a whole number, this is %s", describe(r, -1));
    else if (value < 1 || value > SPEC_MAX_EXTENT)
        fault(c, path, AT_VALUE, "FIELD-RANGE", "%lld is no extent that is timed; write 1 to 2^%d", (long long)value,
              SPEC_EXTENT_BITS);
    else if (value % d->multiple)
        fault(c, path, AT_VALUE, "SIZE-MULTIPLE", "%lld is no multiple of %lld, which dims \"%s%%%lld\" states",
              (long long)value, (long long)d->multiple, d->name, (long long)d->multiple);
    else
        return value;
    return -1;
}

/* The number on top of the stack, for people. */
static double read_figure(const struct call *c, const char *path)
{
    double value = lua_type(c->r->L, -1) == LUA_TNUMBER ? lua_tonumber(c->r->L, -1) : 0.0;
    if (!(value > 0.0) || !isfinite(value))
        fault(c, path, AT_VALUE, "FIELD-TYPE", "takes a number above 0, this is %s", describe(c->r, -1));
    return value;
}

/* One key of the row on top of the stack, its value above it. */
static void read_entry(const struct call *c, const char *path, const char *key, struct spec_tuned *row)
{
    struct reader *r = c->r;
    const char *known[MOST_DIMS + 7] = {"mode", "use", "us", "ratio", "exact"};
    bool used[MOST_DIMS] = {false};
    int count = 5, dim = -1;
    used_dims(&r->spec->kernel[c->kernel], used);
    for (int d = 0; d < r->spec->dim_count; d++) {
        if (used[d])
            known[count++] = r->spec->dim[d].name;
        if (used[d] && strcmp(r->spec->dim[d].name, key) == 0)
            dim = d;
    }
    if (dim >= 0) {
        row->value[dim] = read_extent(c, path, dim);
    } else if (strcmp(key, "us") == 0) {
        row->us = read_figure(c, path);
    } else if (strcmp(key, "ratio") == 0) {
        row->ratio = read_figure(c, path);
    } else if (strcmp(key, "exact") == 0) {
        row->exact = lua_toboolean(r->L, -1) ? 0 : -1;
        if (!lua_isboolean(r->L, -1))
            fault(c, path, AT_VALUE, "FIELD-TYPE", "takes true or false, this is %s", describe(r, -1));
    } else if (strcmp(key, "mode") == 0) {
        const char *word = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : "";
        row->burst = strcmp(word, modes[1]) == 0;
        if (!row->burst && strcmp(word, modes[0]) != 0)
            fault(c, path, AT_VALUE, "FIELD-WORD", "takes a word (%s), this is %s%s", reader_list(r, modes, " or "),
                  describe(r, -1), reader_suggest(r, word, modes));
    } else if (strcmp(key, "use") != 0) {
        fault(c, path, AT_KEY, "FIELD-UNKNOWN", "a row has no such field; it has %s%s", reader_list(r, known, " and "),
              reader_suggest(r, key, known));
    }
}

/* A row of the same sizes, GPU and mode before it. */
static const struct spec_tuned *find_row(const struct spec *spec, const struct spec_kernel *k,
                                         const struct spec_tuned *row)
{
    for (int i = 0; i < k->tuned_count; i++) {
        const struct spec_tuned *other = &k->tuned[i];
        if (other->burst == row->burst && strcmp(other->gpu, row->gpu) == 0 && strcmp(other->arch, row->arch) == 0 &&
            memcmp(other->value, row->value, sizeof *row->value * (size_t)spec->dim_count) == 0)
            return other;
    }
    return NULL;
}

/* The row on top of the stack, at position i of the call's table. */
static void read_row(const struct call *c, lua_Integer i)
{
    struct reader *r = c->r;
    struct spec *spec = r->spec;
    lua_State *L = r->L;
    const char *path = arena_format(r->arena, "[%lld]", (long long)i);
    const int reported = r->diags->reported;
    bool used[MOST_DIMS] = {false};
    struct spec_tuned row = {.gpu = c->gpu, .arch = c->arch, .setup = -1, .exact = -1};
    int count, token, table = lua_gettop(L);
    reader_check(r, path);
    row.loc = locate(c, path, AT_VALUE, &token);
    row.value = arena_alloc(r->arena, ((size_t)spec->dim_count + 1) * sizeof *row.value);
    reader_check(r, row.value);
    for (int d = 0; d < spec->dim_count; d++)
        row.value[d] = -1;
    struct key *key = sorted_keys(r, table, &count);
    for (int n = 0; n < count; n++) {
        const char *inner = key[n].name ? arena_format(r->arena, "%s.%s", path, key[n].name)
                                        : arena_format(r->arena, "%s[%lld]", path, (long long)key[n].position);
        reader_check(r, inner);
        if (key[n].name)
            lua_getfield(L, table, key[n].name);
        else
            lua_rawgeti(L, table, key[n].position);
        read_entry(c, inner, key[n].name ? key[n].name : "", &row);
        lua_settop(L, table);
    }
    const bool own_faults = r->diags->reported != reported;
    used_dims(&spec->kernel[c->kernel], used);
    for (int d = 0; d < spec->dim_count && !own_faults && !r->options->candidates; d++)
        if (used[d] && row.value[d] < 0)
            fault(c, path, AT_VALUE, "SIZE-MISSING", "gives no value to dim %s, which the kernel has",
                  spec->dim[d].name);
    struct spec_kernel *k = &spec->kernel[c->kernel];
    const struct spec_tuned *other = r->options->candidates ? NULL : find_row(spec, k, &row);
    if (other && r->diags->reported == reported)
        fault(c, path, AT_VALUE, "TUNED-TWICE", "line %d has these sizes in this mode already; keep one of them",
              other->loc.line);
    const bool exact = row.exact == 0;
    row.exact = -1;
    row.setup = row_setup(c, path, &row, exact);
    if (row.setup == -2 || r->diags->reported != reported)
        return;
    k = &spec->kernel[c->kernel]; /* set-ups may have moved it */
    row.setup -= row.setup >= 0 ? first_setup(spec) : 0;
    row.exact -= row.exact >= 0 ? first_setup(spec) : 0;
    struct spec_tuned *grown = arena_grow(r->arena, k->tuned, k->tuned_count, sizeof *grown);
    reader_check(r, grown);
    k->tuned = grown;
    k->tuned[k->tuned_count++] = row;
}

/* ---- the call -------------------------------------------------------------------------------------------------- */

/* gpu and arch of the table at 1; false: told what is wrong with them. */
static bool read_place(struct call *c)
{
    static const char *const field[] = {"gpu", "arch"};
    static const char *const example[] = {"NVIDIA H200", "sm_90a"};
    struct reader *r = c->r;
    const struct spec_kernel *k = &r->spec->kernel[c->kernel];
    const char *text[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        int type = lua_getfield(r->L, 1, field[i]);
        const char *word = type == LUA_TSTRING ? lua_tostring(r->L, -1) : NULL;
        if (word && *word && strlen(word) < 100 && !strpbrk(word, "\"\\\n*/"))
            text[i] = arena_text(r->arena, word);
        else
            fault(c, type == LUA_TNIL ? "" : field[i], AT_VALUE, "TUNED-PLACE",
                  "says for which %s its rows are by a text, %s = \"%s\", this is %s", i ? "architecture" : "GPU",
                  field[i], example[i], describe(r, -1));
        lua_pop(r->L, 1);
    }
    if (!text[0] || !text[1])
        return false;
    c->gpu = text[0];
    const char *has[64] = {0};
    int count = 0;
    const char *const *all = r->options->arch;
    if (k->arch_count == 0 && r->options->arch_unnamed)
        all = r->options->arch_unnamed;
    for (const char *const *arch = all; arch && *arch && count < 63; arch++) {
        bool listed = k->arch_count == 0;
        for (int i = 0; i < k->arch_count; i++)
            listed = listed || strcmp(k->arch[i].name, *arch) == 0;
        if (listed)
            has[count++] = *arch;
        if (listed && strcmp(*arch, text[1]) == 0)
            c->arch = *arch;
    }
    if (!c->arch)
        fault(c, "arch", AT_VALUE, "TUNED-PLACE", "kernel %s has no architecture \"%s\"; it has %s", c->name, text[1],
              reader_list(r, has, " and "));
    return c->arch != NULL;
}

/* tuned "NAME" (rows): upvalue 1 is the name. */
static int tuned_rows(lua_State *L)
{
    struct reader *r = reader_of(L);
    struct call c = {.r = r, .kernel = -1, .name = arena_text(r->arena, lua_tostring(L, lua_upvalueindex(1)))};
    reader_check(r, c.name);
    if (lua_type(L, 1) != LUA_TTABLE)
        return luaL_error(L, "tuned \"%s\" takes a table of rows, this is %s", c.name, describe(r, 1));
    lua_settop(L, 1);
    c.site.file = sandbox_where(L, 1, &c.site.line);
    const struct tokens *t = sandbox_tokens(r->sandbox, c.site.file);
    c.site.open = t ? tokens_find_call(t, "tuned", c.name, c.site.line) : -1;
    const int first = first_setup(r->spec);
    const char **known = arena_alloc(r->arena, ((size_t)first + 1) * sizeof *known);
    reader_check(r, known);
    for (int i = 0; i < first; i++) {
        known[i] = r->spec->kernel[i].name;
        c.kernel = strcmp(known[i], c.name) == 0 ? i : c.kernel;
    }
    if (c.kernel < 0) {
        const char *near = reader_suggest(r, c.name, known);
        fault(&c, "", AT_VALUE, "TUNED-KERNEL", "the spec has no such kernel%s",
              *near ? near : "; name one that it has, or take these rows out");
        return 0;
    }
    if (!r->spec->kernel[c.kernel].sound || !read_place(&c))
        return 0;
    int count;
    struct key *key = sorted_keys(r, 1, &count);
    for (int i = 0; i < count; i++)
        if (key[i].name && strcmp(key[i].name, "gpu") != 0 && strcmp(key[i].name, "arch") != 0)
            fault(&c, key[i].name, AT_KEY, "FIELD-UNKNOWN", "there is no such field; tuned has gpu, arch and rows");
    lua_Integer rows = (lua_Integer)lua_rawlen(L, 1);
    if (rows > MOST_ROWS)
        return luaL_error(L, "tuned \"%s\" has more than %d rows", c.name, MOST_ROWS);
    for (lua_Integer i = 1; i <= rows; i++) {
        if (lua_rawgeti(L, 1, i) == LUA_TTABLE)
            read_row(&c, i);
        else
            fault(&c, arena_format(r->arena, "[%lld]", (long long)i), AT_VALUE, "FIELD-TYPE",
                  "takes a row such as { M = 256, use = { tile = { m = 64 } } }, this is %s", describe(r, -1));
        lua_settop(L, 1);
    }
    return 0;
}

int tuned_named(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r || !r->tuned || r->epoch)
        return luaL_error(L, "tuned stands in SPEC.tuned.lua, the file beside a spec that tune writes");
    if (lua_type(L, 1) != LUA_TSTRING)
        return luaL_error(L, "tuned takes a kernel's name first: tuned \"NAME\" { ... }, this is %s", describe(r, 1));
    lua_settop(L, 1);
    lua_pushcclosure(L, tuned_rows, 1);
    return 1;
}

char *spec_tuned_path(struct arena *arena, const char *path)
{
    size_t n = strlen(path);
    n -= n > 4 && strcmp(path + n - 4, ".lua") == 0 ? 4 : 0;
    return arena_format(arena, "%.*s.tuned.lua", (int)n, path);
}
