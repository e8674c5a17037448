/* Fields that a kernel sets to no effect. What is known from the architecture alone is told before a Plan is made, so
 * that it is told beside other faults; what depends on the program, from what its lowerings noted (field_reads.h). */
#include <stdio.h>
#include <string.h>

#include "lower/family.h"
#include "lower/lower.h"
#include "program/program.h"

/* Whether an architecture has what a field needs: the instructions of its row, or clusters. */
static bool has(const struct arch *arch, const char *needs)
{
    return strcmp(needs, "wgmma") == 0 ? arch->wgmma : strcmp(needs, "clusters") == 0 ? arch->clusters : !arch->wgmma;
}

/* Whether one of the kernel's architectures has it: then the kernel says it for that one. */
static bool any_has(const struct spec_kernel *kernel, const char *needs)
{
    for (int i = 0; arch_all[i]; i++) {
        bool named = kernel->arch_count == 0 && !arch_all[i]->on_request;
        for (int a = 0; a < kernel->arch_count; a++)
            named |= strcmp(kernel->arch[a].name, arch_all[i]->name) == 0;
        if (named && has(program_arch(kernel, arch_all[i]), needs))
            return true;
    }
    return false;
}

/* What `like` brings along from another kernel stands before this one. */
static bool is_own(const struct spec_kernel *kernel, struct diag_loc loc)
{
    return loc.line && loc.file == kernel->loc.file && loc.line >= kernel->loc.line;
}

static void check_fields(const struct spec_kernel *kernel, const struct arch *arch, struct diag_set *diags)
{
    for (int f = 0; f < SPEC_FIELD_COUNT; f++) {
        const struct spec_row *row = &spec_rows[f];
        const struct spec_value *general = &kernel->fields.value[f];
        if (!row->needs[0] || has(arch, row->needs))
            continue;
        for (int a = 0; a < kernel->arch_count; a++)
            if (strcmp(kernel->arch[a].name, arch->name) == 0 && kernel->arch[a].fields.value[f].set)
                diag_report(diags, DIAG_ERROR, kernel->arch[a].fields.value[f].loc, kernel->name, row->path,
                            "FIELD-EFFECT", "nothing on %s reads it: it is about %s; take it out", arch->name,
                            row->needs);
        if (general->set && is_own(kernel, general->loc) && !any_has(kernel, row->needs))
            diag_report(diags, DIAG_ERROR, general->loc, kernel->name, row->path, "FIELD-EFFECT",
                        "nothing on %s reads it: it is about %s; take it out", arch->name, row->needs);
    }
}

static bool is_same(struct diag_loc a, struct diag_loc b)
{
    return a.file == b.file && a.line == b.line && a.column == b.column;
}

static void check_clusters(const struct spec_kernel *kernel, const struct arch *arch, struct diag_set *diags)
{
    const struct program *program = spec_program(kernel, arch->name), *general = kernel->program;
    for (int i = 0; program && i < program->axis_count && !arch->clusters; i++) {
        const struct program_axis *axis = &program->axis[i];
        const struct diag_loc loc = axis->cluster_loc, all = general->axis[i].cluster_loc;
        const bool of_all = is_same(loc, all);
        char field[64];
        if (axis->cluster <= 1 || !is_own(kernel, loc) || (of_all && any_has(kernel, "clusters")))
            continue;
        snprintf(field, sizeof field, "cluster.%.40s", axis->name);
        diag_report(diags, DIAG_ERROR, loc, kernel->name, field, "FIELD-EFFECT",
                    "%s has no clusters, a block there is alone; write 1", arch->name);
    }
}

int family_check_effects(const struct spec_kernel *kernel, const struct arch *arch, struct diag_set *diags)
{
    const int before = diags->errors;
    arch = kernel->program ? program_arch(kernel, arch) : arch;
    check_fields(kernel, arch, diags);
    check_clusters(kernel, arch, diags);
    return diags->out_of_memory ? 3 : diags->errors > before;
}

/* ---- fields that no lowering heeds ------------------------------------------------------------------------------- */

static const struct {
    const char *lowering, *path, *why;
} reasons[] = {
#define FIELD_WITHOUT_EFFECT(lowering, path, why) {lowering, path, why},
#include "lower/effects.def"
#undef FIELD_WITHOUT_EFFECT
};

/* What the lowering says of the field, or of the table that it stands in. The last row is for every one. */
static const char *reason_of(const char *lowering, const char *path)
{
    const size_t rows = sizeof reasons / sizeof *reasons, group = strcspn(path, ".");
    for (int whole = 1; whole >= 0; whole--)
        for (size_t i = 0; i < rows; i++)
            if ((!*reasons[i].lowering || strcmp(reasons[i].lowering, lowering) == 0) &&
                (whole ? strcmp(reasons[i].path, path) == 0
                       : strlen(reasons[i].path) == group && strncmp(reasons[i].path, path, group) == 0))
                return reasons[i].why;
    return reasons[rows - 1].why;
}

struct unread {
    const struct spec *spec;
    const struct spec_kernel *kernel;
    struct family_reads *on;
    int count;
    struct diag_set *diags;
};

/* A field that a kernel sets: `path` as in effects.def, `name` as people write it. */
struct said {
    enum field_kind kind;
    int number;
    struct diag_loc loc;
    const char *path, *name;
};

/* Plans for an architecture that was not chosen. Where it cannot be planned, every field may be heeded. */
static void learn(const struct unread *u, struct family_reads *on)
{
    struct plan plan = {0};
    struct diag_set found = {0};
    if (family_of(u->kernel)->resolve(u->spec, u->kernel, on->arch, 0, &plan, &found) != 0)
        memset(plan.reads.read, 0xff, sizeof plan.reads.read);
    if (on->arch->pdl)
        field_reads_add(&plan.reads, FIELD_OF_SCHEMA, FIELD_PROGRAMMATIC);
    on->reads = plan.reads;
    on->known = true;
    diag_free(&found);
    plan_free(&plan);
}

static bool is_heeded(const struct unread *u, const struct said *s)
{
    for (int known = 1; known >= 0; known--)
        for (int i = 0; i < u->count; i++) {
            if (!known && !u->on[i].known)
                learn(u, &u->on[i]);
            if (u->on[i].known && field_reads_has(&u->on[i].reads, s->kind, s->number))
                return true;
        }
    return false;
}

static const char *lowering_of(const struct spec_kernel *kernel, const struct arch *arch)
{
    return kernel->program ? program_lowerer_of(kernel, arch)->name : "template";
}

static void report(const struct unread *u, const struct said *s, const struct arch *arch, const char *where)
{
    diag_report(u->diags, DIAG_ERROR, s->loc, u->kernel->name, s->name, "FIELD-EFFECT", "it has no effect%s%s: %s",
                *where ? " on " : "", where, reason_of(lowering_of(u->kernel, arch), s->path));
}

static const char *needs_of(const char *path)
{
    for (int f = 0; f < SPEC_FIELD_COUNT; f++)
        if (strcmp(spec_rows[f].path, path) == 0)
            return spec_rows[f].needs;
    return strcmp(path, "cluster") == 0 ? "clusters" : "";
}

bool family_may_read(const struct spec_kernel *kernel, const char *path)
{
    return !*needs_of(path) || any_has(kernel, needs_of(path));
}

void family_report_unread(const struct spec_kernel *kernel, const struct arch *arch, const char *path,
                          struct diag_loc loc, const char *name, struct diag_set *diags)
{
    const char *needs = needs_of(path);
    if (!family_may_read(kernel, path))
        diag_report(diags, DIAG_ERROR, loc, kernel->name, name, "FIELD-EFFECT",
                    "nothing on %s reads it: it is about %s; take it out", arch->name, needs);
    else
        diag_report(diags, DIAG_ERROR, loc, kernel->name, name, "FIELD-EFFECT", "it has no effect: %s",
                    reason_of(lowering_of(kernel, arch), path));
}

/* What the kernel says for all of its architectures: none heeds it. */
static void check_general(const struct unread *u, const struct said *s)
{
    if (is_own(u->kernel, s->loc) && !is_heeded(u, s))
        report(u, s, u->on[u->count - 1].arch, "");
}

/* What it says of one. */
static void check_of_arch(const struct unread *u, const struct said *s, const struct family_reads *on)
{
    if (is_own(u->kernel, s->loc) && on->known && !field_reads_has(&on->reads, s->kind, s->number))
        report(u, s, on->arch, on->arch->name);
}

/* A switch that is off asks for nothing. */
static bool asks(const struct spec_row *row, const struct spec_value *v)
{
    return v->set && (row->type != 'b' || v->integer);
}

static void check_rows(const struct unread *u)
{
    for (int f = 0; f < SPEC_FIELD_COUNT; f++) {
        const struct spec_row *row = &spec_rows[f];
        const struct spec_value *v = &u->kernel->fields.value[f];
        struct said s = {FIELD_OF_SCHEMA, f, v->loc, row->path, row->path};
        if (asks(row, v) && (!row->needs[0] || any_has(u->kernel, row->needs))) /* else it is told */
            check_general(u, &s);
        for (int a = 0; a < u->kernel->arch_count; a++)
            for (int i = 0; i < u->count; i++) {
                const struct spec_arch *own = &u->kernel->arch[a];
                s.loc = own->fields.value[f].loc;
                if (strcmp(own->name, u->on[i].arch->name) == 0 && asks(row, &own->fields.value[f]) &&
                    (!row->needs[0] || has(u->on[i].arch, row->needs)))
                    check_of_arch(u, &s, &u->on[i]);
            }
    }
}

static void check_axes(const struct unread *u)
{
    const struct program *general = u->kernel->program;
    for (int x = 0; general && x < general->axis_count; x++) {
        char name[64];
        snprintf(name, sizeof name, "cluster.%.40s", general->axis[x].name);
        struct said s = {FIELD_CLUSTER, x, general->axis[x].cluster_loc, "cluster", name};
        if (general->axis[x].cluster > 1 && any_has(u->kernel, "clusters"))
            check_general(u, &s);
        for (int i = 0; i < u->count; i++) {
            const struct program_axis *own = &spec_program(u->kernel, u->on[i].arch->name)->axis[x];
            s.loc = own->cluster_loc;
            if (own->cluster > 1 && u->on[i].arch->clusters && !is_same(s.loc, general->axis[x].cluster_loc))
                check_of_arch(u, &s, &u->on[i]);
        }
    }
}

static void check_entries(const struct unread *u)
{
    const struct spec_kernel *k = u->kernel;
    char name[128], path[64];
    for (int i = 0; i < k->tensor_count; i++) {
        snprintf(name, sizeof name, "%.100s.swizzle", k->tensor[i].name);
        if (k->tensor[i].swizzle_set && k->tensor[i].swizzle != TW_SWIZZLE_NONE)
            check_general(u, &(struct said){FIELD_SWIZZLE, i, k->tensor[i].swizzle_loc, "swizzle", name});
        snprintf(name, sizeof name, "%.100s.maps", k->tensor[i].name);
        if (k->tensor[i].maps)
            check_general(u, &(struct said){FIELD_MAPS, i, k->tensor[i].maps_loc, "maps", name});
    }
    for (int i = 0; i < k->ahead_count; i++) {
        snprintf(name, sizeof name, "ahead.%.100s", k->ahead[i].name);
        check_general(u, &(struct said){FIELD_AHEAD, i, k->ahead[i].loc, "ahead", name});
    }
    for (int i = 0; i < k->via_count; i++) {
        snprintf(name, sizeof name, "via.%.100s", k->via[i].name);
        snprintf(path, sizeof path, "via.%.40s", k->via[i].word);
        check_general(u, &(struct said){FIELD_VIA, i, k->via[i].loc, path, name});
    }
    for (int i = 0; i < k->direction_count; i++) {
        snprintf(name, sizeof name, "direction.%.100s", k->direction[i].name);
        if (k->direction[i].down)
            check_general(u, &(struct said){FIELD_DIRECTION, i, k->direction[i].loc, "direction", name});
    }
    for (int i = 0; i < k->cache_count; i++) {
        snprintf(name, sizeof name, "cache.%.100s", k->tensor[k->cache[i].tensor].name);
        snprintf(path, sizeof path, "cache.%.8s", k->cache[i].word); /* prefetch, whatever is kept */
        check_general(u, &(struct said){FIELD_CACHE, i, k->cache[i].loc, path, name});
    }
}

static void check_splits(const struct unread *u)
{
    char name[128];
    for (int i = 0; i < u->kernel->split_count; i++) {
        snprintf(name, sizeof name, "split.%.100s", u->kernel->split[i].name);
        if (u->kernel->split[i].parts > 1)
            check_general(u, &(struct said){FIELD_SPLIT, i, u->kernel->split[i].loc, "split", name});
    }
}

int family_check_unread(const struct spec *spec, const struct spec_kernel *kernel, struct family_reads *on, int count,
                        struct diag_set *diags)
{
    const int before = diags->errors;
    const struct unread u = {spec, kernel, on, count, diags};
    if (count == 0)
        return 0;
    check_rows(&u);
    check_axes(&u);
    check_entries(&u);
    check_splits(&u);
    return diags->out_of_memory ? 3 : diags->errors > before;
}
