#include "random_tables.h"

#include <string.h>

#include "lower/lower.h"
#include "lower/place_ops.h"

/* ---- rows of place_ops.def --------------------------------------------------------------------------------------- */

static const char *row_name(const struct place_op *o, char name[160])
{
    static const char *const text[PLACE_TEXTS] = {[PLACE_TEXT_DIRECT] = "direct",
                                                  [PLACE_TEXT_COPY] = "copy",
                                                  [PLACE_TEXT_SM_90A] = "sm_90a",
                                                  [PLACE_TEXT_MMA_SYNC] = "mma.sync"};
    snprintf(name, 160, "%s %s %s: %s to %s", text[o->text], plan_op_word[o->step], o->call ? o->call : "-",
             place_end_word[o->from], place_end_word[o->to]);
    return name;
}

void random_tables_rows(const struct compile_unit *unit, FILE *out)
{
    enum { ROWS = 256 };
    const struct plan *p = &unit->plan;
    bool met[ROWS] = {false};
    char name[160];
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct place_op *o = place_op_of(p, &p->role[r].step[i]);
            if (o && o - place_ops < ROWS)
                met[o - place_ops] = true;
        }
    for (int i = 0; i < ROWS && place_ops[i].block; i++)
        if (met[i])
            fprintf(out, "hit row.%s\n", row_name(&place_ops[i], name));
}

/* ---- fields of how a kernel runs --------------------------------------------------------------------------------- */

/* Fields that are no plain ones, by what a lowering notes of them; a kind without a name here is a hole. */
static const char *const kind_field[FIELD_KINDS] = {
    [FIELD_CLUSTER] = "cluster",     [FIELD_SWIZZLE] = "swizzle", [FIELD_AHEAD] = "ahead", [FIELD_VIA] = "via",
    [FIELD_DIRECTION] = "direction", [FIELD_CACHE] = "cache",     [FIELD_SPLIT] = "split", [FIELD_MAPS] = "maps"};

static const char *const lowerings[] = {"direct", "pipeline", "mma_sync"};
enum { LOWERINGS = sizeof lowerings / sizeof *lowerings };

static bool is_of_programs(const struct spec_row *row)
{
    return strcmp(row->family, "template") != 0;
}

static void tell(FILE *out, const char *field, const char *lowering, bool read, bool changed)
{
    if (read)
        fprintf(out, "hit read.%s %s\n", field, lowering);
    if (read && changed)
        fprintf(out, "hit changed.%s %s\n", field, lowering);
}

static void tell_rows(const struct compile_unit *unit, const struct spec_kernel *first, const char *lowering, FILE *out)
{
    struct spec_fields own, other;
    spec_merge(unit->kernel, unit->arch->name, &own);
    spec_merge(first, unit->arch->name, &other);
    for (int f = 0; f < SPEC_FIELD_COUNT; f++) {
        const struct spec_value *a = &own.value[f], *b = &other.value[f];
        bool same = a->set == b->set && (!a->set || a->integer == b->integer);
        if (is_of_programs(&spec_rows[f]))
            tell(out, spec_rows[f].path, lowering, field_reads_has(&unit->plan.reads, FIELD_OF_SCHEMA, f), !same);
    }
}

static void tell_axes(const struct compile_unit *unit, const struct spec_kernel *first, const char *lowering, FILE *out)
{
    const struct program *own = spec_program(unit->kernel, unit->arch->name);
    const struct program *other = spec_program(first, unit->arch->name);
    bool tile = false, cluster = false, read = false;
    for (int i = 0; i < own->axis_count && i < other->axis_count; i++) {
        tile = tile || own->axis[i].tile != other->axis[i].tile;
        cluster = cluster || own->axis[i].cluster != other->axis[i].cluster;
        read = read || field_reads_has(&unit->plan.reads, FIELD_CLUSTER, i);
    }
    tell(out, "tile", lowering, true, tile);
    tell(out, kind_field[FIELD_CLUSTER], lowering, read, cluster);
}

static void tell_swizzle(const struct compile_unit *unit, const struct spec_kernel *first, const char *lowering,
                         FILE *out)
{
    const struct spec_kernel *k = unit->kernel;
    bool read = false, changed = false;
    for (int i = 0; i < k->tensor_count; i++)
        for (int f = 0; f < first->tensor_count; f++) {
            const struct spec_tensor *a = &k->tensor[i], *b = &first->tensor[f];
            bool heeded = field_reads_has(&unit->plan.reads, FIELD_SWIZZLE, i) && strcmp(a->name, b->name) == 0;
            read = read || heeded;
            changed = changed || (heeded && (a->swizzle_set != b->swizzle_set || a->swizzle != b->swizzle));
        }
    tell(out, kind_field[FIELD_SWIZZLE], lowering, read, changed);
}

static void tell_entries(const struct compile_unit *unit, const struct spec_kernel *first, const char *lowering,
                         FILE *out)
{
    const struct spec_kernel *k = unit->kernel;
    const struct field_reads *reads = &unit->plan.reads;
    char name[64];
    for (int i = 0; i < k->ahead_count; i++)
        tell(out, kind_field[FIELD_AHEAD], lowering, field_reads_has(reads, FIELD_AHEAD, i), first->ahead_count == 0);
    for (int i = 0; i < k->direction_count; i++) {
        bool same = false;
        for (int f = 0; f < first->direction_count; f++)
            same = same || (strcmp(first->direction[f].name, k->direction[i].name) == 0 &&
                            first->direction[f].down == k->direction[i].down);
        tell(out, kind_field[FIELD_DIRECTION], lowering, field_reads_has(reads, FIELD_DIRECTION, i), !same);
    }
    for (int i = 0; i < k->cache_count; i++)
        tell(out, kind_field[FIELD_CACHE], lowering, field_reads_has(reads, FIELD_CACHE, i), first->cache_count == 0);
    for (int i = 0; i < k->split_count; i++)
        tell(out, kind_field[FIELD_SPLIT], lowering, field_reads_has(reads, FIELD_SPLIT, i),
             first->split_count == 0 || first->split[0].parts != k->split[i].parts ||
                 first->split[0].blocks != k->split[i].blocks);
    for (int i = 0; i < k->via_count; i++) {
        bool same = false;
        for (int f = 0; f < first->via_count; f++)
            same = same ||
                   (strcmp(first->via[f].name, k->via[i].name) == 0 && strcmp(first->via[f].word, k->via[i].word) == 0);
        snprintf(name, sizeof name, "%s.%.30s", kind_field[FIELD_VIA], k->via[i].word);
        tell(out, name, lowering, field_reads_has(reads, FIELD_VIA, i), !same);
    }
}

void random_tables_fields(const struct compile_unit *unit, const struct spec_kernel *first, FILE *out)
{
    const char *lowering = program_lowerer_of(unit->kernel, unit->arch)->name;
    if (unit->kernel == first)
        return;
    tell_rows(unit, first, lowering, out);
    tell_axes(unit, first, lowering, out);
    tell_swizzle(unit, first, lowering, out);
    tell_entries(unit, first, lowering, out);
}

/* ---- holes ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *why;
} uncovered[] = {
#define RANDOM_UNCOVERED(name, why) {name, why},
#include "random_uncovered.def"
};

enum { SOME = 100, MANY = 500 };

struct holes {
    int programs;
    random_hits *hits;
    void *context;
};

static int hits(const struct holes *h, const char *kind, const char *name)
{
    char text[200];
    snprintf(text, sizeof text, "%s.%s", kind, name);
    return h->hits(h->context, text);
}

/* Why nothing is to come to it; NULL: it is to. */
static const char *excuse(const char *name)
{
    char every[200];
    snprintf(every, sizeof every, "%.*s *", (int)strcspn(name, " "), name);
    for (size_t i = 0; i < sizeof uncovered / sizeof *uncovered; i++)
        if (strcmp(uncovered[i].name, name) == 0 || strcmp(uncovered[i].name, every) == 0)
            return uncovered[i].why;
    return NULL;
}

/* Changed by few programs, those of one loop of plain dots: it counts where there are many. */
static bool is_rare(const char *field)
{
    return strcmp(field, "schedule.stream") == 0;
}

/* A field that lowerings read and no kernel changes is a hole of each, and so is one that nobody changes at all. */
static void print_field(const struct holes *h, const char *field)
{
    char name[100];
    int changed = 0;
    for (int i = 0; i < LOWERINGS; i++) {
        snprintf(name, sizeof name, "%s %s", field, lowerings[i]);
        changed += hits(h, "changed", name);
        if (h->programs >= MANY && hits(h, "read", name) && !hits(h, "changed", name) && !excuse(name))
            printf(" (%s)", name);
    }
    if (h->programs >= (is_rare(field) ? MANY : SOME) && !changed && !excuse(name))
        printf(" (%s)", field);
}

void random_tables_print(random_hits *take, void *context, int programs)
{
    const struct holes h = {programs, take, context};
    char name[160];
    printf("# fields that no kernel changed:");
    for (int f = 0; f < SPEC_FIELD_COUNT; f++)
        if (is_of_programs(&spec_rows[f]))
            print_field(&h, spec_rows[f].path);
    print_field(&h, "tile");
    for (int kind = 0; kind < FIELD_KINDS; kind++) {
        if (kind != FIELD_OF_SCHEMA && !kind_field[kind])
            printf(" (kind %d of fields, which nobody draws)", kind);
        else if (kind != FIELD_OF_SCHEMA && kind != FIELD_VIA)
            print_field(&h, kind_field[kind]);
    }
    for (int i = 0; spec_via_words[i]; i++) {
        snprintf(name, sizeof name, "via.%s", spec_via_words[i]);
        print_field(&h, name);
    }
    printf("\n# rows of place_ops.def that no step was:%s", programs < MANY ? " (listed from 500 programs on)" : "");
    for (int i = 0; place_ops[i].block; i++)
        if (programs >= MANY && !hits(&h, "row", row_name(&place_ops[i], name)) && !excuse(name))
            printf(" (%s)", name);
    printf("\n");
    for (size_t i = 0; i < sizeof uncovered / sizeof *uncovered; i++)
        printf("#   %s%s: %s\n",
               hits(&h, "row", uncovered[i].name) || hits(&h, "changed", uncovered[i].name) ? "AFTER ALL " : "",
               uncovered[i].name, uncovered[i].why);
}
