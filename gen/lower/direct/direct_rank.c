/* Ranks and segments of rows: threads that hold parts of a row tell each other through shared memory. */
#include "lower/direct/direct.h"

#include <stdint.h>

#include "lower/family.h"

static int new_numbers(struct direct *d, const struct program_tile *tile, const char *word)
{
    int place = direct_new_place(d, word, (struct direct_shape){tile->rows, tile->columns}, TW_INT32, false, 0);
    if (place)
        d->plan->place[plan_number(place)].narrow = true;
    return place;
}

/* A place of the operand, a whole number of 32 bits for each element, and `otherwise` where threads have more than the
 * tile. 0 out of memory, or told: d->misfit. */
static int operand(struct direct *d, const struct program_tile *tile, const char *word, int64_t otherwise)
{
    struct expr_graph *g = &d->plan->fused;
    d->layout = direct_layout_of(d, tile->rows, tile->columns);
    int node = direct_value_of(d, tile), within = direct_beyond(d, tile, DIRECT_ROWS | DIRECT_COLUMNS, -1);
    for (int i = 0; i < d->operand_count; i++)
        if (d->operand[i].node == tile->node && d->operand[i].otherwise == otherwise)
            return d->operand[i].place;
    if (!d->operand)
        d->operand = plan_alloc(d->plan, sizeof *d->operand * DIRECT_MAX_STEPS);
    if (node >= 0 && within >= 0)
        node = expr_select(g, within, node, expr_int(g, otherwise));
    int place = !d->operand || node < 0 || within == -2 || d->misfit ? 0 : new_numbers(d, tile, word);
    if (!place || direct_set(d, place, node))
        return 0;
    d->operand[d->operand_count++] = (struct direct_operand){tile->node, place, otherwise};
    return place;
}

/* Each element is one thread's: threads that hold one row for all would count it many times. */
static int expect_own(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    struct direct_shape tile = {o->tile.rows, o->tile.columns};
    const struct plan_layout *l = &d->plan->layout[direct_layout_of(d, tile.rows, tile.cols)];
    if (direct_held(d, tile.rows, tile.cols).rows == l->rows && direct_held(d, tile.rows, tile.cols).cols == l->cols)
        return 0;
    return program_refuse(d->l, o->loc, "PROGRAM-LOWER",
                          "its tile is %d x %d beside others of %d x %d; write it of tiles of the same extents",
                          tile.rows, tile.cols, l->rows, l->cols);
}

/* Shared memory with so many words for each row that threads have. */
static int new_rows(struct direct *d, const char *word, int place, int words)
{
    int rows = d->plan->place[plan_number(place)].rows;
    return direct_new_scratch(d, word, (struct direct_shape){rows, words}, TW_INT32, 4 * rows * words);
}

/* A step between the threads' own place and the shared one; `step` has the rest. */
static int add(struct direct *d, int scratch, int place, struct plan_step step)
{
    const struct plan_place *own = &d->plan->place[plan_number(place)];
    step.ring = step.tensor = -1;
    step.place = scratch;
    step.place2 = place;
    step.layout = own->layout;
    step.rows = own->rows;
    step.cols = own->cols;
    return direct_add_step(d, step);
}

/* Words of a row, of which neighbours begin 16 bytes apart in their banks: threads of several rows read vectors at
 * once. */
static int pitch_of(const struct direct *d, int place)
{
    int cols = d->plan->place[plan_number(place)].cols;
    return (cols + 31) / 32 * 32 + 4;
}

/* Behind the last step: the next turn writes the same memory. */
static int leave(struct direct *d, int status)
{
    return status || !(d->depth || d->persistent) ? status
                                                  : direct_meet(d, "it is read before the next turn writes its own");
}

int direct_rank(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    if (expect_own(d, number))
        return 1;
    int own = operand(d, &o->arg[0], "value", INT32_MAX);
    int place = own ? new_numbers(d, &o->arg[0], direct_word_of(d, number, "rank")) : 0;
    int values = place ? new_rows(d, "values", place, pitch_of(d, place)) : 0;
    int cols = place ? d->plan->place[plan_number(place)].cols : 0;
    int marks = values ? new_rows(d, "marks", place, (cols + 31) / 32) : 0;
    if (!marks)
        return direct_failed(d, number);
    const struct plan_step write = {.op = PLAN_SCRATCH_WRITE, .call = "rank_values"},
                           clear = {.op = PLAN_SCRATCH_WRITE, .call = "rank_clear"},
                           count = {.op = PLAN_SCRATCH_READ,
                                    .call = "rank_count",
                                    .window = own,
                                    .why = "how many of a row are less"},
                           mark = {.op = PLAN_SCRATCH_WRITE, .call = "rank_mark", .why = "equal ones mark one place"},
                           take = {.op = PLAN_SCRATCH_READ, .call = "rank_take", .why = "how many of them differ"};
    int status = add(d, values, own, write);
    status = status ? status : add(d, marks, place, clear);
    status = status ? status : direct_meet(d, "a row is written before any thread counts what is less than its own");
    status = status ? status : add(d, values, place, count);
    status = status ? status : add(d, marks, place, mark);
    status = status ? status : direct_meet(d, "all places are marked before any thread counts those below its own");
    status = status ? status : add(d, marks, place, take);
    d->op[number].place = place;
    return leave(d, status);
}

int direct_segment(struct direct *d, int number)
{
    static const enum plan_reduction of[PROGRAM_REDUCTIONS] = {
        [PROGRAM_SUM] = PLAN_SUM, [PROGRAM_MAX] = PLAN_MAX, [PROGRAM_MIN] = PLAN_MIN};
    const struct program_op *o = &d->program->op[number];
    if (expect_own(d, number))
        return 1;
    int to = operand(d, &o->arg[1], "column_of", -1), own = to ? operand(d, &o->arg[0], "value", INT32_MAX) : 0;
    int place = own ? new_numbers(d, &o->arg[0], direct_word_of(d, number, "segment")) : 0;
    int sums = place ? new_rows(d, "sums", place, pitch_of(d, place)) : 0;
    if (!sums)
        return direct_failed(d, number);
    const enum plan_reduction reduction = of[o->reduction];
    const struct plan_step clear = {.op = PLAN_SCRATCH_WRITE, .call = "segment_clear", .reduction = reduction},
                           join = {.op = PLAN_SCRATCH_WRITE,
                                   .call = "segment_join",
                                   .reduction = reduction,
                                   .window = to,
                                   .why = "by atomics, in any order"},
                           take = {.op = PLAN_SCRATCH_READ, .call = "segment_take"};
    int status = add(d, sums, place, clear);
    status = status ? status : direct_meet(d, "all columns are clear before any thread adds to one");
    status = status ? status : add(d, sums, own, join);
    status = status ? status : direct_meet(d, "all have added before any thread reads its columns");
    status = status ? status : add(d, sums, place, take);
    d->op[number].place = place;
    return leave(d, status);
}
