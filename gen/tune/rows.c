#include "tune/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tune_rows_of(const struct spec *spec, struct tune_rows *rows, struct arena *arena)
{
    int status = 0;
    for (int k = 0; k < spec->kernel_count; k++)
        for (int i = 0; i < spec->kernel[k].tuned_count && !status; i++)
            status = tune_rows_put(spec, rows, (struct tune_row){k, spec->kernel[k].tuned[i]}, arena);
    return status;
}

static int compare_words(const char *a, const char *b)
{
    const int order = strcmp(a, b);
    return order < 0 ? -1 : order > 0;
}

/* By all that makes a row another one. */
static int compare(const struct spec *spec, const struct tune_row *a, const struct tune_row *b)
{
    int order = (a->kernel > b->kernel) - (a->kernel < b->kernel);
    order = order ? order : compare_words(a->tuned.gpu, b->tuned.gpu);
    order = order ? order : compare_words(a->tuned.arch, b->tuned.arch);
    for (int d = 0; d < spec->dim_count && !order; d++)
        order = (a->tuned.value[d] > b->tuned.value[d]) - (a->tuned.value[d] < b->tuned.value[d]);
    return order ? order : (int)a->tuned.burst - (int)b->tuned.burst;
}

int tune_rows_put(const struct spec *spec, struct tune_rows *rows, struct tune_row row, struct arena *arena)
{
    int at = 0;
    while (at < rows->count && compare(spec, &rows->row[at], &row) < 0)
        at++;
    if (at < rows->count && compare(spec, &rows->row[at], &row) == 0) {
        const struct spec_tuned *old = &rows->row[at].tuned;
        if (strcmp(old->use, row.tuned.use) == 0) /* it was exact by hand, and is the same set-up still */
            row.tuned.exact = old->exact;
        rows->row[at] = row;
        return 0;
    }
    struct tune_row *grown = arena_grow(arena, rows->row, rows->count, sizeof *grown);
    if (!grown)
        return 3;
    rows->row = grown;
    memmove(&grown[at + 1], &grown[at], sizeof *grown * (size_t)(rows->count - at));
    grown[at] = row;
    rows->count++;
    return 0;
}

/* A text that grows; data NULL: out of memory. */
struct text {
    struct arena *arena;
    char *data;
    size_t length, room;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
    char line[4096];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    const size_t more = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    if (t->data && t->length + more + 1 > t->room) {
        char *grown = arena_room(t->arena, 2 * t->room + more);
        if (grown)
            memcpy(grown, t->data, t->length + 1);
        t->room = 2 * t->room + more;
        t->data = grown;
    }
    if (!t->data)
        return;
    memcpy(t->data + t->length, line, more + 1);
    t->length += more;
}

static void add_row(struct text *t, const struct spec *spec, const struct spec_tuned *row)
{
    add(t, "  { ");
    for (int d = 0; d < spec->dim_count; d++)
        if (row->value[d] >= 0)
            add(t, "%s = %lld, ", spec->dim[d].name, (long long)row->value[d]);
    add(t, "mode = \"%s\", use = {%s%s%s}", row->burst ? "burst" : "sustained", *row->use ? " " : "", row->use,
        *row->use ? " " : "");
    if (row->exact >= 0)
        add(t, ", exact = true");
    if (row->us > 0)
        add(t, ", us = %.2f", row->us < 0.01 ? 0.01 : row->us);
    if (row->ratio > 0)
        add(t, ", ratio = %.3f", row->ratio < 0.001 ? 0.001 : row->ratio);
    add(t, " },\n");
}

char *tune_rows_text(const struct spec *spec, struct tune_rows *rows, struct arena *arena)
{
    enum { ROOM = 8192 };
    struct text t = {.arena = arena, .data = arena_alloc(arena, ROOM), .room = ROOM};
    add(&t,
        "-- The quickest set-ups of this spec's kernels, by GPU and sizes: made by `tilewright tune`, which keeps the "
        "rows\n-- that it does not measure again. us: of a launch; ratio: the best peer's time by it.\n");
    for (int i = 0; i < rows->count; i++) {
        const struct tune_row *row = &rows->row[i], *before = i ? &rows->row[i - 1] : NULL;
        const bool same = before && before->kernel == row->kernel && strcmp(before->tuned.gpu, row->tuned.gpu) == 0 &&
                          strcmp(before->tuned.arch, row->tuned.arch) == 0;
        if (!same)
            add(&t, "%stuned \"%s\" { gpu = \"%s\", arch = \"%s\",\n", before ? "}\n" : "",
                spec->kernel[row->kernel].name, row->tuned.gpu, row->tuned.arch);
        add_row(&t, spec, &row->tuned);
    }
    add(&t, rows->count ? "}\n" : "");
    return t.data;
}

int tune_rows_write(struct compile *c, struct tune_rows *rows, struct arena *arena)
{
    struct file_set files = {.rt = &c->rt};
    struct tw_error error;
    const char *path = spec_tuned_path(arena, c->path);
    const char *text = path ? tune_rows_text(&c->spec, rows, arena) : NULL;
    if (!text)
        return 3;
    int status = files_add(&files, NULL, path, text, strlen(text), false, &error);
    if (status == TW_OK)
        status = files_commit(&files, &error);
    files_free(&files);
    return status == TW_OK ? 0 : compile_fail(c, status, &error);
}
