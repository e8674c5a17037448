/* spec_read: the run of a spec, its words dims, tensor, scalar and kernel, and `like`. */
#include "read/read.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_KERNELS = 4096, MOST_LIKES = 64, MOST_MEMORY = 512 << 20 };

static const char reader_key;

/* ---- small things ---------------------------------------------------------------------------------------------- */

struct reader *reader_of(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &reader_key);
    struct reader *r = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return r;
}

void reader_check(struct reader *r, const void *pointer)
{
    if (!pointer)
        sandbox_no_memory(r->L);
}

struct spec_kernel *reader_kernel(struct reader *r)
{
    return &r->spec->kernel[r->now];
}

const char *describe(struct reader *r, int index)
{
    const char *text = NULL;
    lua_State *L = r->L;
    switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
        return "nothing";
    case LUA_TBOOLEAN:
        return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TNUMBER:
        text = lua_isinteger(L, index) ? arena_format(r->arena, "%lld", (long long)lua_tointeger(L, index))
                                       : arena_format(r->arena, "%.14g", lua_tonumber(L, index));
        break;
    case LUA_TSTRING:
        text = arena_format(r->arena, "the text '%.60s'", lua_tostring(L, index));
        break;
    case LUA_TTABLE:
        return "a table";
    case LUA_TFUNCTION:
        return "a function";
    default:
        if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING) {
            const char *name = lua_tostring(L, -1);
            text = arena_format(r->arena, "%s %s", strchr("aeiou", name[0]) ? "an" : "a", name);
            lua_pop(L, 1);
        } else {
            return "a userdata";
        }
    }
    reader_check(r, text);
    return text;
}

const char *reader_suggest(struct reader *r, const char *word, const char *const *candidate)
{
    const char *near = diag_suggest(word, candidate);
    const char *text = near ? arena_format(r->arena, "; did you mean '%s'?", near) : "";
    reader_check(r, text);
    return text;
}

const char *reader_list(struct reader *r, const char *const *word, const char *last)
{
    const char *text = "";
    for (int i = 0; word[i]; i++) {
        text = arena_format(r->arena, "%s%s%s", text, i == 0 ? "" : word[i + 1] ? ", " : last, word[i]);
        reader_check(r, text);
    }
    return text;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (!x->name != !y->name)
        return x->name ? 1 : -1;
    return x->name ? strcmp(x->name, y->name) : (x->position > y->position) - (x->position < y->position);
}

struct key *sorted_keys(struct reader *r, int index, int *count)
{
    lua_State *L = r->L;
    int n = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
        n++;
    sandbox_charge(L, n);
    struct key *key = arena_alloc(r->arena, (size_t)n * sizeof *key);
    reader_check(r, key);
    n = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            key[n].name = arena_text(r->arena, lua_tostring(L, -2));
            reader_check(r, key[n++].name);
        } else if (lua_isinteger(L, -2)) {
            key[n++].position = lua_tointeger(L, -2);
        } else {
            luaL_error(L, "a table has %s as a key; fields have names", describe(r, -2));
        }
    }
    qsort(key, (size_t)n, sizeof *key, compare_keys);
    *count = n;
    return key;
}

enum name_kind { KEYWORD, TAKEN, FUNCTION };

static bool is_name(const char *text, enum name_kind kind)
{
    static const struct {
        enum name_kind kind;
        const char *text;
    } names[] = {
#define NAME(kind, text) {kind, text},
#include "read/names.def"
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].kind != kind || names[i].text[0] != text[0])
            continue;
        size_t n = strcspn(names[i].text, "*");
        if (strncmp(text, names[i].text, n) == 0 && (names[i].text[n] || !text[n]))
            return true;
    }
    return false;
}

bool is_taken(const char *text)
{
    return is_name(text, TAKEN);
}

bool is_identifier(const char *text)
{
    if (is_name(text, KEYWORD))
        return false;
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    bool reserved = text[0] == '_' && (text[1] == '_' || (text[1] >= 'A' && text[1] <= 'Z') || !text[1]);
    return n > 0 && n <= 100 && !text[n] && !(text[0] >= '0' && text[0] <= '9') && !reserved;
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

static struct diag_loc loc_of(struct reader *r, int file, int line, int column)
{
    struct diag_loc loc = sandbox_loc(r->sandbox, r->diags, file, line, column);
    if (r->diags->out_of_memory)
        sandbox_no_memory(r->L);
    return loc;
}

static struct diag_loc loc_of_token(struct reader *r, int file, const struct tokens *t, int token)
{
    return loc_of(r, file, t->token[token].line, t->token[token].column);
}

/* Who wrote the field at `path`. */
static struct site site_of(const struct draft *d, const char *path)
{
    struct site site = d->origin;
    size_t longest = 0;
    for (int i = 0; i < d->place_count; i++) {
        size_t n = strlen(d->place[i].path);
        bool begins = strncmp(path, d->place[i].path, n) == 0 && (!path[n] || path[n] == '.' || path[n] == '[');
        if (begins && n >= longest) {
            longest = n;
            site = d->place[i].site;
        }
    }
    return site;
}

/* The place of a tensor's field by the tensor {...} call, where the kernel's own table holds a name instead. */
static bool locate_tensor(struct reader *r, const char *path, enum point point, struct diag_loc *loc)
{
    lua_State *L = r->L;
    size_t n = strcspn(path, ".[");
    lua_rawgeti(L, LUA_REGISTRYINDEX, r->draft[r->now].table);
    lua_pushlstring(L, path, n);
    bool made = lua_rawget(L, -2) == LUA_TUSERDATA;
    const struct tensor_value *value = made ? luaL_testudata(L, -1, TYPE_TENSOR) : NULL;
    struct site site = value ? value->site : (struct site){-1, 0, -1};
    lua_pop(L, 2);
    if (!value || site.file < 0)
        return false;
    const struct tokens *t = sandbox_tokens(r->sandbox, site.file);
    reader_check(r, t);
    const char *rest = path[n] == '.' ? path + n + 1 : path + n;
    struct token_field field;
    int call = tokens_nth_call(t, "tensor", site.line, value->nth), open = tokens_argument(t, call);
    if (open < 0)
        open = tokens_find_call(t, "tensor", NULL, site.line);
    if (open >= 0 && *rest && tokens_find_field(t, open, rest, &field))
        *loc = loc_of_token(r, site.file, t, point == AT_KEY ? field.key : field.value);
    else
        *loc = call >= 0 ? loc_of_token(r, site.file, t, call) : loc_of(r, site.file, site.line, 0);
    return true;
}

/* The word `kernel` of a call: the one before its table, else the one before the name, else the first of its line. */
static struct diag_loc call_loc(struct reader *r, const struct site *s, const char *name)
{
    const struct tokens *t = sandbox_tokens(r->sandbox, s->file);
    int call = -1;
    for (int i = s->open; t && i >= 0 && call < 0; i--)
        call = token_is(t, i, "kernel") ? i : -1;
    for (int i = 0; t && i + 1 < t->count && t->token[i].line <= s->line && s->open < 0; i++) {
        const bool here = t->token[i].line == s->line && token_is(t, i, "kernel");
        const int label = i + 1 + token_is(t, i + 1, "(");
        if (here && (call < 0 || (name && tokens_is_string(t, label, name))))
            call = i;
    }
    return call >= 0 ? loc_of_token(r, s->file, t, call) : loc_of(r, s->file, s->line, 0);
}

struct diag_loc reader_locate(struct reader *r, const char *path, enum point point)
{
    const struct draft *d = &r->draft[r->now];
    struct site site = site_of(d, path);
    const struct tokens *t = site.open >= 0 ? sandbox_tokens(r->sandbox, site.file) : NULL;
    struct token_field field;
    struct diag_loc loc;
    if (t && tokens_find_field(t, site.open, path, &field))
        return loc_of_token(r, site.file, t, point == AT_KEY ? field.key : field.value);
    if (strpbrk(path, ".[") && locate_tensor(r, path, point, &loc))
        return loc;
    char parent[200];
    size_t n = strlen(path);
    while (t && n > 0 && n < sizeof parent) { /* the nearest enclosing table that is written there */
        while (n > 0 && path[n - 1] != '.' && path[n - 1] != '[')
            n--;
        n -= n > 0;
        memcpy(parent, path, n);
        parent[n] = 0;
        if (n > 0 && tokens_find_field(t, site.open, parent, &field))
            return loc_of_token(r, site.file, t, field.value);
    }
    return call_loc(r, &site, NULL);
}

struct diag_loc reader_call_loc(struct reader *r)
{
    return call_loc(r, &r->draft[r->now].site, reader_kernel(r)->name);
}

void reader_fault(struct reader *r, const char *path, enum point point, const char *rule, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    struct diag_loc loc = *path ? reader_locate(r, path, point) : reader_call_loc(r);
    diag_report(r->diags, DIAG_ERROR, loc, reader_kernel(r)->name, *path ? path : NULL, rule, "%s", text);
}

int reader_aside(const struct reader *r)
{
    return r->diags->reported;
}

void reader_aside_end(struct reader *r, int before, bool doubtful)
{
    struct draft *d = &r->draft[r->now];
    d->doubtful |= doubtful && r->diags->reported > before;
    d->reported += r->diags->reported - before;
}

/* ---- dims ------------------------------------------------------------------------------------------------------ */

/* The dim of that name, made where it is new. */
static int add_dim(struct reader *r, const char *name, size_t length, int64_t multiple)
{
    struct spec *spec = r->spec;
    int line = 0, file = sandbox_where(r->L, 1, &line);
    for (int i = 0; i < spec->dim_count; i++)
        if (strlen(spec->dim[i].name) == length && memcmp(spec->dim[i].name, name, length) == 0) {
            if (spec->dim[i].multiple != multiple)
                luaL_error(r->L, "dim %s is declared twice, with divisor %I and with %I; write one of them",
                           spec->dim[i].name, (LUAI_UACINT)spec->dim[i].multiple, (LUAI_UACINT)multiple);
            return i;
        }
    struct spec_dim *grown = arena_grow(r->arena, spec->dim, spec->dim_count, sizeof *grown);
    reader_check(r, grown);
    spec->dim = grown;
    struct spec_dim *dim = &spec->dim[spec->dim_count];
    *dim = (struct spec_dim){arena_copy(r->arena, name, length), multiple, loc_of(r, file, line, 0)};
    reader_check(r, dim->name);
    if (!is_identifier(dim->name) || strcmp(dim->name, "sm_count") == 0)
        luaL_error(r->L, "a dim cannot be called '%s': it becomes a name in C", dim->name);
    if (is_taken(dim->name))
        luaL_error(r->L, "a dim cannot be called '%s', which the emitted text uses; write another name", dim->name);
    if (spec->dim_count == MOST_DIMS)
        luaL_error(r->L, "there are more than %d dims", MOST_DIMS);
    return spec->dim_count++;
}

/* dims "M N K%8" gives a symbol for each. */
static int dims(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r)
        return luaL_error(L, "dims are declared before kernels, not in a reference");
    if (lua_type(L, 1) != LUA_TSTRING)
        return luaL_error(L, "dims takes names in one text: dims \"M N K%%8\"");
    const char *p = lua_tostring(L, 1);
    int count = 0;
    for (;;) {
        p += strspn(p, " \t\n,");
        if (!*p)
            break;
        size_t n = strcspn(p, " \t\n,%");
        const char *name = p;
        lua_Integer multiple = 1;
        p += n;
        if (*p == '%') {
            char *end;
            multiple = strtoll(p + 1, &end, 10);
            if (end == p + 1 || multiple < 1 || multiple > 1 << 20 || !strchr(" \t\n,", *end))
                return luaL_error(L, "'%s': after %% stands what must divide the dim: K%%8", name);
            p = end;
        }
        luaL_checkstack(L, 1, "dims");
        push_symbol(r, add_dim(r, name, n, multiple));
        count++;
    }
    if (count == 0)
        return luaL_error(L, "dims takes names in one text: dims \"M N K%%8\"");
    return count;
}

/* ---- kernels and like ------------------------------------------------------------------------------------------ */

static bool is_list(lua_State *L, int index)
{
    bool list = lua_rawgeti(L, index, 1) != LUA_TNIL;
    lua_pop(L, 1);
    return list;
}

static void add_place(struct reader *r, struct draft *d, const char *path)
{
    struct place *grown = arena_grow(r->arena, d->place, d->place_count, sizeof *grown);
    reader_check(r, grown);
    d->place = grown;
    d->place[d->place_count] = (struct place){arena_text(r->arena, path), d->site};
    reader_check(r, d->place[d->place_count].path);
    d->place_count++;
}

/* Puts the fields of the table at `from` over those of the table at `onto`, field by field in nested tables; lists,
 * tensors and the rest replace. false takes a tensor, scalar or function away. */
static void merge(struct reader *r, struct draft *d, int onto, int from, const char *prefix, int depth)
{
    lua_State *L = r->L;
    int count;
    luaL_checkstack(L, 6, "like");
    struct key *key = sorted_keys(r, from, &count);
    for (int i = 0; i < count; i++) {
        if (!key[i].name) {
            lua_rawgeti(L, from, key[i].position);
            lua_rawseti(L, onto, key[i].position);
            continue;
        }
        const char *path = arena_format(r->arena, "%s%s", prefix, key[i].name);
        reader_check(r, path);
        int was = lua_getfield(L, onto, key[i].name), now = lua_getfield(L, from, key[i].name);
        int top = lua_gettop(L);
        if (was == LUA_TTABLE && now == LUA_TTABLE && !is_list(L, top - 1) && !is_list(L, top) && depth < 8) {
            lua_newtable(L); /* the base's own table stays as it is */
            merge(r, d, top + 1, top - 1, "", 100);
            const char *inner = arena_format(r->arena, "%s.", path);
            reader_check(r, inner);
            merge(r, d, top + 1, top, inner, depth + 1);
        } else {
            if (depth < 100)
                add_place(r, d, path);
            bool gone = now == LUA_TBOOLEAN && !lua_toboolean(L, top) &&
                        (was == LUA_TUSERDATA || was == LUA_TFUNCTION || was == LUA_TTABLE);
            if (gone)
                lua_pushnil(L);
            else
                lua_pushvalue(L, top);
        }
        lua_setfield(L, onto, key[i].name);
        lua_settop(L, top - 2);
    }
}

/* Checks the kernel's name; a fault is reported, and the kernel is read all the same. */
static void check_name(struct reader *r)
{
    const char *name = reader_kernel(r)->name;
    if (!is_identifier(name))
        diag_report(r->diags, DIAG_ERROR, reader_call_loc(r), name, NULL, "KERNEL-NAME",
                    "the name becomes one in C: letters, digits and _, at most 100, no keyword");
    else if (strstr(name, "__"))
        diag_report(r->diags, DIAG_ERROR, reader_call_loc(r), name, NULL, "KERNEL-NAME",
                    "two _ stand between a kernel and its variant, as in gemm__unaligned; write one");
    else if (strncmp(name, "tilewright", strlen("tilewright")) == 0)
        diag_report(r->diags, DIAG_ERROR, reader_call_loc(r), name, NULL, "KERNEL-NAME",
                    "names that begin with tilewright are those of the launcher that kernels share (gen --shared); "
                    "write another name");
    else if (is_taken(name) || is_name(name, FUNCTION))
        diag_report(r->diags, DIAG_ERROR, reader_call_loc(r), name, NULL, "KERNEL-NAME",
                    "the text that is made of the kernel has its own %s; write another name, such as my_%s", name,
                    name);
    for (int i = 0; i < r->now; i++)
        if (strcmp(r->spec->kernel[i].name, name) == 0) {
            diag_report(r->diags, DIAG_ERROR, reader_call_loc(r), name, NULL, "KERNEL-NAME",
                        "the name is taken by the kernel of line %d; give each its own", r->spec->kernel[i].loc.line);
            return;
        }
}

/* The fields at `index` say of themselves what the kernel is. */
static bool is_whole(lua_State *L, int index)
{
    static const char *const says[] = {"family", "program", "template"};
    bool whole = false;
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        whole |= lua_getfield(L, index, says[i]) != LUA_TNIL;
        lua_pop(L, 1);
    }
    return whole;
}

/* The kernel handle in field `like` of the table at 1; -1: there is none, -2: what there is is none. */
static int like_of(struct reader *r)
{
    lua_State *L = r->L;
    int index = -1;
    if (lua_getfield(L, 1, "like") != LUA_TNIL) {
        const int *handle = luaL_testudata(L, -1, TYPE_KERNEL);
        index = handle ? *handle : -2;
        if (!handle)
            reader_fault(r, "like", AT_VALUE, "FIELD-TYPE",
                         "takes what a call of kernel returned, this is %s; write "
                         "local base = kernel \"...\" {...} and like = base",
                         describe(r, -1));
    }
    lua_pop(L, 1);
    return index;
}

/* A kernel without fields, the one that is read from now on. */
static struct draft *add_kernel(struct reader *r, const char *name, int reported)
{
    struct spec *spec = r->spec;
    if (spec->kernel_count == MOST_KERNELS)
        luaL_error(r->L, "there are more than %d kernels", MOST_KERNELS);
    struct spec_kernel *kernel = arena_grow(r->arena, spec->kernel, spec->kernel_count, sizeof *kernel);
    struct draft *draft = arena_grow(r->arena, r->draft, spec->kernel_count, sizeof *draft);
    reader_check(r, kernel);
    reader_check(r, draft);
    spec->kernel = kernel;
    r->draft = draft;
    kernel += spec->kernel_count;
    draft += spec->kernel_count;
    struct memory memory = r->arena->memory;
    *kernel = (struct spec_kernel){
        .name = name,
        .lua_reference = LUA_NOREF,
        .arch_like = r->options->arch_like,
        .grid = {-1, -1, -1},
        .shape.memory = memory,
        .graph.memory = memory,
    };
    *draft = (struct draft){.table = LUA_NOREF, .reported = reported};
    r->now = spec->kernel_count++;
    return draft;
}

/* Of a kernel that is made of another: its fields, on top of the stack, come from where that one's do. */
static void copy_places(struct reader *r, struct draft *draft, const struct draft *base)
{
    draft->origin = base->origin;
    for (int i = 0; i < base->place_count; i++) {
        struct place *grown = arena_grow(r->arena, draft->place, i, sizeof *grown);
        reader_check(r, grown);
        draft->place = grown;
        draft->place[draft->place_count++] = base->place[i];
    }
}

/* Reads the kernel from the table at `table` and says whether it can be planned. */
static void read_sound(struct reader *r, int table, bool named)
{
    read_kernel(r, table);
    struct spec_kernel *kernel = reader_kernel(r);
    const struct draft *draft = &r->draft[r->now];
    kernel->sound = r->diags->reported == draft->reported && !draft->unplanned && (named || !kernel->template_path);
}

int read_setup(struct reader *r, int base, const char *arch, int use, struct site site, struct diag_loc row)
{
    static const char *const not_taken[] = {"like", "tune", "run", "bench"};
    lua_State *L = r->L;
    luaL_checkstack(L, 8, "tuned");
    struct draft *draft = add_kernel(r, r->spec->kernel[base].name, r->diags->reported);
    const int index = r->now, places = r->draft[base].place_count;
    r->spec->kernel[index].loc = row;
    r->spec->kernel[index].setup.of = base;
    draft->site = site;
    copy_places(r, draft, &r->draft[base]);
    lua_newtable(L);
    const int table = lua_gettop(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, r->draft[base].table);
    merge(r, draft, table, table + 1, "", 100);
    if (lua_getfield(L, table + 1, "arch") == LUA_TTABLE && lua_getfield(L, -1, arch) == LUA_TTABLE) {
        merge(r, draft, table, lua_gettop(L), "", 0);
        draft->place_count = places; /* the spec has no place for them by this path */
    }
    lua_settop(L, table);
    merge(r, draft, table, use, "", 0);
    for (size_t i = 0; i < sizeof not_taken / sizeof *not_taken; i++) {
        lua_pushnil(L);
        lua_setfield(L, table, not_taken[i]);
    }
    lua_newtable(L);
    lua_newtable(L);
    lua_setfield(L, -2, arch);
    lua_setfield(L, table, "arch");
    lua_pushvalue(L, table);
    draft->table = luaL_ref(L, LUA_REGISTRYINDEX);
    read_sound(r, table, true);
    lua_settop(L, table - 1);
    return index;
}

/* kernel "NAME" (fields): upvalue 1 is the index of the name. */
static int declare(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r)
        return luaL_error(L, "a kernel is declared in a spec, not in a reference");
    struct name *name = &r->name[lua_tointeger(L, lua_upvalueindex(1))];
    int reported = r->diags->reported;
    name->used = true;
    if (lua_type(L, 1) != LUA_TTABLE)
        return luaL_error(L, "kernel \"%s\" takes a table of fields, this is %s", name->text, describe(r, 1));
    lua_settop(L, 1);
    struct draft *draft = add_kernel(r, name->text, reported);
    struct spec_kernel *kernel = reader_kernel(r);
    draft->site.file = sandbox_where(L, 1, &draft->site.line);
    const struct tokens *t = sandbox_tokens(r->sandbox, draft->site.file);
    draft->site.open = t ? tokens_find_call(t, "kernel", name->text, draft->site.line) : -1;
    draft->origin = draft->site;
    kernel->loc = reader_call_loc(r);
    diag_add_kernel(r->diags, name->text, kernel->loc);
    int aside = reader_aside(r);
    check_name(r);
    reader_aside_end(r, aside, false);
    bool named = aside == r->diags->reported;
    aside = reader_aside(r);
    int like = like_of(r);
    lua_newtable(L);
    if (like >= 0) {
        const struct draft *base = &r->draft[like];
        draft->likes = base->likes + 1;
        if (draft->likes > MOST_LIKES)
            return luaL_error(L, "like goes back through more than %d kernels; name one nearer to the first",
                              MOST_LIKES);
        copy_places(r, draft, base);
        lua_rawgeti(L, LUA_REGISTRYINDEX, base->table);
        merge(r, draft, 2, 3, "", 100);
        lua_settop(L, 2);
    }
    merge(r, draft, 2, 1, "", like >= 0 ? 0 : 100);
    lua_pushnil(L);
    lua_setfield(L, 2, "like");
    lua_pushvalue(L, 2);
    draft->table = luaL_ref(L, LUA_REGISTRYINDEX);
    if (like == -2) { /* most of its fields may be missing */
        like = is_whole(L, 2) ? -1 : -2;
        reader_aside_end(r, aside, false);
    }
    if (like != -2)
        read_sound(r, 2, named);
    int *handle = lua_newuserdatauv(L, sizeof *handle, 0);
    *handle = r->now;
    luaL_setmetatable(L, TYPE_KERNEL);
    return 1;
}

/* kernel "NAME" gives the function that takes the fields. */
static int kernel_named(lua_State *L)
{
    struct reader *r = reader_of(L);
    if (!r || r->epoch || r->tuned)
        return luaL_error(L, "a kernel is declared at the top of a spec, not in %s",
                          r && r->tuned ? "SPEC.tuned.lua" : "a function of one");
    if (lua_type(L, 1) != LUA_TSTRING)
        return luaL_error(L, "kernel takes its name first: kernel \"NAME\" { ... }, this is %s", describe(r, 1));
    if (r->name_count == 2 * MOST_KERNELS)
        return luaL_error(L, "there are more than %d kernels", MOST_KERNELS);
    struct name *grown = arena_grow(r->arena, r->name, r->name_count, sizeof *grown);
    reader_check(r, grown);
    r->name = grown;
    struct name *name = &r->name[r->name_count];
    *name = (struct name){.text = arena_text(r->arena, lua_tostring(L, 1))};
    reader_check(r, name->text);
    name->site.file = sandbox_where(L, 1, &name->site.line);
    name->site.open = -1;
    lua_pushinteger(L, r->name_count++);
    lua_pushcclosure(L, declare, 1);
    return 1;
}

/* ---- the run --------------------------------------------------------------------------------------------------- */

static int setup(lua_State *L)
{
    struct reader *r = lua_touserdata(L, 1);
    static const struct {
        const char *name;
        lua_CFunction f;
    } word[] = {{"dims", dims}, {"tensor", make_tensor}, {"scalar", make_scalar}, {"kernel", kernel_named},
                {"tuned", tuned_named}};
    lua_pushlightuserdata(L, r);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &reader_key);
    luaL_newmetatable(L, TYPE_TENSOR);
    luaL_newmetatable(L, TYPE_SCALAR);
    luaL_newmetatable(L, TYPE_KERNEL);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        lua_pushcfunction(L, word[i].f);
        sandbox_set_global(r->sandbox, word[i].name);
    }
    sandbox_know_values(r->sandbox, trace_value_at);
    open_expressions(r);
    return 0;
}

/* The folder of a path; "." where it names none. */
static char *folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return arena_text(a, ".");
    return arena_copy(a, path, slash == path ? 1 : (size_t)(slash - path));
}

/* After the run: sizes by all dims, dependencies, calls without a table. */
static int finish(lua_State *L)
{
    struct reader *r = lua_touserdata(L, 1);
    struct spec *spec = r->spec;
    for (int i = 0; i < r->name_count; i++)
        if (!r->name[i].used)
            diag_report(r->diags, DIAG_ERROR, call_loc(r, &r->name[i].site, r->name[i].text), r->name[i].text, NULL,
                        "KERNEL-FIELDS", "there are no fields; write kernel \"%s\" { ... }", r->name[i].text);
    if (r->name_count == 0)
        diag_report(r->diags, DIAG_ERROR, loc_of(r, 0, 0, 0), NULL, NULL, "KERNEL-NONE",
                    "the spec declares no kernel; write kernel \"NAME\" { family = ... }");
    spec->dependency_count = sandbox_dependency_count(r->sandbox);
    spec->dependency = arena_alloc(r->arena, (size_t)spec->dependency_count * sizeof *spec->dependency);
    reader_check(r, spec->dependency);
    for (int i = 0; i < spec->dependency_count; i++) {
        spec->dependency[i] = arena_text(r->arena, sandbox_dependency(r->sandbox, i));
        reader_check(r, spec->dependency[i]);
    }
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &reader_key);
    return 0;
}

/* Where there is a SPEC.tuned.lua, or what stands for it: its set-ups become kernels behind those of the spec. */
static int run_tuned(struct reader *r, const char *path, struct sandbox_error *error)
{
    const char *text = r->options->tuned, *file = text ? "" : spec_tuned_path(r->arena, path);
    int status = SANDBOX_OK, kernels = r->spec->kernel_count;
    struct stat info;
    if (!file)
        return SANDBOX_NO_MEMORY;
    if (text ? !*text : lstat(file, &info) != 0)
        return SANDBOX_OK;
    status = text ? sandbox_load(r->sandbox, "set-ups", text, strlen(text), NULL, error)
                  : sandbox_load_file(r->sandbox, file, error);
    r->tuned = true;
    if (status == SANDBOX_OK)
        status = sandbox_call(r->sandbox, 0, 0, error);
    r->tuned = false;
    r->spec->setup_count = r->spec->kernel_count - kernels;
    r->spec->kernel_count = kernels;
    r->spec->setup = r->spec->kernel + kernels;
    return status;
}

static int run(struct reader *r, const char *path)
{
    struct sandbox_error error = {.file = -1};
    struct spec_store *store = r->spec->arena;
    int status = sandbox_protect(r->sandbox, setup, r, &error);
    if (status == SANDBOX_OK)
        status = sandbox_load_file(r->sandbox, path, &error);
    if (status == SANDBOX_OK)
        status = sandbox_call(r->sandbox, 0, 0, &error);
    if (status == SANDBOX_OK)
        status = run_tuned(r, path, &error);
    if (status == SANDBOX_OK)
        return sandbox_protect(r->sandbox, finish, r, &error);
    if (status == SANDBOX_NO_MEMORY && store->budget.refused) { /* there is more, but not for it */
        error.rule = "SANDBOX-MEMORY";
        snprintf(error.text, sizeof error.text,
                 "the spec takes more than %d MiB of memory, the most that there may be; is there a loop without end?",
                 MOST_MEMORY >> 20);
        status = SANDBOX_FAULT;
    }
    if (status == SANDBOX_FAULT)
        sandbox_report(r->sandbox, r->diags, &error, NULL, NULL);
    return status;
}

int spec_read(const char *path, const struct spec_options *options, struct spec *spec, struct diag_set *diags)
{
    struct memory memory = {options->alloc, options->alloc_context};
    int errors = diags->errors, status = SANDBOX_NO_MEMORY;
    *spec = (struct spec){0};
    struct spec_store *store = memory_resize(&memory, NULL, 0, sizeof *store);
    if (!store)
        return 3;
    *store = (struct spec_store){.budget = {.memory = memory, .most = MOST_MEMORY}};
    memory = store->arena.memory = memory_within(&store->budget);
    spec->arena = store;
    spec->path = arena_text(&store->arena, path);
    char *folder = folder_of(&store->arena, path);
    struct sandbox_options limits = {.memory_limit = options->memory_limit,
                                     .instruction_limit = options->instruction_limit,
                                     .folder = folder,
                                     .guarded = true,
                                     .memory = memory};
    store->sandbox = spec->path && folder ? sandbox_open(&limits) : NULL;
    struct reader r = {.options = options,
                       .spec = spec,
                       .diags = diags,
                       .sandbox = store->sandbox,
                       .arena = &store->arena,
                       .shape.memory = memory};
    if (store->sandbox) {
        r.L = sandbox_lua(store->sandbox);
        status = run(&r, path);
    }
    expr_free(&r.shape);
    if (status == SANDBOX_NO_MEMORY || diags->out_of_memory)
        return 3;
    if (diags->errors > errors)
        return 1;
    spec->lua = r.L;
    return 0;
}

void spec_free(struct spec *spec)
{
    struct spec_store *store = spec->arena;
    if (!store)
        return;
    for (int i = 0; i < spec->kernel_count + spec->setup_count; i++) {
        expr_free(&spec->kernel[i].shape);
        expr_free(&spec->kernel[i].graph);
    }
    sandbox_close(store->sandbox);
    struct memory memory = store->budget.memory;
    arena_free(&store->arena);
    memory_resize(&memory, store, sizeof *store, 0);
    *spec = (struct spec){0};
}
