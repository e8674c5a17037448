/* Values of `tune` that no plan can take, and fields of it that no plan heeds: neither alone nor beside a value of
 * another of its fields. */
#include "compile/compile.h"

#include <stdio.h>
#include <string.h>

/* A value that is tried: of a field of the schema or of an axis. */
struct value {
    bool axis;
    int tune, value; /* positions in the kernel's axis_tune or tune, and in its values */
};

struct trial {
    struct compile *c;
    const struct spec_kernel *kernel;
    const struct value *asked; /* whose effect is looked for, or NULL */
    char why[512];             /* the first fault of what was tried first on the newest architecture */
    bool told, no_memory, fits, heeded;
};

static struct diag_loc loc_of(const struct trial *t, struct value v)
{
    return v.axis ? t->kernel->axis_tune[v.tune].loc[v.value] : t->kernel->tune[v.tune].value[v.value].loc;
}

/* The program with the values that are of axes, on the architecture; NULL: it cannot be traced with them. */
static const struct spec_tune_program *program_with(const struct trial *t, const char *arch, const struct value *v,
                                                    int count)
{
    const struct spec_kernel *k = t->kernel;
    int with[2] = {-1, -1}, value[2] = {0, 0}, axes = 0;
    for (int i = 0; i < count; i++)
        if (v[i].axis) {
            with[axes] = v[i].tune;
            value[axes++] = v[i].value;
        }
    for (int i = 0; i < k->tune_program_count; i++) {
        const struct spec_tune_program *p = &k->tune_program[i];
        bool same = p->tune[0] == with[0] && p->value[0] == value[0] && p->tune[1] == with[1] &&
                    (with[1] < 0 || p->value[1] == value[1]);
        if (same && strcmp(p->arch, arch) == 0)
            return p;
    }
    return NULL;
}

/* Whether what was planned heeds the value's field. A program is traced with its tiles. */
static bool heeds(const struct trial *t, const struct plan *plan)
{
    const struct value *v = t->asked;
    if (!v || !v->axis)
        return !v || field_reads_has(&plan->reads, FIELD_OF_SCHEMA, (int)t->kernel->tune[v->tune].field);
    const struct spec_axis_tune *tune = &t->kernel->axis_tune[v->tune];
    return tune->field == SPEC_TILE || field_reads_has(&plan->reads, FIELD_CLUSTER, tune->axis);
}

/* Plans the kernel with the values over its own, the architecture's too. */
static bool plans(struct trial *t, const struct arch *arch, const struct value *v, int count)
{
    struct spec_kernel own = *t->kernel;
    struct spec_arch on[COMPILE_ARCHITECTURES];
    struct spec_arch_program traced = {arch->name, NULL};
    struct diag_set found = {0};
    struct plan plan;
    bool axes = false;
    for (int i = 0; i < own.arch_count && i < COMPILE_ARCHITECTURES; i++)
        on[i] = own.arch[i];
    own.arch = on;
    for (int i = 0; i < count; i++) {
        axes |= v[i].axis;
        if (v[i].axis)
            continue;
        const struct spec_tune *tune = &own.tune[v[i].tune];
        own.fields.value[tune->field] = tune->value[v[i].value];
        for (int n = 0; n < own.arch_count; n++)
            if (on[n].fields.value[tune->field].set)
                on[n].fields.value[tune->field] = tune->value[v[i].value];
    }
    const struct spec_tune_program *with = axes ? program_with(t, arch->name, v, count) : NULL;
    if (axes && !with)
        return false;
    if (with) {
        traced.program = with->program;
        own.choices = with->choices;
        own.arch_program = &traced;
        own.arch_program_count = 1;
    }
    int status = family_plan(&t->c->spec, &own, arch, 0, t->c->proofs, &plan, &found);
    t->fits |= status == 0;
    t->heeded |= status == 0 && heeds(t, &plan);
    plan_free(&plan);
    t->no_memory |= status == 3;
    if (status == 1 && found.count && !t->told)
        snprintf(t->why, sizeof t->why, "%s: %s", arch->name, found.item[0].text);
    diag_free(&found);
    return status == 0;
}

/* On any architecture; true: there is nothing more to find out. */
static bool try(struct trial *t, const struct value *v, int count)
{
    const struct arch *arch[COMPILE_ARCHITECTURES];
    for (int a = compile_architectures(t->kernel, NULL, arch); a-- > 0 && !t->heeded && !t->no_memory;) {
        if (v->axis && t->kernel->axis_tune[v->tune].field == SPEC_CLUSTER && !arch[a]->clusters)
            continue; /* nothing reads it there */
        plans(t, arch[a], v, count);
        t->told |= *t->why != 0;
    }
    return t->heeded || t->no_memory;
}

/* Beside a value of another field that is tuned. */
static void try_beside(struct trial *t, struct value v)
{
    const struct spec_kernel *k = t->kernel;
    struct value pair[2] = {v, v};
    bool done = false;
    for (int i = 0; i < k->axis_tune_count; i++)
        for (int n = 0; n < k->axis_tune[i].count && !done && !(v.axis && i == v.tune); n++) {
            const struct value other = {true, i, n};
            const bool behind = v.axis && i > v.tune; /* programs name the later field first */
            pair[behind ? 0 : 1] = other;
            pair[behind ? 1 : 0] = v;
            done = try(t, pair, 2);
        }
    for (int i = 0; i < k->tune_count; i++)
        for (int n = 0; n < k->tune[i].count && !done && !(!v.axis && i == v.tune); n++) {
            pair[0] = v;
            pair[1] = (struct value){false, i, n};
            done = try(t, pair, 2);
        }
}

/* Whether the value's field decides something, so that its other values do. */
static bool check_value(struct compile *c, const struct spec_kernel *kernel, struct value v)
{
    struct trial t = {.c = c, .kernel = kernel, .asked = &v};
    const struct arch *arch[COMPILE_ARCHITECTURES];
    const int newest = compile_architectures(kernel, NULL, arch) - 1;
    const struct diag_loc loc = loc_of(&t, v);
    const bool own = loc.line && loc.file == kernel->loc.file && loc.line >= kernel->loc.line; /* not by `like` */
    const char *field = v.axis ? kernel->axis_tune[v.tune].path[v.value] : kernel->tune[v.tune].path[v.value];
    const char *path = v.axis ? kernel->axis_tune[v.tune].field == SPEC_TILE ? "tile" : "cluster"
                              : spec_rows[kernel->tune[v.tune].field].path;
    if (!own)
        return true;
    if (!family_may_read(kernel, path)) {
        family_report_unread(kernel, arch[newest], path, loc, field, &c->diags);
        return false;
    }
    if (!try(&t, &v, 1))
        try_beside(&t, v);
    if (t.no_memory || (!t.heeded && kernel->tune_alone && v.axis)) /* beside another axis' value it may do */
        return true;
    if (!t.heeded && *t.why)
        diag_report(&c->diags, DIAG_ERROR, loc, kernel->name, field, "TUNE-FIT", "no plan takes this value%s; %s",
                    t.fits ? " to any effect" : "", t.why);
    else if (!t.heeded && t.fits)
        family_report_unread(kernel, arch[newest], path, loc, field, &c->diags);
    return t.heeded || *t.why;
}

/* What is wrong with the kernel as it is, its values would be told of again. */
static bool is_planned(struct compile *c, const struct spec_kernel *kernel)
{
    const struct arch *arch[COMPILE_ARCHITECTURES];
    struct trial t = {.c = c, .kernel = kernel};
    bool planned = kernel->sound && kernel->axis_tune_count + kernel->tune_count > 0;
    for (int a = planned ? compile_architectures(kernel, NULL, arch) : 0; a-- > 0;)
        planned = planned && plans(&t, arch[a], NULL, 0);
    return planned;
}

int compile_check_tunes(struct compile *c, const struct compile_choice *choice)
{
    const int before = c->diags.errors;
    for (int i = 0; i < c->spec.kernel_count; i++) {
        const struct spec_kernel *k = &c->spec.kernel[i];
        if ((choice->kernel && strcmp(choice->kernel, k->name) != 0) || !is_planned(c, k))
            continue;
        for (int n = 0; n < k->axis_tune_count; n++)
            for (int v = 0; v < k->axis_tune[n].count && check_value(c, k, (struct value){true, n, v}); v++)
                ;
        for (int n = 0; n < k->tune_count; n++)
            for (int v = 0; v < k->tune[n].count && check_value(c, k, (struct value){false, n, v}); v++)
                ;
    }
    return c->diags.out_of_memory ? 3 : c->diags.errors > before;
}
