/* tune --again: the rows of SPEC.tuned.lua measured beside the kernels' own set-ups, by a process that chose none of
 * them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tune/rows.h"
#include "tune/tune.h"

/* One kernel on one architecture. */
struct again {
    const struct tune_options *o;
    const struct tune_clock *clock;
    struct compile *compile;
    struct tune_rows *rows;
    int kernel;
    const char *arch;
    struct tune_set set;
    struct arena *arena;
    double started, spent[TUNE_PARTS];
    int asked, late;      /* rows that are to be measured; of those that time does not allow */
    int measured, slower; /* rows; those whose set-up is slower than the kernel's own */
};

static bool is_asked(const struct again *a, const struct tune_row *row)
{
    return row->kernel == a->kernel && row->tuned.burst == a->o->burst && strcmp(row->tuned.gpu, a->clock->gpu) == 0 &&
           strcmp(row->tuned.arch, a->arch) == 0;
}

/* Rows of all kernels that are asked for: the time is divided by them. */
static int count_asked(const struct again *a)
{
    int count = 0;
    for (int i = 0; i < a->rows->count; i++) {
        const struct tune_row *row = &a->rows->row[i];
        count += row->tuned.burst == a->o->burst && strcmp(row->tuned.gpu, a->clock->gpu) == 0 &&
                 (!a->o->kernel || strcmp(a->o->kernel, a->compile->spec.kernel[row->kernel].name) == 0) &&
                 (!a->o->arch || strcmp(a->o->arch, row->tuned.arch) == 0);
    }
    return count;
}

/* The kernel's own set-up and those of the rows, compiled. */
static int open_set(struct again *a)
{
    const char **use = arena_alloc(a->arena, sizeof *use * ((size_t)a->rows->count + 1));
    int count = 0;
    if (!use)
        return 3;
    use[count++] = "";
    for (int i = 0; i < a->rows->count; i++) {
        bool known = !is_asked(a, &a->rows->row[i]);
        for (int n = 0; n < count && !known; n++)
            known = strcmp(use[n], a->rows->row[i].tuned.use) == 0;
        if (!known)
            use[count++] = a->rows->row[i].tuned.use;
    }
    const double since = compile_clock();
    int status =
        tune_set_open(&a->set, a->o, &a->compile->spec.kernel[a->kernel], arch_find(a->arch), use, count, a->arena);
    for (int i = 0; i < a->set.count && !status; i++)
        if (a->set.candidate[i].unit >= 0)
            tune_want(&a->set, i);
    const double planned = compile_clock();
    status = status ? status : tune_set_compile(&a->set, a->clock);
    a->spent[TUNE_READ] += planned - since;
    a->spent[TUNE_COMPILE] += compile_clock() - planned;
    return status;
}

static int measure_row(struct again *a, struct tune_row *row)
{
    const struct spec *spec = &a->compile->spec;
    int64_t *symbol = arena_alloc(a->arena, sizeof *symbol * ((size_t)spec->dim_count + 1));
    double ns[2] = {0.0, 0.0};
    struct tw_error error;
    int found = 0;
    for (int i = 0; i < a->set.count; i++)
        found = strcmp(a->set.candidate[i].use, row->tuned.use) == 0 ? i : found;
    if (!symbol)
        return 3;
    memcpy(symbol, row->tuned.value, sizeof *symbol * (size_t)spec->dim_count);
    symbol[spec->dim_count] = a->o->device.sms;
    const int unit[2] = {a->set.candidate[0].unit, a->set.candidate[found].unit};
    if (unit[0] < 0 || unit[1] < 0) { /* told, and left as it is */
        a->asked--;
        return 0;
    }
    const double end = a->started + (double)a->o->seconds;
    const int left = a->asked - a->measured - a->late;
    struct tune_job job = {&a->set.compile, unit, found ? 2 : 1, symbol, a->o->burst, false, 0.0, a->spent};
    if (a->o->seconds)
        job.seconds = fmax((end - tune_now(a->clock)) / (left > 0 ? left : 1), 1e-6);
    if (a->o->seconds && tune_now(a->clock) >= end) {
        a->late++;
        return 0;
    }
    int status = a->clock->measure(a->clock->context, &job, ns, &error);
    if (status != TW_OK)
        return compile_fail(a->compile, status, &error);
    const double own = ns[0], tuned = found ? ns[1] : ns[0];
    a->measured++;
    if (found && (tuned <= 0 || (own > 0 && own < tuned))) {
        a->slower++;
        row->tuned.use = "";
    }
    row->tuned.ratio = 0.0; /* of another time */
    row->tuned.us = (*row->tuned.use ? tuned : own) / 1e3;
    return 0;
}

static int one_arch(struct again *a)
{
    bool any = false;
    for (int i = 0; i < a->rows->count; i++)
        any = any || is_asked(a, &a->rows->row[i]);
    if (!any)
        return 0;
    int status = open_set(a);
    for (int i = 0; i < a->rows->count && !status; i++)
        if (is_asked(a, &a->rows->row[i]))
            status = measure_row(a, &a->rows->row[i]);
    if (a->clock->leave)
        a->clock->leave(a->clock->context, &a->set.compile);
    tune_set_close(&a->set);
    return status;
}

int tune_again(const struct tune_options *o, const struct tune_clock *clock)
{
    struct compile c;
    struct arena arena = {0};
    struct tune_rows rows = {0};
    struct again a = {.o = o, .clock = clock, .compile = &c, .rows = &rows, .arena = &arena};
    const double began = compile_clock();
    a.started = tune_now(clock);
    int status = compile_open(&c, "tune", o->spec);
    compile_report(&c);
    if (status == 0)
        status = tune_rows_of(&c.spec, &rows, &arena);
    a.asked = status == 0 ? count_asked(&a) : 0;
    for (a.kernel = 0; a.kernel < c.spec.kernel_count && status == 0; a.kernel++) {
        const struct arch *arch[COMPILE_ARCHITECTURES];
        const int count = compile_architectures(&c.spec.kernel[a.kernel], o->arch, arch);
        for (int i = 0; i < count && status == 0; i++) {
            a.arch = arch[i]->name;
            if ((!o->kernel || strcmp(o->kernel, c.spec.kernel[a.kernel].name) == 0) &&
                (!o->arch || strcmp(o->arch, a.arch) == 0))
                status = one_arch(&a);
        }
    }
    if (status == 0 && a.measured && !o->dry)
        status = tune_rows_write(&c, &rows, &arena);
    if (status == 0) {
        printf("measured again: %d rows, of which %d go back to the kernel's own set-up\n", a.measured, a.slower);
        tune_print_spent(began, a.spent);
    }
    if (status == 0 && a.late)
        compile_say(&c, DIAG_WARNING, "%d rows were not measured again within --time; `tune --again` does it", a.late);
    compile_close(&c);
    arena_free(&arena);
    return status;
}
