/* Reductions along rows and columns, and transposes: what threads tell each other. */
#include "lower/direct/direct.h"

#include <math.h>

/* ---- reductions -------------------------------------------------------------------------------------------------- */

static enum plan_reduction reduction_of(const struct program_op *o)
{
    static const enum plan_reduction of[PROGRAM_REDUCTIONS] = {
        [PROGRAM_SUM] = PLAN_SUM, [PROGRAM_MAX] = PLAN_MAX, [PROGRAM_MIN] = PLAN_MIN};
    return of[o->reduction];
}

int direct_identity(struct direct *d, const struct program_op *o)
{
    bool real = d->program->graph->node[o->arg[0].node].type == EXPR_REAL;
    if (o->reduction == PROGRAM_SUM)
        return real ? expr_real(&d->plan->fused, 0.0) : expr_int(&d->plan->fused, 0);
    double sign = o->reduction == PROGRAM_MAX ? -1.0 : 1.0;
    return real ? expr_real(&d->plan->fused, sign * (double)INFINITY)
                : expr_int(&d->plan->fused, o->reduction == PROGRAM_MAX ? INT64_MIN + 1 : INT64_MAX);
}

enum tw_dtype direct_value_dtype(enum expr_type type)
{
    return type == EXPR_INT ? TW_INT64 : TW_FP32;
}

/* Sets every element of the place to the node's value there. */
int direct_set(struct direct *d, int place, int node)
{
    const struct plan_place *p = &d->plan->place[plan_number(place)];
    return node < 0 ? 3
                    : direct_add_step(d, (struct plan_step){.op = PLAN_TOUCH,
                                                            .ring = -1,
                                                            .tensor = -1,
                                                            .place = place,
                                                            .node = plan_some(node),
                                                            .layout = p->layout,
                                                            .rows = p->rows,
                                                            .cols = p->cols,
                                                            .call = "set"});
}

/* A place of what each thread has of the reduction, set to its identity. */
int direct_begin_reduction(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    enum expr_type type = d->program->graph->node[o->arg[0].node].type;
    struct direct_shape shape = {o->over_rows ? 1 : o->arg[0].rows, o->over_rows ? o->arg[0].columns : 1};
    static const char *const word[PLAN_REDUCTION_COUNT] = {"", "sum", "most", "least"};
    int place = direct_new_place(d, direct_word_of(d, number, word[reduction_of(o)]), shape, direct_value_dtype(type),
                                 false, 0);
    if (!place)
        return 3;
    /* What a row or column is reduced to lies with the tile it is reduced from. */
    int layout = direct_layout_of(d, o->arg[0].rows, o->arg[0].columns);
    struct plan_place *made = &d->plan->place[plan_number(place)];
    made->layout = plan_some(layout);
    made->rows = shape.rows > 1 ? d->plan->layout[layout].rows : 1;
    made->cols = shape.cols > 1 ? d->plan->layout[layout].cols : 1;
    d->op[number].part = place;
    return direct_set(d, place, direct_identity(d, o));
}

/* Adds the thread's own elements of the operand. */
static int fold(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    d->layout = direct_layout_of(d, o->arg[0].rows, o->arg[0].columns);
    struct direct_shape held = direct_held(d, o->arg[0].rows, o->arg[0].columns);
    struct plan_step step = {.op = PLAN_TOUCH,
                             .ring = -1,
                             .tensor = -1,
                             .place = d->op[number].part,
                             .layout = plan_some(d->layout),
                             .rows = held.rows,
                             .cols = held.cols,
                             .reduction = reduction_of(o),
                             .over_rows = o->over_rows,
                             .call = "fold"};
    bool zero = o->reduction == PROGRAM_SUM && direct_zero_outside(d, o->arg[0].node, &o->arg[0]);
    int inside = zero ? -1 : direct_validity(d, &o->arg[0], o->over_rows ? DIRECT_ROWS : DIRECT_COLUMNS);
    int node = inside == -2 ? -1 : direct_value_of(d, &o->arg[0]);
    if (node < 0 || d->misfit)
        return direct_failed(d, number);
    step.inside = plan_some(inside);
    step.node = plan_some(node);
    step.partial = held.cols > 1 && inside >= 0 && !direct_is_whole(d, &o->arg[0]);
    return direct_add_step(d, step);
}

/* Threads that hold parts of one row or column: those of a warp, and the groups of them that meet. */
struct partners {
    int lanes, groups;
};
static struct partners partners_of(const struct plan_layout *l, const struct program_op *o)
{
    if (!o->over_rows)
        return (struct partners){l->across < 32 ? l->across : 32, l->across > 32 ? l->across / 32 : 1};
    if (o->arg[0].rows == 1)
        return (struct partners){1, 1};
    int lanes = l->across < 32 ? 32 / l->across : 1;
    return (struct partners){lanes < l->down ? lanes : l->down, l->down > lanes ? l->down / lanes : 1};
}

/* Makes whole results of the parts, of several operations at once: lanes first, then one meeting for all. */
int direct_complete(struct direct *d, const int *number, int count)
{
    int scratch[PROGRAM_MAX_CARRIED] = {0}, status = 0;
    bool any = false;
    for (int pass = 0; pass < 3 && !status; pass++) {
        for (int i = 0; i < count && !status; i++) {
            const struct program_op *o = &d->program->op[number[i]];
            const struct plan_place place = d->plan->place[plan_number(d->op[number[i]].part)];
            const struct plan_layout *l = &d->plan->layout[plan_number(place.layout)];
            struct partners with = partners_of(l, o);
            struct plan_step step = {.op = PLAN_TOUCH,
                                     .ring = -1,
                                     .tensor = -1,
                                     .place = d->op[number[i]].part,
                                     .layout = place.layout,
                                     .rows = place.rows,
                                     .cols = place.cols,
                                     .reduction = reduction_of(o),
                                     .over_rows = o->over_rows,
                                     .call = "lanes",
                                     .why = o->over_rows ? "lanes of a warp hold rows of one column"
                                                         : "lanes of a warp hold columns of one row"};
            if (pass == 0 && with.lanes > 1)
                status = direct_add_step(d, step);
            if (with.groups == 1 || pass == 0)
                continue;
            any = true;
            if (pass == 1) {
                int size = place.dtype == TW_INT64 ? 8 : 4;
                const char *name = plan_text(d->plan, "%s_parts", place.name);
                struct direct_shape shape = {with.groups, place.rows * place.cols};
                scratch[i] = name ? direct_new_scratch(d, name, shape, place.dtype, size * shape.rows * shape.cols) : 0;
                if (!scratch[i])
                    return 3;
            }
            step.op = pass == 1 ? PLAN_SCRATCH_WRITE : PLAN_SCRATCH_READ;
            step.place2 = step.place;
            step.place = scratch[i];
            step.count = 0;
            step.call = pass == 1 ? "share" : "gather";
            step.why = pass == 1 ? "warps hold parts of one row or column" : NULL;
            status = direct_add_step(d, step);
        }
        if (any && !status && (pass == 1 || (pass == 2 && (d->depth || d->persistent))))
            status = direct_meet(d, pass == 1 ? "all warps have written their parts before any reads them"
                                              : "all have read them before the next turn writes its own");
    }
    return status;
}

int direct_reduce(struct direct *d, int number)
{
    if (d->op[number].part) /* its loop's end completes it */
        return fold(d, number);
    int status = direct_begin_reduction(d, number);
    if (!status)
        status = fold(d, number);
    if (!status)
        status = direct_complete(d, &number, 1);
    d->op[number].place = d->op[number].part;
    d->op[number].part = 0;
    return status;
}

/* ---- transposes -------------------------------------------------------------------------------------------------- */

int direct_transpose(struct direct *d, int number)
{
    const struct program_op *o = &d->program->op[number];
    if (d->op[number].vector)
        return 0; /* who reads it reads its operand, rows for columns */
    const struct program_tile *tile = &o->arg[0];
    enum tw_dtype dtype = d->program->graph->node[tile->node].type == EXPR_INT ? TW_INT64 : tile->dtype;
    int size = (int)tw_dtype_bytes(dtype);
    d->layout = direct_layout_of(d, tile->rows, tile->columns);
    struct direct_shape from = direct_held(d, tile->rows, tile->columns);
    struct direct_shape to = direct_held(d, tile->columns, tile->rows);
    int scratch = direct_new_scratch(d, "turned", from, dtype, size * from.rows * (from.cols + (d->vector == 1)));
    int place = direct_new_place(d, direct_word_of(d, number, "across"),
                                 (struct direct_shape){tile->columns, tile->rows}, dtype, true, 0);
    int node = direct_value_of(d, tile);
    if (!scratch || !place || node < 0 || d->misfit)
        return direct_failed(d, number);
    /* Read where the tile is: threads that have more than it find nothing written. */
    struct program_tile turned = program_no_tile;
    turned.rows = tile->columns;
    turned.columns = tile->rows;
    int inside = direct_beyond(d, &turned, DIRECT_ROWS | DIRECT_COLUMNS, -1);
    if (inside == -2)
        return 3;
    struct plan_step write = {.op = PLAN_SCRATCH_WRITE,
                              .ring = -1,
                              .tensor = -1,
                              .place = scratch,
                              .node = plan_some(node),
                              .layout = plan_some(d->layout),
                              .rows = from.rows,
                              .cols = from.cols,
                              .call = "turn"};
    struct plan_step read = {.op = PLAN_SCRATCH_READ,
                             .ring = -1,
                             .tensor = -1,
                             .place = scratch,
                             .place2 = place,
                             .layout = d->plan->place[plan_number(place)].layout,
                             .rows = to.rows,
                             .cols = to.cols,
                             .inside = plan_some(inside),
                             .call = "turn"};
    int status = direct_add_step(d, write);
    status = status ? status : direct_meet(d, "the tile is written before any of it is read across");
    status = status ? status : direct_add_step(d, read);
    d->op[number].place = place;
    return status || !(d->depth || d->persistent) ? status
                                                  : direct_meet(d, "it is read before the next turn writes its own");
}
