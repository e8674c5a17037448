/* Reductions along rows and columns, over the elements that are valid; ranks and segments of rows. */
#include "program/meaning/meaning.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 24 };

static double identity(const struct meaning_reduction *r)
{
    return r->reduction == PROGRAM_SUM ? 0 : r->reduction == PROGRAM_MAX ? -(double)INFINITY : (double)INFINITY;
}

/* As fmaxf and fminf: a NaN gives way to a number. */
static inline double chosen(enum program_reduction reduction, double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return reduction == PROGRAM_MAX ? (a > b ? a : b) : (a < b ? a : b);
}

void meaning_reduce_begin(struct meaning_reduction *r)
{
    for (int64_t i = 0; i < r->count; i++) {
        if (r->whole)
            r->result.at.whole[i] = r->reduction == PROGRAM_SUM   ? 0
                                    : r->reduction == PROGRAM_MAX ? INT64_MIN
                                                                  : INT64_MAX;
        else
            r->result.at.real[i] = identity(r);
        r->sum[i] = (struct meaning_sum){.quantum = MEANING_ZEROS};
        r->low[i] = r->high[i] = identity(r);
    }
}

static void take_whole(struct meaning_reduction *r, int64_t to, int64_t value, double bound)
{
    int64_t *result = &r->result.at.whole[to];
    if (r->reduction == PROGRAM_SUM) {
        *result = (int64_t)((uint64_t)*result + (uint64_t)value);
        r->sum[to].carried += bound;
    } else {
        *result = (r->reduction == PROGRAM_MAX) == (value > *result) ? value : *result;
        r->sum[to].carried = fmax(r->sum[to].carried, bound);
    }
}

static void take(struct meaning_reduction *r, int64_t to, double value, double bound)
{
    double *result = &r->result.at.real[to];
    if (r->reduction == PROGRAM_SUM) {
        int quantum = bound == 0 ? meaning_quantum(&value, 1) : MEANING_ZEROS;
        struct meaning_sum *sum = &r->sum[to];
        *result += value;
        sum->magnitude += fabs(value);
        sum->carried += bound;
        sum->terms++;
        sum->quantum = quantum < sum->quantum ? quantum : sum->quantum;
    } else {
        *result = chosen(r->reduction, *result, value);
        /* What may be anything may be less than all, though its value is infinite. */
        bool anything = isinf(bound);
        r->low[to] = chosen(r->reduction, r->low[to], anything ? -(double)INFINITY : value - bound);
        r->high[to] = chosen(r->reduction, r->high[to], anything ? (double)INFINITY : value + bound);
    }
}

/* A row of exact numbers at once: the common case. */
static void take_row(struct meaning_reduction *r, int64_t to, const double *value, const double *bound, int64_t count)
{
    double sum = 0, magnitude = 0, carried = 0;
    if (r->reduction != PROGRAM_SUM) {
        for (int64_t i = 0; i < count; i++)
            take(r, to, value[i], bound ? bound[i] : 0);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        sum += value[i];
        magnitude += fabs(value[i]);
    }
    for (int64_t i = 0; bound && i < count; i++)
        carried += bound[i];
    int quantum = carried == 0 ? meaning_quantum(value, count) : MEANING_ZEROS;
    r->result.at.real[to] += sum;
    r->sum[to].magnitude += magnitude;
    r->sum[to].carried += carried;
    r->sum[to].terms += count;
    r->sum[to].quantum = quantum < r->sum[to].quantum ? quantum : r->sum[to].quantum;
}

int64_t meaning_reduce(struct meaning_reduction *r, const struct meaning_part *part)
{
    const struct meaning_cells *cells = part->value;
    for (int64_t row = 0; row < part->rows; row++) {
        int64_t count = 0, to = r->over_rows ? 0 : part->row + row;
        for (int64_t c = 0; c < r->columns; c++) {
            int64_t i = row * r->columns + c;
            double bound = cells->exact ? 0 : cells->bound[i];
            if (part->unknown && part->unknown[i] != 0)
                return i;
            if (part->valid && !part->valid[i])
                continue;
            if (isnan(bound))
                return i;
            if (r->whole) {
                take_whole(r, r->over_rows ? c : to, cells->at.whole[i], bound);
            } else if (r->over_rows) {
                take(r, c, cells->at.real[i], bound);
            } else {
                r->value[count] = cells->at.real[i];
                r->bound[count++] = bound;
            }
        }
        if (count)
            take_row(r, to, r->value, cells->exact ? NULL : r->bound, count);
    }
    return -1;
}

void meaning_reduce_end(struct meaning_reduction *r)
{
    bool inexact = false;
    for (int64_t i = 0; i < r->count; i++) {
        double *bound = &r->result.bound[i];
        if (r->whole) {
            *bound = r->sum[i].carried;
        } else if (r->reduction == PROGRAM_SUM) {
            *bound = meaning_sum_bound(r->result.at.real[i], &r->sum[i], BITS);
        } else {
            double value = r->result.at.real[i], up = r->high[i] - value, down = value - r->low[i];
            bool same = r->low[i] == r->high[i];
            *bound = same ? 0 : isnan(up) || isnan(down) ? (double)INFINITY : fmax(fabs(up), fabs(down));
        }
        inexact = inexact || *bound != 0;
    }
    r->result.exact = r->result.zeroed = !inexact;
}

/* ---- ranks and segments ------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Values of the sorted row that are below `value`. */
static int64_t below(const int64_t *sorted, int64_t count, int64_t value)
{
    int64_t first = 0;
    while (first < count) {
        int64_t middle = first + (count - first) / 2;
        if (sorted[middle] < value)
            first = middle + 1;
        else
            count = middle;
    }
    return first;
}

static void rank_row(int64_t *value, int64_t columns, int64_t *to)
{
    int64_t count = 0;
    memcpy(to, value, sizeof *to * (size_t)columns);
    qsort(value, (size_t)columns, sizeof *value, by_value);
    for (int64_t c = 0; c < columns; c++)
        if (!count || value[c] != value[count - 1])
            value[count++] = value[c];
    for (int64_t c = 0; c < columns; c++)
        to[c] = below(value, count, to[c]);
}

static void segment_row(enum program_reduction reduction, const int64_t *value, const int64_t *number, int64_t columns,
                        int64_t *to)
{
    for (int64_t c = 0; c < columns; c++)
        to[c] = reduction == PROGRAM_SUM ? 0 : reduction == PROGRAM_MAX ? INT32_MIN : INT32_MAX;
    for (int64_t c = 0; c < columns; c++) {
        if (number[c] < 0 || number[c] >= columns)
            continue;
        int64_t *at = &to[number[c]];
        if (reduction == PROGRAM_SUM)
            *at = (int64_t)((uint64_t)*at + (uint64_t)value[c]);
        else
            *at = (reduction == PROGRAM_MAX) == (value[c] > *at) ? value[c] : *at;
    }
}

static bool known(const struct meaning_cells *cells, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count && !cells->exact; i++)
        if (cells->bound[i] != 0)
            return false;
    return true;
}

void meaning_rank(const struct program_op *op, struct meaning_cells *value, const struct meaning_cells *number,
                  struct meaning_cells *result)
{
    const int64_t columns = op->tile.columns;
    bool exact = true;
    for (int64_t first = 0; first < op->tile.rows * columns; first += columns) {
        bool segment = op->kind == PROGRAM_SEGMENT;
        bool fine = known(value, first, columns) && (!segment || known(number, first, columns));
        if (segment)
            segment_row(op->reduction, value->at.whole + first, number->at.whole + first, columns,
                        result->at.whole + first);
        else
            rank_row(value->at.whole + first, columns, result->at.whole + first);
        for (int64_t i = first; i < first + columns; i++)
            result->bound[i] = fine ? 0 : (double)INFINITY;
        exact = exact && fine;
    }
    result->exact = result->zeroed = exact;
}
