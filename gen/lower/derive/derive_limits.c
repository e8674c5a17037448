/* Limits of what is loaded and stored: rows of a tile up to a number that data decide. */
#include "lower/derive/derive.h"
#include "lower/derive/derive_turns.h"
#include "lower/derive/linear.h"

/* plan_some(node of plan.fused): the number of the item's rows, none where it is below 1, for which a condition holds
 * that work_ends_rows takes. 0: *status says why. */
static int rows_end(struct derive *d, int op, int condition, int shift, int *status)
{
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    const struct expr_node n = w->graph.node[condition];
    struct linear l;
    if (n.op == EXPR_AND) {
        int one = rows_end(d, op, n.arg[0], shift, status), other = rows_end(d, op, n.arg[1], shift, status);
        return *status ? 0 : plan_some(expr_binary(g, EXPR_MIN, plan_number(one), plan_number(other)));
    }
    linear_difference(w, condition, &l);
    int end = expr_int(g, l.constant + 1);
    for (int i = 0; i < l.count && !*status; i++) {
        if (w->graph.node[l.node[i]].op == EXPR_ROW || !l.coefficient[i])
            continue;
        int term = plan_number(derive_built(d, op, l.node[i], shift, status));
        int64_t by = l.coefficient[i];
        if (!*status)
            end = expr_binary(g, by < 0 ? EXPR_SUB : EXPR_ADD, end,
                              expr_binary(g, EXPR_MUL, term, expr_int(g, by < 0 ? -by : by)));
    }
    if (end < 0)
        *status = 3;
    return *status ? 0 : plan_some(end);
}

/* Items that store nothing are not taken (plan_item.filled), and no block takes one for a neighbour's sake: each has a
 * row to store. A store that has none all the same starts nothing. */
static bool every_item_stores(const struct plan *p)
{
    bool filled = false;
    for (int i = 0; i < p->item_count; i++)
        filled = filled || p->item[i].filled;
    return filled && p->launch.cluster[0] <= 1;
}

int derive_limit(struct derive *d, int op, struct plan_step *store)
{
    const struct program_op *o = &d->work.program->op[op];
    int beyond = d->work.op[op].beyond, status = 0;
    const bool always = every_item_stores(d->work.l->plan);
    if (beyond < 0 || (!store && always))
        return 0;
    if (!store)
        return derive_emit(d, d->consumer, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
    store->end = rows_end(d, op, beyond, 0, &status);
    const char *name = plan_text(d->work.l->plan, "%s_any", d->work.l->plan->tensor[o->tensor].name);
    if (status || !name || always)
        return status ? status : name ? 0 : 3;
    return derive_emit(d, d->consumer,
                       (struct plan_step){.op = PLAN_WHEN, .ring = -1, .tensor = -1, .node = store->end, .call = name});
}

int derive_fill_end(struct derive *d, int op, int shift, struct plan_step *fill)
{
    const struct program_op *o = &d->work.program->op[op];
    int status = 0;
    if (d->work.op[op].summed)
        fill->end = derive_built(d, op, d->work.op[op].end, shift, &status);
    if (o->kind != PROGRAM_GATHER || d->work.l->plan->tensor[o->tensor].run <= 1)
        return status;
    const int ending = work_ending(&d->work, op), number = d->work.op[op].at[o->gathered];
    const int plain = ending < 0 ? number : d->work.graph.node[number].arg[1];
    fill->at[o->gathered] = derive_built(d, op, plain, shift, &status);
    fill->end = ending < 0 || status ? 0 : rows_end(d, op, ending, shift, &status);
    return status;
}
