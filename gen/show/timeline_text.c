/* A timeline in the terminal: a column is as many steps as pass without two changes in one row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/timeline.h"

enum { WIDTH = 100, BANDS_MOST = 16, EVERY = 10 };

/* Something begins in a row. */
struct item {
    uint64_t step;
    int row, span;
};

struct grid {
    const struct timeline *t;
    uint64_t *start; /* by column: its first step */
    int columns, room;
    int *span; /* by column and row: the span that begins there, -1: none */
    bool failed;
};

static int by_step(const void *a, const void *b)
{
    const struct item *p = a, *q = b;
    if (p->step != q->step)
        return p->step < q->step ? -1 : 1;
    if (p->row != q->row)
        return p->row < q->row ? -1 : 1;
    return p->span < q->span ? -1 : p->span > q->span;
}

static void add_column(struct grid *g, uint64_t step)
{
    int rows = g->t->row_count;
    if (g->columns == g->room) {
        int room = g->room ? 2 * g->room : 256;
        uint64_t *start = tw_realloc(g->t->rt, g->start, (size_t)room * sizeof *start);
        if (start)
            g->start = start;
        int *span = tw_realloc(g->t->rt, g->span, (size_t)room * (size_t)rows * sizeof *span);
        if (span)
            g->span = span;
        if (!start || !span) {
            g->failed = true;
            return;
        }
        g->room = room;
    }
    g->start[g->columns] = step;
    for (int r = 0; r < rows; r++)
        g->span[(size_t)g->columns * (size_t)rows + (size_t)r] = -1;
    g->columns++;
}

/* What belongs to the picture; expectations go with the copies that they are of. */
static bool shown(const struct timeline_span *span)
{
    return span->kind != TIMELINE_EXPECT;
}

static void fill(struct grid *g, const struct item *item, size_t count, uint64_t from)
{
    size_t rows = (size_t)g->t->row_count;
    add_column(g, from);
    for (size_t i = 0; i < count && !g->failed; i++) {
        int *at = &g->span[(size_t)(g->columns - 1) * rows + (size_t)item[i].row];
        if (*at >= 0) {
            add_column(g, item[i].step);
            if (g->failed)
                return;
            at = &g->span[(size_t)(g->columns - 1) * rows + (size_t)item[i].row];
        }
        *at = item[i].span;
    }
}

/* The span of a wait or state that has begun before the step and still goes on; NULL: none. *hint: where to look from.
 */
static const struct timeline_span *going_on(const struct timeline_row *row, uint64_t step, int *hint)
{
    const struct timeline_span *found = NULL;
    for (; *hint < row->span_count && row->span[*hint].from <= step; (*hint)++)
        ;
    for (int i = *hint - 1; i >= 0 && i >= *hint - 4 && !found; i--)
        if (!timeline_is_mark(row->span[i].kind) && row->span[i].to > step)
            found = &row->span[i];
    return found;
}

static char letter_at(const struct timeline_row *row, const struct grid *g, int column, int r, int *hint)
{
    int begins = g->span[(size_t)column * (size_t)g->t->row_count + (size_t)r];
    uint64_t step = g->start[column];
    if (begins >= 0)
        return timeline_kind_all[row->span[begins].kind].letter;
    const struct timeline_span *span = going_on(row, step, hint);
    if (span)
        return timeline_kind_all[span->kind].letter;
    if (r >= g->t->role_rows)
        return timeline_kind_all[TIMELINE_FREE].letter;
    return step >= row->begin && step < row->end ? timeline_kind_all[TIMELINE_RUN].letter : ' ';
}

static char stage_letter(int stage)
{
    return stage < 0 ? ' ' : stage < 10 ? (char)('0' + stage) : stage < 36 ? (char)('a' + stage - 10) : '+';
}

static void put_line(const char *name, int label, char *line, int columns)
{
    while (columns > 0 && line[columns - 1] == ' ')
        columns--;
    line[columns] = '\0';
    if (columns)
        printf("%-*s  %s\n", label, name, line);
    else
        printf("%s\n", name);
}

static void print_band(const struct grid *g, int first, int count, int label, int *hint)
{
    const struct timeline *t = g->t;
    char line[WIDTH + 32], stages[WIDTH + 1];
    memset(line, ' ', sizeof line);
    for (int c = 0; c < count; c += EVERY) {
        char number[24];
        int length = snprintf(number, sizeof number, "%llu", (unsigned long long)g->start[first + c]);
        if (c + length <= WIDTH)
            memcpy(line + c, number, (size_t)length);
    }
    put_line("step", label, line, count + 8 < WIDTH ? count + 8 : WIDTH);
    for (int r = 0; r < t->row_count; r++) {
        bool any = false;
        for (int c = 0; c < count; c++) {
            int begins = g->span[(size_t)(first + c) * (size_t)t->row_count + (size_t)r];
            line[c] = letter_at(&t->row[r], g, first + c, r, &hint[r]);
            stages[c] = begins >= 0 && r < t->role_rows ? stage_letter(t->row[r].span[begins].stage) : ' ';
            any = any || stages[c] != ' ';
        }
        put_line(t->row[r].name, label, line, count);
        if (any)
            put_line("", label, stages, count);
    }
}

/* Entry number `at` of the legend, behind one that took `before` columns; returns its own. */
static int list_kind(const struct timeline *t, enum timeline_kind kind, int at, int before)
{
    enum { ENTRY = 32 };
    if (at % 3)
        printf("%*s", ENTRY - before, "");
    else if (at)
        putchar('\n');
    return printf("  %c %s", timeline_kind_all[kind].letter, timeline_kind_name(t, kind));
}

static void print_legend(const struct timeline *t)
{
    bool used[TIMELINE_KIND_COUNT] = {false};
    int at = 0, column = 0;
    for (int r = 0; r < t->row_count; r++)
        for (int i = 0; i < t->row[r].span_count; i++)
            used[t->row[r].span[i].kind] = true;
    used[TIMELINE_RUN] = true;
    used[TIMELINE_EXPECT] = false;
    for (int k = 0; k < TIMELINE_KIND_COUNT; k++)
        if (used[k])
            column = list_kind(t, (enum timeline_kind)k, at++, column);
    putchar('\n');
}

static void print_waits(const struct timeline *t, int label)
{
    const struct timeline_barrier *most = NULL;
    printf("\n%s\n  %-*s %9s %9s", t->unit, label, "", "lives", "runs");
    for (int b = 0; b < t->barrier_count; b++) {
        int width = (int)strlen(t->barrier[b].name);
        if (t->barrier[b].total)
            printf("  %*s", width > 9 ? width : 9, t->barrier[b].name);
        if (t->barrier[b].total && (!most || t->barrier[b].total > most->total))
            most = &t->barrier[b];
    }
    putchar('\n');
    for (int r = 0; r < t->role_rows; r++) {
        uint64_t lives = t->row[r].end - t->row[r].begin, waits = 0;
        for (int b = 0; b < t->barrier_count; b++)
            waits += t->barrier[b].waited[r];
        printf("  %-*s %9llu %9llu", label, t->row[r].name, (unsigned long long)lives,
               (unsigned long long)(lives > waits ? lives - waits : 0));
        for (int b = 0; b < t->barrier_count; b++) {
            int width = (int)strlen(t->barrier[b].name);
            if (t->barrier[b].total)
                printf("  %*llu", width > 9 ? width : 9, (unsigned long long)t->barrier[b].waited[r]);
        }
        putchar('\n');
    }
    for (int g = 0; g < t->plan->ring_count; g++)
        if (timeline_has_filled(t, g))
            printf("ring %s: %.2f of %d stages are %s, on average while it is in use\n", t->plan->ring[g].name,
                   t->filled[g], t->plan->ring[g].stages, timeline_filled_word(t));
    if (!most)
        return;
    int worst = 0;
    for (int r = 0; r < t->role_rows; r++)
        worst = most->waited[r] > most->waited[worst] ? r : worst;
    printf("waited for longest: %s, %llu %s in all, %llu of them by %s\n", most->name, (unsigned long long)most->total,
           t->unit, (unsigned long long)most->waited[worst], t->row[worst].name);
}

int timeline_print(const struct timeline *t, uint64_t from, uint64_t to, struct tw_error *error)
{
    struct grid grid = {.t = t};
    size_t count = 0, all = 0;
    int label = 8;
    uint64_t end = to && to < t->steps ? to : t->steps;
    for (int r = 0; r < t->row_count; r++) {
        all += (size_t)t->row[r].span_count;
        label = (int)strlen(t->row[r].name) > label ? (int)strlen(t->row[r].name) : label;
    }
    struct item *item = tw_alloc(t->rt, (all + 1) * sizeof *item);
    int *hint = tw_alloc_zeroed(t->rt, (size_t)(t->row_count + 1) * sizeof *hint);
    for (int r = 0; r < t->row_count && item && hint; r++)
        for (int i = 0; i < t->row[r].span_count; i++) {
            const struct timeline_span *span = &t->row[r].span[i];
            if (span->from >= from && span->from < end && shown(span))
                item[count++] = (struct item){span->from, r, i};
        }
    if (item && hint) {
        qsort(item, count, sizeof *item, by_step);
        fill(&grid, item, count, from);
    }
    bool failed = !item || !hint || grid.failed;
    int columns = WIDTH - label - 2, bands = 0;
    for (int c = 0; c < grid.columns && !failed; c += columns, bands++) {
        if (bands == BANDS_MOST) {
            printf("... and %d columns more: --from %llu, or --svg\n\n", grid.columns - c,
                   (unsigned long long)grid.start[c]);
            break;
        }
        print_band(&grid, c, grid.columns - c < columns ? grid.columns - c : columns, label, hint);
        putchar('\n');
    }
    if (!failed) {
        print_legend(t);
        print_waits(t, label);
    }
    tw_free(t->rt, item);
    tw_free(t->rt, hint);
    tw_free(t->rt, grid.start);
    tw_free(t->rt, grid.span);
    return failed ? tw_fail(error, TW_ERROR_MEMORY, "out of memory") : TW_OK;
}
