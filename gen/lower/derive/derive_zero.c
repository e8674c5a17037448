/* Carried values at a loop's beginning and behind it, and sums that begin from zero without zeros being there: their
 * first dot takes none of what lies in its accumulator. */
#include "lower/derive/derive_ops.h"
#include "lower/derive/derive_turns.h"

/* The carried value that the operation's result becomes; -1: none. */
static int carried_as(const struct derive *d, int op)
{
    int loop = d->work.op[op].parent;
    const struct program_op *l = loop >= 0 ? &d->work.program->op[loop] : NULL;
    for (int i = 0; l && i < l->carried; i++)
        if (d->work.op[l->end].value[i] == d->work.op[op].leaf)
            return i;
    return -1;
}

static bool is_zero(const struct work *w, int node)
{
    const struct expr_node *n = &w->graph.node[node];
    return (n->op == EXPR_CONST_REAL && n->real == 0.0) || (n->op == EXPR_CONST_INT && n->integer == 0);
}

/* The node is the leaf, or a multiple of it, and zero where that is. */
static bool is_multiple(const struct work *w, int node, int leaf)
{
    const struct expr_node *n = &w->graph.node[node];
    return node == leaf || (n->op == EXPR_MUL && (is_multiple(w, n->arg[0], leaf) || is_multiple(w, n->arg[1], leaf)));
}

/* Else a group may be in flight where the loop turns, and zeros on one of the ways to the loop make ptxas wait for each
 * instruction (C7515). */
static bool looks_ahead(const struct derive *d)
{
    return d->work.l->kernel->ahead_count > 0 && !d->synchronous;
}

bool derive_starts_from_zero(const struct derive *d, int op)
{
    int which = carried_as(d, op), loop = d->work.op[op].parent, c = d->work.op[op].arg[2];
    if (d->synchronous || which < 0 || c < 0 || !is_zero(&d->work, d->work.op[loop].value[which]))
        return false;
    for (int i = loop + 1; i <= loop + d->work.program->op[loop].carried; i++)
        if (d->work.program->op[i].which == which)
            return derive_uses_of(d, d->work.op[i].leaf) == 1 &&
                   (c == d->work.op[i].leaf || (looks_ahead(d) && is_multiple(&d->work, c, d->work.op[i].leaf)));
    return false;
}

/* The loop runs as often for every item. */
static bool is_uniform(const struct work *w, int node)
{
    const struct expr_node *n = &w->graph.node[node];
    if (n->op == EXPR_AT || n->op == EXPR_LOOP || n->op == EXPR_TENSOR)
        return false;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && !is_uniform(w, n->arg[i]))
            return false;
    return true;
}

static bool turns_alike(struct derive *d, int loop, int *status)
{
    struct derive_mask mask[DERIVE_MAX_MASKS];
    if (d->work.program->op[loop].stream) /* a part has a turn at least, but where no item has any */
        return true;
    return derive_masks(d, loop, mask, status) == 0 && is_uniform(&d->work, d->work.op[loop].from) &&
           is_uniform(&d->work, d->work.op[loop].to);
}

static bool asks_data(const struct work *w, int node)
{
    const struct expr_node *n = &w->graph.node[node];
    bool asks = n->op == EXPR_TENSOR;
    for (int i = 0; i < 3 && !asks; i++)
        asks = n->arg[i] >= 0 && asks_data(w, n->arg[i]);
    return asks;
}

bool derive_waits_for_memory(const struct derive *d, int loop)
{
    const struct program *p = d->work.program;
    const bool along = p->graph->node[p->op[loop].step].integer > 1 && asks_data(&d->work, d->work.op[loop].to);
    return along && d->producer && d->consumers == 1;
}

bool derive_holds_waits(const struct derive *d)
{
    const int operand = d->before < 0 ? 0 : d->dot[d->before].operand;
    const enum tw_dtype dtype = operand ? d->work.l->plan->place[plan_number(operand)].dtype : TW_FP32;
    return dtype == TW_FP8_E4M3 || dtype == TW_FP8_E5M2;
}

/* The carried value of an outermost loop is such a sum; and where a loop makes no turn it makes none for any item, or
 * there are zeros then. Who waits for memory writes zeros in front of each item at no cost: sums that are kept from
 * item to item, with zeros on one of the ways, take a compiler many moves. */
static bool needs_no_zeros(struct derive *d, int loop, int which, int *status)
{
    const struct program *p = d->work.program;
    if ((!looks_ahead(d) || derive_waits_for_memory(d, loop)) && !turns_alike(d, loop, status))
        return false;
    for (int o = loop + 1; o < p->op[loop].end && d->work.op[loop].parent < 0; o++)
        if (p->op[o].kind == PROGRAM_DOT && carried_as(d, o) == which && d->work.op[o].parent == loop)
            return derive_starts_from_zero(d, o);
    return false;
}

static int zeros(struct derive *d, int place)
{
    return derive_emit(d, d->consumer,
                       (struct plan_step){.op = PLAN_TOUCH,
                                          .ring = -1,
                                          .tensor = -1,
                                          .place = place,
                                          .node = plan_some(expr_real(&d->work.l->plan->fused, 0.0)),
                                          .call = "evaluate"});
}

int derive_zeros_before_items(struct derive *d)
{
    const struct program *p = d->work.program;
    int status = 0;
    for (int o = 0; o < p->op_count && !status; o++)
        if (p->op[o].kind == PROGRAM_PARAM && needs_no_zeros(d, p->op[o].loop, p->op[o].which, &status) && !status)
            status = zeros(d, derive_home_of(d, d->work.op[o].leaf));
    return status;
}

int derive_first_values(struct derive *d, int loop)
{
    const struct program_op *l = &d->work.program->op[loop];
    int status = 0;
    for (int o = loop + 1; o < l->end && !status; o++) {
        const struct program_op *op = &d->work.program->op[o];
        if (op->kind != PROGRAM_PARAM || op->loop != loop)
            continue;
        int place = derive_home_of(d, d->work.op[o].leaf), value = d->work.op[loop].value[op->which];
        if (!needs_no_zeros(d, loop, op->which, &status)) {
            status = status ? status : derive_prepare(d, loop, value);
            status = status ? status : derive_evaluate(d, loop, value, place);
        }
        status = status ? status : derive_own(d, place, d->work.op[o].leaf);
    }
    return status;
}

int derive_zeros_without_turns(struct derive *d, int loop, const char *name, int count)
{
    const struct program_op *l = &d->work.program->op[loop];
    struct expr_graph *g = &d->work.l->plan->fused;
    int status = 0;
    bool opened = false;
    if (turns_alike(d, loop, &status) || status || !looks_ahead(d))
        return status;
    int some = expr_binary(g, EXPR_MIN, plan_number(count), expr_int(g, 1));
    int none = plan_some(expr_binary(g, EXPR_SUB, expr_int(g, 1), some));
    for (int o = loop + 1; o < l->end && !status; o++) {
        const struct program_op *op = &d->work.program->op[o];
        if (op->kind != PROGRAM_PARAM || op->loop != loop || !needs_no_zeros(d, loop, op->which, &status))
            continue;
        if (!opened)
            status = derive_emit(d, d->consumer,
                                 (struct plan_step){.op = PLAN_WHEN,
                                                    .ring = -1,
                                                    .tensor = -1,
                                                    .node = none,
                                                    .call = plan_text(d->work.l->plan, "%s_none", name)});
        opened = true;
        status = status ? status : zeros(d, derive_home_of(d, d->work.op[o].leaf));
    }
    return status || !opened
               ? status
               : derive_emit(d, d->consumer, (struct plan_step){.op = PLAN_END, .ring = -1, .tensor = -1});
}

int derive_add_lanes(struct derive *d, int loop)
{
    int status = 0;
    for (int i = loop + 1; i < d->work.program->op[loop].end && !status; i++) {
        if (d->work.program->op[i].kind != PROGRAM_PARAM || d->work.program->op[i].loop != loop || !d->partial[i])
            continue;
        int node = derive_built(d, i, d->work.op[i].leaf, 0, &status);
        status = status ? status
                        : derive_pass(d, (struct plan_step){.op = PLAN_TOUCH,
                                                            .place = derive_home_of(d, d->work.op[i].leaf),
                                                            .node = node,
                                                            .reduction = PLAN_SUM,
                                                            .call = "lanes"});
    }
    return status;
}
