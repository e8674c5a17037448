/* Plain fields: values checked against the rows of schema.def. */
#include "read/read.h"

#include <string.h>

bool exact_integer(lua_State *L, int index, int64_t *value)
{
    int good = 0;
    if (lua_type(L, index) == LUA_TNUMBER)
        *value = lua_tointegerx(L, index, &good);
    return good;
}

/* Position of the word among `words`, -1: it is none of them. */
static int word_position(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (int i = 0; *words; i++) {
        size_t m = strcspn(words, " ");
        if (n == m && memcmp(words, word, n) == 0)
            return i;
        words += m + (words[m] == ' ');
    }
    return -1;
}

/* Why the current kernel cannot have the row, or NULL. */
static const char *unfit(struct reader *r, const struct spec_row *row)
{
    const struct spec_kernel *k = reader_kernel(r);
    const char *own = k->program ? "program" : k->family;
    if (!*row->family || (own && word_position(row->family, own) >= 0) || (!own && !k->template_path))
        return NULL;
    if (strcmp(row->family, "template") == 0)
        return k->template_path ? NULL : "only a kernel with its own template has it";
    return "only a kernel with a program has it";
}

static void read_integer(struct reader *r, const struct spec_row *row, const char *path, struct spec_value *v)
{
    if (!exact_integer(r->L, -1, &v->integer)) {
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a whole number, this is %s", describe(r, -1));
        return;
    }
    v->set = v->integer >= row->low && v->integer <= row->high;
    if (!v->set)
        reader_fault(r, path, AT_VALUE, "FIELD-RANGE", "%lld is out of range; write %lld to %lld",
                     (long long)v->integer, (long long)row->low, (long long)row->high);
}

static void read_word(struct reader *r, const struct spec_row *row, const char *path, struct spec_value *v)
{
    const char *word[32], *text;
    int count = split_words(r, row->words, word, 31);
    word[count] = NULL;
    if (lua_type(r->L, -1) != LUA_TSTRING) {
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a word (%s), this is %s", reader_list(r, word, " or "),
                     describe(r, -1));
        return;
    }
    text = lua_tostring(r->L, -1);
    int position = word_position(row->words, text);
    if (position < 0) {
        reader_fault(r, path, AT_VALUE, "FIELD-WORD", "\"%s\" is none of its words: %s%s", text,
                     reader_list(r, word, ", "), reader_suggest(r, text, word));
        return;
    }
    v->set = true;
    v->integer = position;
    v->text = word[position];
}

/* The value on top of the stack as the row wants it. */
static struct spec_value read_value(struct reader *r, const struct spec_row *row, const char *path)
{
    struct spec_value v = {.loc = reader_locate(r, path, AT_VALUE)};
    switch (row->type) {
    case 'i':
        read_integer(r, row, path, &v);
        break;
    case 'w':
        read_word(r, row, path, &v);
        break;
    case 'b':
        v.set = lua_isboolean(r->L, -1);
        v.integer = lua_toboolean(r->L, -1);
        if (!v.set)
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes true or false, this is %s", describe(r, -1));
        break;
    default:
        v.set = lua_type(r->L, -1) == LUA_TSTRING;
        v.text = v.set ? arena_text(r->arena, lua_tostring(r->L, -1)) : "";
        reader_check(r, v.text);
        if (!v.set)
            reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a text, this is %s", describe(r, -1));
    }
    return v;
}

/* tune: the list on top of the stack; one value is a list of one. */
static void read_list(struct reader *r, int field, const char *path)
{
    struct spec_kernel *k = reader_kernel(r);
    struct spec_tune tune = {.field = (enum spec_field)field};
    lua_State *L = r->L;
    bool list = lua_istable(L, -1);
    lua_Integer count = list ? (lua_Integer)lua_rawlen(L, -1) : 1;
    if (count == 0 || count > 1000) {
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a list of values to try, 1 to 1000 of them");
        return;
    }
    for (lua_Integer i = 1; i <= count; i++) {
        const char *item = list ? arena_format(r->arena, "%s[%lld]", path, (long long)i) : path;
        struct spec_value *grown = arena_grow(r->arena, tune.value, tune.count, sizeof *grown);
        reader_check(r, item);
        reader_check(r, grown);
        tune.value = grown;
        const char **paths = arena_grow(r->arena, tune.path, tune.count, sizeof *paths);
        reader_check(r, paths);
        tune.path = paths;
        tune.path[tune.count] = item;
        if (list)
            lua_rawgeti(L, -1, i);
        tune.value[tune.count] = read_value(r, &spec_rows[field], item);
        tune.count += tune.value[tune.count].set;
        if (list)
            lua_pop(L, 1);
    }
    struct spec_tune *grown = arena_grow(r->arena, k->tune, k->tune_count, sizeof *grown);
    reader_check(r, grown);
    k->tune = grown;
    int at = k->tune_count++;
    for (; at > 0 && k->tune[at - 1].field > tune.field; at--)
        k->tune[at] = k->tune[at - 1];
    k->tune[at] = tune;
}

/* The row of that path, -1: none. */
static int find_row(const char *path)
{
    for (int i = 0; i < SPEC_FIELD_COUNT; i++)
        if (strcmp(spec_rows[i].path, path) == 0)
            return i;
    return -1;
}

static void read_row(struct reader *r, int field, const char *path, struct spec_fields *out, bool lists)
{
    const char *why = unfit(r, &spec_rows[field]);
    if (why)
        reader_fault(r, path, AT_KEY, "FIELD-UNKNOWN", "%s", why);
    else if (lists)
        read_list(r, field, path);
    else
        out->value[field] = read_value(r, &spec_rows[field], path);
}

/* The names in a group of fields ("tile": m, n, k). */
static const char **group_names(struct reader *r, const char *group)
{
    size_t n = strlen(group);
    const char **name = arena_alloc(r->arena, (SPEC_FIELD_COUNT + 1) * sizeof *name);
    reader_check(r, name);
    for (int i = 0, count = 0; i < SPEC_FIELD_COUNT; i++)
        if (strncmp(spec_rows[i].path, group, n) == 0 && spec_rows[i].path[n] == '.' && !unfit(r, &spec_rows[i]))
            name[count++] = spec_rows[i].path + n + 1;
    return name;
}

static bool is_group(const char *key)
{
    size_t n = strlen(key);
    for (int i = 0; i < SPEC_FIELD_COUNT; i++)
        if (strncmp(spec_rows[i].path, key, n) == 0 && spec_rows[i].path[n] == '.')
            return true;
    return false;
}

/* What is on top of the stack as it would be written, where that is short. */
static const char *written(struct reader *r)
{
    lua_State *L = r->L;
    const char *text = "...";
    if (lua_isinteger(L, -1))
        text = arena_format(r->arena, "%lld", (long long)lua_tointeger(L, -1));
    else if (lua_type(L, -1) == LUA_TSTRING && lua_rawlen(L, -1) < 32)
        text = arena_format(r->arena, "\"%s\"", lua_tostring(L, -1));
    else if (lua_istable(L, -1))
        text = "{ ... }";
    else if (lua_isboolean(L, -1))
        text = lua_toboolean(L, -1) ? "true" : "false";
    reader_check(r, text);
    return text;
}

static bool is_listed(const char *const *word, const char *name)
{
    while (word && *word && strcmp(*word, name) != 0)
        word++;
    return word && *word;
}

/* A field of the kernel itself. */
static bool is_kernel_word(const struct spec_kernel *k, const char *name)
{
    static const char *const of_family[] = {"axes", "grid", "program", NULL};
    bool hit = k->program && is_axis_field(name);
    for (int i = 0; kernel_words[i]; i++)
        hit |= strcmp(kernel_words[i], name) == 0;
    return hit && !(k->family && is_listed(of_family, name));
}

/* As a row of the schema; NULL: there is none of that name that the kernel can have. */
static const char *row_elsewhere(struct reader *r, const char *name, enum field_place where)
{
    const char *text = NULL;
    for (int i = 0; i < SPEC_FIELD_COUNT; i++) {
        const char *path = spec_rows[i].path, *dot = strchr(path, '.');
        if (unfit(r, &spec_rows[i]))
            continue;
        /* stages, ["pipeline.stages"] and, where only fields of a group can stand, its group */
        if (dot && (strcmp(dot + 1, name) == 0 || strcmp(path, name) == 0))
            text = arena_format(r->arena, "; write %.*s = { %s = %s }", (int)(dot - path), path, dot + 1, written(r));
        else if (where >= IN_TABLE && strncmp(path, name, strcspn(path, ".")) == 0 && !name[strcspn(path, ".")])
            text = arena_format(r->arena, "; it stands beside the others: write %s = %s", name, written(r));
        else
            continue;
        reader_check(r, text);
    }
    return text;
}

const char *field_elsewhere(struct reader *r, const char *name, enum field_place where)
{
    const struct spec_kernel *k = reader_kernel(r);
    const char *text = row_elsewhere(r, name, where);
    bool axis = false;
    for (int i = 0; k->program && i < k->program->axis_count; i++)
        axis |= strcmp(k->program->axis[i].name, name) == 0;
    if (text)
        return text;
    if (axis)
        text = arena_format(r->arena, "; '%s' is an axis: write tile = { %s = %s }", name, name, written(r));
    else if (where != IN_KERNEL && is_kernel_word(k, name))
        text = arena_format(r->arena, "; it stands %s: write %s = %s",
                            where == IN_ARCH ? "in the kernel, beside arch and tune" : "beside the others", name,
                            written(r));
    else if (is_listed(r->options->arch, name))
        text = arena_format(r->arena, "; it is an architecture: write arch = { %s = %s }", name, written(r));
    else if (where != IN_TENSOR && is_listed(tensor_words, name))
        text = arena_format(r->arena, "; a tensor has it: write %s = tensor { ..., %s = %s }",
                            k->tensor_count ? k->tensor[0].name : "A", name, written(r));
    else
        return "";
    reader_check(r, text);
    return text;
}

static void read_group(struct reader *r, const char *group, const char *path, struct spec_fields *out, bool lists)
{
    lua_State *L = r->L;
    int table = lua_gettop(L), count;
    const char **known = group_names(r, group);
    if (!lua_istable(L, table)) {
        reader_fault(r, path, AT_VALUE, "FIELD-TYPE", "takes a table with %s, this is %s",
                     known[0] ? reader_list(r, known, " and ") : "its fields", describe(r, table));
        return;
    }
    struct key *key = sorted_keys(r, table, &count);
    for (int i = 0; i < count; i++) {
        const char *inner = key[i].name ? arena_format(r->arena, "%s.%s", path, key[i].name)
                                        : arena_format(r->arena, "%s[%lld]", path, (long long)key[i].position);
        const char *row = key[i].name ? arena_format(r->arena, "%s.%s", group, key[i].name) : "";
        reader_check(r, inner);
        reader_check(r, row);
        int field = find_row(row);
        if (key[i].name)
            lua_getfield(L, table, key[i].name);
        if (field < 0) {
            const char *elsewhere = key[i].name ? field_elsewhere(r, key[i].name, IN_TABLE) : "";
            reader_fault(r, inner, AT_KEY, "FIELD-UNKNOWN", "there is no such field; %s has %s%s", group,
                         known[0] ? reader_list(r, known, " and ") : "none in this kernel",
                         *elsewhere || !key[i].name ? elsewhere : reader_suggest(r, key[i].name, known));
            lua_settop(L, table);
            continue;
        }
        read_row(r, field, inner, out, lists);
        lua_settop(L, table);
    }
}

bool read_field(struct reader *r, int table, const char *key, const char *prefix, struct spec_fields *out, bool lists)
{
    int field = find_row(key);
    bool group = field < 0 && is_group(key);
    if (strchr(key, '.') || (field < 0 && !group))
        return false;
    const char *path = arena_format(r->arena, "%s%s", prefix, key);
    reader_check(r, path);
    luaL_checkstack(r->L, 8, "fields");
    lua_getfield(r->L, table, key);
    if (group && !group_names(r, key)[0])
        reader_fault(r, path, AT_KEY, "FIELD-UNKNOWN", "this kernel has no such field: %s",
                     reader_kernel(r)->family ? "its family knows none" : "only kernels of a family have it");
    else if (group)
        read_group(r, key, path, out, lists);
    else if (field == FIELD_ASKED && strncmp(prefix, "arch.", 5) != 0)
        reader_fault(r, path, AT_KEY, "FIELD-PLACE",
                     "it is a field of an architecture alone; write arch = { sm_120a = { asked = true } }");
    else
        read_row(r, field, path, out, lists);
    lua_pop(r->L, 1);
    return true;
}

const char **field_names(struct reader *r)
{
    const char **name = arena_alloc(r->arena, (SPEC_FIELD_COUNT + 1) * sizeof *name);
    reader_check(r, name);
    int count = 0;
    for (int i = 0; i < SPEC_FIELD_COUNT; i++) {
        size_t n = strcspn(spec_rows[i].path, ".");
        const char *word = arena_copy(r->arena, spec_rows[i].path, n);
        reader_check(r, word);
        if (!unfit(r, &spec_rows[i]) && (count == 0 || strcmp(name[count - 1], word) != 0))
            name[count++] = word;
    }
    return name;
}
