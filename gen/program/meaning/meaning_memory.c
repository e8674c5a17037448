/* Tensors read and written: which coordinates a tile's elements have, and what an output holds behind them. */
#include "program/meaning/meaning.h"

#include <string.h>

int64_t meaning_room(const struct meaning_box *box, int d)
{
    return box->window && d > 0 ? box->window->taps[d - 1] : box->extent[d];
}

/* The same of a window: `start` has the first pixel of the result, and of each spatial dim the tap. */
static int64_t window_row(const struct meaning_box *box, int64_t row, int64_t *from, int64_t *to)
{
    const struct spec_window *w = box->window;
    const int last = box->rank - 1;
    int64_t pixel = box->start[0] + row, first = box->start[last] < 0 ? -box->start[last] : 0;
    int64_t end =
        box->limit[last] - box->start[last] < box->columns ? box->limit[last] - box->start[last] : box->columns;
    int64_t offset = box->start[last];
    bool inside = pixel >= 0;
    for (int d = last - 1; d > 0; d--) {
        const int64_t pixels = window_pixels(w, d - 1, box->extent[d]);
        const int64_t at =
            pixels ? pixel % pixels * w->step[d - 1] - w->before[d - 1] + box->start[d] * w->dilation[d - 1] : -1;
        pixel = pixels ? pixel / pixels : 0;
        inside = inside && at >= 0 && at < box->extent[d];
        offset += at * box->stride[d];
    }
    inside = inside && pixel < box->extent[0] && first < end;
    *from = inside ? first : 0;
    *to = inside ? end : 0;
    return offset + pixel * box->stride[0];
}

int64_t meaning_row(const struct meaning_box *box, int64_t row, int64_t number, int64_t *from, int64_t *to)
{
    if (box->window)
        return window_row(box, row, from, to);
    int64_t offset = 0, first = 0, end = box->columns;
    bool inside = true; /* no row has the number INT64_MIN */
    for (int d = box->rank - 1; d >= 0; d--) {
        int64_t at = box->start[d];
        if (d == box->column) {
            first = at < 0 ? -at : 0;
            end = box->limit[d] - at < end ? box->limit[d] - at : end;
        } else if (d == box->gathered) {
            inside = inside && number != INT64_MIN;
            at = number != INT64_MIN ? number : 0;
        } else if (box->length[d] > 0) {
            at += row % box->length[d];
            row /= box->length[d];
        }
        if (d != box->column)
            inside = inside && at >= 0 && at < box->limit[d];
        offset += at * box->stride[d];
    }
    *from = inside && first < end ? first : 0;
    *to = inside && first < end ? end : 0;
    return offset;
}

void meaning_load(const struct meaning_state *state, int op_number, const struct meaning_box *box,
                  const int64_t *number)
{
    const struct program_op *op = &state->p->op[op_number];
    struct meaning_cells *to = &state->result[op_number];
    const double *from = state->data->tensor[op->tensor];
    bool real = state->p->graph->node[op->tile.node].type == EXPR_REAL, inexact = false;
    const struct tw_dtype_info *info = tw_dtype_info(state->kernel->tensor[op->tensor].dtype);
    bool wide = real && (info->kind == TW_KIND_FLOAT ? info->bits > 32 : info->bits > 16);
    const int64_t columns = op->tile.columns, step = box->column >= 0 ? box->stride[box->column] : 0;
    for (int64_t r = 0; r < op->tile.rows; r++) {
        int64_t first, end, offset = meaning_row(box, r, number ? number[r] : 0, &first, &end);
        for (int64_t c = 0; c < columns; c++) {
            double value = c >= first && c < end ? from[offset + c * step] : 0;
            int64_t i = r * columns + c;
            if (real)
                to->at.real[i] = value;
            else
                to->at.whole[i] = (int64_t)value;
            if (wide) {
                to->bound[i] = isfinite(value) ? fabs((double)(float)value - value) : 0;
                inexact = inexact || to->bound[i] != 0;
            }
        }
    }
    to->exact = !inexact;
    to->zeroed = true; /* they begin as zeros, and only `wide` writes others */
}

/* A value within its bound as an element of the output; *value becomes what the reference says. Where the value may lie
 * on either side of a tie, either neighbour is right: the bound then is more than what rounding it to nearest takes,
 * from which compare_bounded tells that nothing else is in it. */
static double bound_of_element(enum tw_dtype dtype, double *value, double bound)
{
    double v = *value;
    if (isnan(v) || isinf(bound))
        return isnan(v) && bound == 0 ? 0 : (double)INFINITY;
    double low = meaning_round(dtype, v - bound), high = meaning_round(dtype, v + bound);
    if (low == high && !(isfinite(v) && isfinite(low))) {
        *value = low;
        return 0;
    }
    double up = high - v, down = v - low, most = up > down ? up : down;
    return bound > 0 && low != high ? nextafter(most, (double)INFINITY) : most;
}

/* Mantissa in which additions to memory are made. */
static int bits_of(enum tw_dtype dtype)
{
    return dtype == TW_BF16 ? 8 : dtype == TW_FP16 ? 11 : dtype == TW_FP64 ? 53 : 24;
}

static void add_term(struct meaning_sum *sum, double value, double bound)
{
    int quantum = meaning_quantum(&value, 1);
    sum->magnitude += fabs(value);
    sum->carried += bound;
    sum->terms++;
    sum->quantum = quantum < sum->quantum ? quantum : sum->quantum;
}

int64_t meaning_write(const struct meaning_output *out, const struct meaning_part *part, int64_t row, int64_t columns,
                      enum expr_type type, int64_t offset, int64_t step, int64_t from, int64_t to)
{
    for (int64_t c = from; c < to; c++) {
        int64_t i = row * columns + c, element = offset + c * step;
        if (part->unknown && part->unknown[i] != 0)
            return c;
        if (part->valid && !part->valid[i])
            continue;
        double value = type == EXPR_REAL ? part->value->at.real[i] : (double)part->value->at.whole[i];
        double bound = part->value->exact ? 0 : part->value->bound[i];
        if (isnan(bound))
            return c;
        if (out->done)
            out->done[element] = 1;
        if (out->add) {
            double added = value;
            out->to[element] += value;
            add_term(&out->sum[element], value, bound_of_element(out->dtype, &added, bound));
            continue;
        }
        if (out->sum) {
            out->sum[element] = (struct meaning_sum){.quantum = MEANING_ZEROS};
            add_term(&out->sum[element], value, bound);
        } else {
            bound = bound_of_element(out->dtype, &value, bound);
            if (out->bound)
                out->bound[element] = bound;
        }
        out->to[element] = value;
    }
    return -1;
}

void meaning_finish(const struct meaning_output *out)
{
    for (int64_t i = 0; i < out->count; i++) {
        if (out->sum[i].terms == 0)
            continue;
        double bound = meaning_sum_bound(out->to[i], &out->sum[i], bits_of(out->dtype));
        if (tw_dtype_info(out->dtype)->kind != TW_KIND_FLOAT)
            bound = out->sum[i].carried;
        bound = bound_of_element(out->dtype, &out->to[i], bound);
        if (out->bound)
            out->bound[i] = bound;
    }
}

void meaning_turn(const struct meaning_cells *from, int64_t rows, int64_t columns, struct meaning_cells *to)
{
    for (int64_t first = 0; first < rows; first += 8) /* as many as a cache line of the result holds */
        for (int64_t c = 0; c < columns; c++)
            for (int64_t r = first; r < rows && r < first + 8; r++) {
                memcpy(&to->at.real[c * rows + r], &from->at.real[r * columns + c], sizeof(double));
                to->bound[c * rows + r] = from->bound[r * columns + c];
            }
    to->exact = from->exact;
    to->zeroed = true;
}

void meaning_pick(const struct program *p, int op, struct meaning_cells *result)
{
    const struct program_op *o = &p->op[op];
    int64_t columns = o->arg[0].columns;
    struct meaning_cells *from = &result[p->graph->node[o->arg[0].node].integer], *to = &result[op];
    const double *bound = meaning_bounds(from, o->arg[0].rows * columns);
    for (int64_t r = 0; r < o->tile.rows; r++) {
        memcpy(&to->at.real[r], &from->at.real[r * columns + o->which], sizeof(double));
        to->bound[r] = bound[r * columns + o->which];
    }
    to->exact = from->exact;
    to->zeroed = true;
}
