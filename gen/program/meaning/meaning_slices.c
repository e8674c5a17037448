/* Dots whose second operand is rows of a loaded tile, from computed ones on. */
#include "program/meaning/meaning.h"

int meaning_wrong_row(const struct program_op *op, const struct meaning_cells *first)
{
    for (int i = 0; i < op->arg[1].rows; i++)
        if (first->at.whole[i] < 0 || first->at.whole[i] > op->arg[0].rows - op->tile.rows ||
            (!first->exact && first->bound[i] != 0))
            return i;
    return -1;
}

/* The dot's second operand, k x n, from rows of what was loaded; whole: of integers. */
static void take_rows(const struct meaning_cells *from, bool whole, int64_t columns, int64_t first, bool turned,
                      struct meaning_dot *d)
{
    for (int64_t k = 0; k < d->k; k++)
        for (int64_t j = 0; j < d->n; j++) {
            const int64_t i = turned ? (first + j) * columns + k : (first + k) * columns + j;
            d->b.at.real[k * d->n + j] = whole ? (double)from->at.whole[i] : from->at.real[i];
            d->b.bound[k * d->n + j] = from->exact ? 0 : from->bound[i];
        }
    d->b.exact = d->b.zeroed = from->exact;
}

void meaning_multiply(const struct meaning_state *state, int op, struct meaning_dot *d)
{
    const struct program *p = state->p;
    const struct program_tile *operand = &p->op[op].arg[1];
    const int slice = program_slice(p, operand);
    if (slice < 0) {
        meaning_dot(d);
        return;
    }
    const struct program_op *rows = &p->op[slice];
    const int load = (int)p->graph->node[rows->arg[0].node].integer;
    const bool turned = p->graph->node[operand->node].integer != slice;
    const int64_t *first = state->result[slice].at.whole;
    bool exact = true;
    for (int64_t row = 0, next = 0; row < d->m; row = next) {
        for (next = row + 1; next < d->m && (rows->arg[1].rows == 1 || first[next] == first[row]);)
            next++;
        struct meaning_dot part = *d;
        part.m = next - row;
        part.a.at.real += row * d->k;
        part.a.bound += row * d->k;
        part.result.at.real += row * d->n;
        part.result.bound += row * d->n;
        take_rows(&state->result[load], p->graph->node[p->op[load].tile.node].type == EXPR_INT,
                  p->op[load].tile.columns, first[row], turned, &part);
        meaning_dot(&part);
        exact = exact && part.result.exact;
    }
    d->result.exact = d->result.zeroed = exact;
}
