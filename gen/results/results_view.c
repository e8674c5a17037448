/* What tables and pictures show: the rows of one kernel, GPU and mode as problems by back ends. */
#include <math.h>
#include <string.h>

#include "results/results_internal.h"

static bool chosen(const struct results_choice *choice, const struct results_row *row)
{
    return (!choice->kernel || strcmp(choice->kernel, row->kernel) == 0) &&
           (!choice->mode || strcmp(choice->mode, row->mode) == 0) &&
           (!choice->gpu || strcmp(choice->gpu, row->gpu) == 0);
}

static bool belongs(const struct results_view *v, const struct results_row *row)
{
    return strcmp(v->kernel, row->kernel) == 0 && strcmp(v->gpu, row->gpu) == 0 && strcmp(v->mode, row->mode) == 0;
}

/* The column of a row, or -1. */
static int column_of(const struct results_view *v, const struct results_row *row)
{
    for (int i = 0; i < v->columns; i++)
        if (strcmp(v->column[i].backend, row->backend) == 0 && strcmp(v->column[i].arch, row->arch) == 0)
            return i;
    return -1;
}

static int line_of(const struct results_view *v, const struct results_row *row)
{
    for (int i = 0; i < v->lines; i++)
        if (strcmp(v->line[i].first->size, row->size) == 0)
            return i;
    return -1;
}

/* One more element of a list; NULL: no memory, and the list stays. */
static void *grow(struct tw_runtime *rt, void *list, int count, size_t bytes)
{
    char *grown = tw_realloc(rt, list, ((size_t)count + 1) * bytes);
    if (grown)
        memset(grown + (size_t)count * bytes, 0, bytes);
    return grown;
}

/* Columns and lines, peers' columns where `ours` is false. False: no memory. */
static bool find_columns(struct results_view *v, const struct results *results, bool ours)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct results_row *row = &results->row[i];
        if (!belongs(v, row) || results_ours(row->backend) != ours || column_of(v, row) >= 0)
            continue;
        struct results_column *grown = grow(v->rt, v->column, v->columns, sizeof *grown);
        if (!grown)
            return false;
        v->column = grown;
        v->column[v->columns++] = (struct results_column){.backend = row->backend, .arch = row->arch, .ours = ours};
    }
    return true;
}

static bool find_lines(struct results_view *v, const struct results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct results_row *row = &results->row[i];
        if (!belongs(v, row) || line_of(v, row) >= 0)
            continue;
        struct results_line *grown = grow(v->rt, v->line, v->lines, sizeof *grown);
        if (!grown)
            return false;
        v->line = grown;
        v->line[v->lines].first = row;
        v->line[v->lines].cell = tw_alloc_zeroed(v->rt, sizeof *v->line->cell * (size_t)(v->columns + 1));
        if (!v->line[v->lines++].cell)
            return false;
    }
    return true;
}

/* Which run a line is of: the last of this program's rows that have a ratio, else the last of its rows, else any. */
static const char *run_of(const struct results_view *v, const struct results *results, const char *size)
{
    const struct results_row *best = NULL;
    int rank = -1;
    for (size_t i = 0; i < results->count; i++) {
        const struct results_row *row = &results->row[i];
        if (!belongs(v, row) || strcmp(row->size, size) != 0)
            continue;
        int own = !results_ours(row->backend) ? 0 : row->ratio > 0 ? 2 : 1;
        if (own >= rank) {
            rank = own;
            best = row;
        }
    }
    return best ? best->run : "";
}

static void fill(struct results_view *v, const struct results *results)
{
    for (int l = 0; l < v->lines; l++) {
        struct results_line *line = &v->line[l];
        const char *run = run_of(v, results, line->first->size);
        for (size_t i = 0; i < results->count; i++) {
            const struct results_row *row = &results->row[i];
            if (!belongs(v, row) || strcmp(row->size, line->first->size) != 0)
                continue;
            struct results_cell *cell = &line->cell[column_of(v, row)];
            bool apart = strcmp(row->run, run) != 0;
            if (!cell->row || !apart || cell->apart)
                *cell = (struct results_cell){row, apart};
        }
    }
}

/* Names of the columns, of the architectures, of the sizes. False: no memory. */
static bool name(struct results_view *v)
{
    bool ours = v->column[v->columns - 1].ours;
    for (int i = 0; i < v->columns; i++) {
        struct results_column *c = &v->column[i];
        int archs = 0;
        bool seen = false;
        for (int k = 0; k < v->columns; k++) {
            archs += strcmp(v->column[k].backend, c->backend) == 0;
            seen = seen || (k < i && v->column[k].ours == ours && strcmp(v->column[k].arch, c->arch) == 0);
        }
        c->name = archs > 1 ? tw_format(v->rt, "%s %s", c->backend, c->arch) : tw_strdup(v->rt, c->backend);
        if (!c->name)
            return false;
        if (seen || c->ours != ours)
            continue;
        char *all = v->arch ? tw_format(v->rt, "%s, %s", v->arch, c->arch) : tw_strdup(v->rt, c->arch);
        tw_free(v->rt, v->arch);
        v->arch = all;
        if (!all)
            return false;
    }
    v->names = v->line[0].first->names;
    for (int l = 1; l < v->lines && v->names; l++)
        if (strcmp(v->names, v->line[l].first->names) != 0)
            v->names = NULL;
    if (v->names && !*v->names)
        v->names = NULL;
    return true;
}

int results_views(const struct results *results, const struct results_choice *choice, struct results_view **view,
                  int *count, struct tw_error *error)
{
    struct results_view *list = NULL;
    int n = 0;
    *view = NULL;
    *count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct results_row *row = &results->row[i];
        int at = 0;
        while (at < n && !belongs(&list[at], row))
            at++;
        if (at < n || !chosen(choice, row))
            continue;
        struct results_view *grown = grow(results->rt, list, n, sizeof *grown);
        if (!grown)
            goto fail;
        list = grown;
        struct results_view *v = &list[n++];
        *v = (struct results_view){.rt = results->rt, .kernel = row->kernel, .gpu = row->gpu, .mode = row->mode};
        if (!find_columns(v, results, false) || !find_columns(v, results, true) || !find_lines(v, results) || !name(v))
            goto fail;
        fill(v, results);
    }
    *view = list;
    *count = n;
    return TW_OK;
fail:
    results_views_free(results->rt, list, n);
    return tw_fail(error, TW_ERROR_MEMORY, "out of memory");
}

void results_views_free(struct tw_runtime *rt, struct results_view *view, int count)
{
    for (int i = 0; i < count; i++) {
        for (int c = 0; c < view[i].columns; c++)
            tw_free(rt, view[i].column[c].name);
        for (int l = 0; l < view[i].lines; l++)
            tw_free(rt, view[i].line[l].cell);
        tw_free(rt, view[i].column);
        tw_free(rt, view[i].line);
        tw_free(rt, view[i].arch);
    }
    tw_free(rt, view);
}

char *results_label(const struct results_view *view, const struct results_line *line)
{
    const struct results_row *row = line->first;
    return tw_strdup(view->rt, view->names || !*row->names ? row->values : row->size);
}

struct results_summary results_sum_up(const struct results_view *view, int column)
{
    struct results_summary s = {0, 0, 0};
    double logs = 0;
    for (int l = 0; l < view->lines; l++) {
        const struct results_cell *cell = &view->line[l].cell[column];
        if (!cell->row || cell->apart || cell->row->ratio <= 0)
            continue;
        logs += log(cell->row->ratio);
        s.least = s.count++ && s.least < cell->row->ratio ? s.least : cell->row->ratio;
    }
    s.mean = s.count ? exp(logs / s.count) : 0;
    return s;
}
