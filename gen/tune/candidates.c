#include <stdio.h>
#include <string.h>

#include "program/program.h"
#include "tune/tune.h"

/* ---- fields and values ------------------------------------------------------------------------------------------ */

static const struct offer {
    const char *path, *values;
} offers[] = {
#define OFFER(path, values, doc) {path, values},
#include "tune/offers.def"
#undef OFFER
};

static struct tune_field *add_field(struct tune_fields *to, struct arena *arena, const char *path, bool offered)
{
    struct tune_field *grown = arena_grow(arena, to->field, to->count, sizeof *grown);
    if (!grown || !path)
        return NULL;
    to->field = grown;
    grown[to->count] = (struct tune_field){.path = path, .offered = offered};
    return &grown[to->count++];
}

/* Adds a value that is not the kernel's own, which every product has. */
static bool add_value(struct tune_field *f, struct arena *arena, const char *value, const char *own)
{
    if (!value)
        return false;
    if (strcmp(value, own) == 0)
        return true;
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->value[i], value) == 0)
            return true;
    const char **grown = arena_grow(arena, f->value, f->count, sizeof *grown);
    if (!grown)
        return false;
    f->value = grown;
    grown[f->count++] = value;
    return true;
}

/* A value of a row as a spec writes it. */
static const char *written(struct arena *arena, const struct spec_row *row, const struct spec_value *v)
{
    if (row->type == 'i')
        return arena_format(arena, "%lld", (long long)v->integer);
    if (row->type == 'b')
        return v->integer ? "true" : "false";
    return arena_format(arena, "\"%s\"", v->text ? v->text : "");
}

static const struct spec_axis_tune *axis_list(const struct spec_kernel *k, enum spec_axis_field field, int axis)
{
    for (int i = 0; i < k->axis_tune_count; i++)
        if (k->axis_tune[i].field == field && k->axis_tune[i].axis == axis)
            return &k->axis_tune[i];
    return NULL;
}

/* Another tile would compute something else. */
static bool is_meaning(const struct spec_kernel *k, int axis)
{
    const size_t length = strlen(k->axis[axis]);
    for (const char *at = k->meaning; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncmp(at, k->axis[axis], length) == 0)
            return true;
    return false;
}

/* Tile or cluster along an axis: the spec's list, or sizes beside the kernel's own. */
static int add_axis(struct tune_fields *to, struct arena *arena, const struct spec_kernel *k, const struct program *p,
                    enum spec_axis_field field, int axis)
{
    const struct spec_axis_tune *list = axis_list(k, field, axis);
    const int own = field == SPEC_TILE ? p->axis[axis].tile : p->axis[axis].cluster > 1 ? p->axis[axis].cluster : 1;
    struct tune_field *f = add_field(
        to, arena, arena_format(arena, "%s.%s", field == SPEC_TILE ? "tile" : "cluster", k->axis[axis]), !list);
    const char *own_text = arena_format(arena, "%d", own);
    bool fine = f && own_text;
    for (int i = 0; fine && list && i < list->count; i++)
        fine = add_value(f, arena, arena_format(arena, "%d", list->value[i]), own_text);
    const int other[2] = {field == SPEC_TILE ? own / 2 : 1, field == SPEC_TILE ? 2 * own : 2};
    for (int i = 0; fine && !list && i < 2; i++)
        if (field == SPEC_CLUSTER || other[i] >= 8)
            fine = add_value(f, arena, arena_format(arena, "%d", other[i]), own_text);
    return fine ? 0 : 3;
}

/* The rows of which the spec's `tune` has a list. */
static int add_lists(struct tune_fields *to, struct arena *arena, const struct spec_kernel *k,
                     const struct spec_fields *own)
{
    for (int i = 0; i < k->tune_count; i++) {
        const struct spec_row *row = &spec_rows[k->tune[i].field];
        const struct spec_value *v = &own->value[k->tune[i].field];
        const char *own_text = v->set ? written(arena, row, v) : "";
        struct tune_field *f = add_field(to, arena, row->path, false);
        bool fine = f && own_text;
        for (int n = 0; fine && n < k->tune[i].count; n++)
            fine = add_value(f, arena, written(arena, row, &k->tune[i].value[n]), own_text);
        if (!fine)
            return 3;
    }
    return 0;
}

static bool is_listed(const struct spec_kernel *k, const char *path)
{
    for (int i = 0; i < k->tune_count; i++)
        if (strcmp(spec_rows[k->tune[i].field].path, path) == 0)
            return true;
    return false;
}

/* Whether something on the architecture reads the row. */
static bool may_have(const struct arch *arch, const struct spec_row *row)
{
    return !*row->needs || (strcmp(row->needs, "wgmma") == 0 && arch->wgmma) ||
           (strcmp(row->needs, "mma.sync") == 0 && !arch->wgmma);
}

/* The values of offers.def; NULL: it has no such row. */
static const char *offers_of(const char *path)
{
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        if (strcmp(offers[i].path, path) == 0)
            return offers[i].values;
    return NULL;
}

/* The values that are offered of a row, separated by blanks; "" none. NULL: out of memory. */
static const char *offered(const struct spec_row *row, struct arena *arena)
{
    const char *text = offers_of(row->path);
    if (text)
        return text;
    text = "";
    if (strncmp(row->path, "pipeline.", 9) != 0 && strncmp(row->path, "schedule.", 9) != 0)
        return text;
    for (const char *w = row->words; row->type == 'w' && text && *w; w += strcspn(w, " "), w += *w == ' ')
        text = arena_format(arena, "%s%s\"%.*s\"", text, *text ? " " : "", (int)strcspn(w, " "), w);
    return row->type == 'b' ? "true false" : text;
}

/* What the kernel has: its own value, or that which the row says it takes. */
static const char *had(const struct spec_row *row, const struct spec_value *v, struct arena *arena)
{
    if (v->set)
        return written(arena, row, v);
    return row->type == 'w' ? arena_format(arena, "\"%s\"", row->fallback) : row->fallback;
}

static bool add_values(struct tune_field *f, struct arena *arena, const char *values, const char *own)
{
    bool fine = f && own;
    for (const char *v = values; fine && *v; v += strcspn(v, " "), v += *v == ' ')
        fine = add_value(f, arena, arena_copy(arena, v, strcspn(v, " ")), own);
    return fine;
}

/* What the L2 keeps of each tensor with tiles. */
static int add_caches(struct tune_fields *to, struct arena *arena, const struct spec_kernel *k)
{
    for (int i = 0; i < k->tensor_count; i++) {
        const struct spec_tensor *t = &k->tensor[i];
        const char *values = offers_of(t->out ? "cache.written" : "cache.read"), *own = "";
        if (t->rank < 2 || !values)
            continue;
        for (int n = 0; n < k->cache_count && own; n++)
            if (k->cache[n].tensor == i)
                own = arena_format(arena, "\"%s\"", k->cache[n].word);
        struct tune_field *f = add_field(to, arena, arena_format(arena, "cache.%s", t->name), true);
        if (!add_values(f, arena, values, own))
            return 3;
        f->memory = !t->out;
    }
    return 0;
}

static int add_offers(struct tune_fields *to, struct arena *arena, const struct spec_kernel *k, const struct arch *arch,
                      const struct spec_fields *own)
{
    for (int row = 0; row < SPEC_FIELD_COUNT; row++) {
        const struct spec_row *r = &spec_rows[row];
        const char *values = strcmp(r->family, "program") == 0 ? offered(r, arena) : "";
        if (!values)
            return 3;
        if (!*values || is_listed(k, r->path) || !may_have(arch_with(arch, own->value[FIELD_INSTRUCTION].text), r))
            continue;
        const char *own_text = had(r, &own->value[row], arena);
        struct tune_field *f = add_field(to, arena, r->path, true);
        if (!add_values(f, arena, values, own_text))
            return 3;
    }
    return add_caches(to, arena, k);
}

int tune_fields(const struct compile *c, const struct spec_kernel *k, const struct arch *arch, struct arena *arena,
                struct tune_fields *together, struct tune_fields *alone)
{
    const struct program *p = spec_program(k, arch->name);
    struct spec_fields own;
    int status = 0;
    (void)c;
    spec_merge(k, arch->name, &own);
    status = add_lists(together, arena, k, &own);
    for (int field = SPEC_TILE; p && field <= SPEC_CLUSTER && !status; field++)
        for (int a = 0; a < p->axis_count && !status; a++) {
            const bool tiled = p->axis[a].tile > 0 && !(field == SPEC_TILE && is_meaning(k, a));
            const bool items = p->axis[a].extent >= 0;
            const bool listed = axis_list(k, (enum spec_axis_field)field, a) != NULL;
            if (field == SPEC_TILE ? tiled || listed : arch->clusters && (listed || (items && tiled)))
                status = add_axis(together, arena, k, p, (enum spec_axis_field)field, a);
        }
    return status || !p ? status : add_offers(alone, arena, k, arch, &own);
}

/* ---- texts of set-ups ------------------------------------------------------------------------------------------- */

/* The chosen values as a set-up's fields; pick[i] 0: field i is as the kernel has it. */
static const char *use_text(const struct tune_fields *f, const int *pick, struct arena *arena)
{
    const char *text = "";
    for (int i = 0; i < f->count && text; i++) {
        const char *path = f->field[i].path, *dot = strchr(path, '.');
        const size_t group = dot ? (size_t)(dot - path) : 0;
        bool told = false;
        for (int n = 0; n < i && dot; n++)
            told = told || (pick[n] && strncmp(f->field[n].path, path, group + 1) == 0);
        if (!pick[i] || told)
            continue;
        const char *comma = *text ? ", " : "";
        if (!dot) {
            text = arena_format(arena, "%s%s%s = %s", text, comma, path, f->field[i].value[pick[i] - 1]);
            continue;
        }
        text = arena_format(arena, "%s%s%.*s = { ", text, comma, (int)group, path);
        const char *inner = "";
        for (int n = i; n < f->count && text; n++)
            if (pick[n] && strncmp(f->field[n].path, path, group + 1) == 0) {
                text = arena_format(arena, "%s%s%s = %s", text, inner, f->field[n].path + group + 1,
                                    f->field[n].value[pick[n] - 1]);
                inner = ", ";
            }
        text = text ? arena_format(arena, "%s }", text) : NULL;
    }
    return text;
}

const char **tune_product(const struct tune_fields *all, struct arena *arena, int *count, int *left_out)
{
    struct tune_fields f = *all;
    int *pick = arena_alloc(arena, sizeof *pick * ((size_t)f.count + 1));
    double product = 1.0;
    *count = *left_out = 0;
    f.field = arena_alloc(arena, sizeof *f.field * ((size_t)f.count + 1));
    if (!pick || !f.field)
        return NULL;
    memcpy(f.field, all->field, sizeof *f.field * (size_t)f.count);
    for (int i = 0; i < f.count; i++)
        product *= f.field[i].count + 1;
    for (int offered = 1; offered >= 0; offered--)
        for (int i = f.count - 1; i >= 0 && product > TUNE_MOST_CANDIDATES; i--)
            if (f.field[i].offered == offered && f.field[i].count) {
                product /= f.field[i].count + 1;
                f.field[i].count = 0;
                ++*left_out;
            }
    const char **use = arena_alloc(arena, sizeof *use * (size_t)(product + 1.5));
    for (int more = 1; use && more;) {
        if (!(use[(*count)++] = use_text(&f, pick, arena)))
            return NULL;
        more = 0;
        for (int i = f.count - 1; i >= 0 && !more; i--) {
            more = pick[i] < f.field[i].count;
            pick[i] = more ? pick[i] + 1 : 0;
        }
    }
    return use;
}

const char *tune_with(const char *use, const char *path, const char *value, struct arena *arena)
{
    const char *dot = strchr(path, '.');
    if (!dot)
        return arena_format(arena, "%s%s%s = %s", use, *use ? ", " : "", path, value);
    const char *group = arena_format(arena, "%.*s = { ", (int)(dot - path), path);
    const char *field = arena_format(arena, " %s = ", dot + 1);
    const char *at = group && field ? strstr(use, group) : NULL;
    if (!group || !field)
        return NULL;
    if (!at)
        return arena_format(arena, "%s%s%s%s = %s }", use, *use ? ", " : "", group, dot + 1, value);
    const char *end = strchr(at, '}'), *had = strstr(at, field);
    if (had && had < end) { /* another value of it */
        const char *from = had + strlen(field);
        return arena_format(arena, "%.*s%s%s", (int)(from - use), use, value, from + strcspn(from, ", }"));
    }
    return arena_format(arena, "%.*s%s = %s, %s", (int)(at - use + (long)strlen(group)), use, dot + 1, value,
                        at + strlen(group));
}

/* ---- set-ups ------------------------------------------------------------------------------------------------------
 */

/* All of them as a file of set-ups, a row each. */
static char *file_text(const char *kernel, const char *arch, const char **use, int count, struct arena *arena)
{
    size_t room = strlen(kernel) + 200, at;
    for (int i = 0; i < count; i++)
        room += strlen(use[i]) + 20;
    char *text = arena_alloc(arena, room);
    if (!text)
        return NULL;
    at = (size_t)snprintf(text, room, "tuned \"%s\" { gpu = \"any\", arch = \"%s\",\n", kernel, arch);
    for (int i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, room - at, "{ use = { %s } },\n", use[i]);
    snprintf(text + at, room - at, "}\n");
    return text;
}

/* What became of row i of the file. */
static struct tune_candidate candidate_of(const struct compile *c, const struct spec_tuned *row, const char *text,
                                          struct arena *arena)
{
    struct tune_candidate made = {arena_text(arena, row->use), text, -1, NULL};
    const struct spec_kernel *setup = row->setup >= 0 ? &c->spec.setup[row->setup] : NULL;
    for (int i = 0; i < c->unit_count && made.unit < 0; i++)
        if (setup ? c->unit[i].as == setup : c->unit[i].setup == 0 && c->unit[i].variant == 0)
            made.unit = i;
    const struct compile_unit *unit = made.unit >= 0 ? &c->unit[made.unit] : NULL;
    if (setup && setup->setup.why)
        made.why = setup->setup.why;
    else if (!unit || unit->why || !unit->emitted)
        made.why = unit && unit->why ? unit->why : "it cannot be read";
    if (made.why)
        made.unit = -1;
    return made;
}

int tune_set_open(struct tune_set *set, const struct tune_options *o, const struct spec_kernel *kernel,
                  const struct arch *arch, const char **use, int count, struct arena *arena)
{
    memset(set, 0, sizeof *set);
    const struct compile_choice choice = {.kernel = kernel->name, .arch = arch->name};
    const char *text = file_text(kernel->name, arch->name, use, count, arena);
    set->candidate = arena_alloc(arena, sizeof *set->candidate * ((size_t)count + 1));
    if (!text || !set->candidate)
        return 3;
    struct compile *c = &set->compile;
    int status = compile_open_tuned(c, "tune", o->spec, false, text, true);
    set->open = true;
    if (status == 0)
        status = compile_units(c, &choice);
    for (int k = 0; k < c->spec.kernel_count && status == 0; k++) {
        const struct spec_kernel *own = &c->spec.kernel[k];
        if (strcmp(own->name, kernel->name) != 0)
            continue;
        for (int i = 0; i < own->tuned_count && i < count; i++)
            set->candidate[set->count++] = candidate_of(c, &own->tuned[i], use[i], arena);
        status = set->count == count ? 0 : 3;
        for (int i = 0; i < set->count; i++)
            status = set->candidate[i].use ? status : 3;
    }
    compile_report(c);
    return status;
}

void tune_set_close(struct tune_set *set)
{
    if (set->open)
        compile_close(&set->compile);
    set->open = false;
}

/* What is wrong with compiled candidates, spills say, is theirs: they are none. Exit status. */
int tune_set_compile(struct tune_set *set, const struct tune_clock *clock)
{
    struct compile *c = &set->compile;
    if (clock->no_code)
        return 0;
    const struct diag_mark mark = diag_mark(&c->diags);
    const int status = compile_cubins(c, COMPILE_NVRTC);
    diag_take_back(&c->diags, mark, NULL);
    for (int i = 0; i < set->count; i++) {
        struct tune_candidate *candidate = &set->candidate[i];
        const struct compile_unit *unit = candidate->unit >= 0 ? &c->unit[candidate->unit] : NULL;
        if (!unit || !unit->wanted)
            continue;
        const struct tw_cubin_info *info = &unit->compiled[COMPILE_NVRTC].info;
        const bool spills = !unit->plan.allow_spills && (info->spill_instructions || info->frame);
        if (unit->status[COMPILE_NVRTC] != TW_OK || spills) {
            candidate->why = spills ? "it spills" : "it does not compile";
            candidate->unit = -1;
        }
    }
    return status == 3 ? 3 : 0;
}

void tune_want(struct tune_set *set, int candidate)
{
    struct compile_unit *unit = &set->compile.unit[set->candidate[candidate].unit];
    unit->wanted = true;
    unit->outputs = TW_OUTPUT_CUBIN | TW_OUTPUT_PTX;
}
