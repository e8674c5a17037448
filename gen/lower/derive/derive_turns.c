/* Which turns of a loop lie wholly inside of its masks.
 *
 * A condition is asked of every element of a tile. Where it compares sums of the loop's variable, the element's row and
 * column and values that are the same for the whole item, and turns true to false as the variable grows, interval
 * arithmetic over the tile gives the last turn in which it holds everywhere.
 */
#include "lower/derive/derive.h"
#include "lower/derive/linear.h"

#include <string.h>

/* True where the node's value changes from turn to turn, or from element to element. */
static bool varies(const struct work *w, int node, int loop)
{
    const struct expr_node *n = &w->graph.node[node];
    if (n->op == EXPR_ROW || n->op == EXPR_COLUMN || n->op == EXPR_TILE || (n->op == EXPR_LOOP && n->integer == loop))
        return true;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && varies(w, n->arg[i], loop))
            return true;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        if (varies(w, w->graph.index[n->first_index + i], loop))
            return true;
    return false;
}

/* A condition as one on the thread's own column: plan_some(node of plan.fused) of the first column, counted from the
 * thread's first, where it does not hold; 0: it is no such condition. Sums of what is the same for a whole row stand in
 * the bound, so that an element costs one comparison with a constant. */
int derive_column_bound(struct derive *d, int op, int condition, int shift, int *status)
{
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    const struct expr_node *n = &w->graph.node[condition];
    if (n->op == EXPR_AND) {
        int one = derive_column_bound(d, op, n->arg[0], shift, status);
        int other = one ? derive_column_bound(d, op, w->graph.node[condition].arg[1], shift, status) : 0;
        return other ? plan_some(expr_binary(g, EXPR_MIN, plan_number(one), plan_number(other))) : 0;
    }
    struct linear l;
    if (*status || !linear_difference(w, condition, &l))
        return 0;
    int column = -1;
    for (int i = 0; i < l.count; i++) {
        if (w->graph.node[l.node[i]].op == EXPR_COLUMN)
            column = l.coefficient[i] == -1 ? i : -2;
        else if (work_scope(w, l.node[i]) & WORK_COLUMN)
            return 0;
    }
    if (column < 0)
        return 0;
    /* column <= rest; the thread's first column is an ACC leaf. */
    int bound = expr_binary(g, EXPR_SUB, expr_int(g, l.constant + 1), expr_leaf(g, EXPR_ACC, EXPR_INT, 0));
    for (int i = 0; i < l.count && !*status; i++) {
        if (i == column || l.coefficient[i] == 0)
            continue;
        int term = plan_number(derive_built(d, op, l.node[i], shift, status));
        if (!*status)
            bound = expr_binary(g, EXPR_ADD, bound, expr_binary(g, EXPR_MUL, term, expr_int(g, l.coefficient[i])));
    }
    return *status || bound < 0 ? 0 : plan_some(bound);
}

/* The loop ends where the node's value is reached, or before. */
static bool ends_at(const struct expr_graph *g, int to, int node)
{
    const struct expr_node *n = &g->node[to];
    return to == node || (n->op == EXPR_MIN && (ends_at(g, n->arg[0], node) || ends_at(g, n->arg[1], node)));
}

bool derive_falls(const struct derive *d, int loop, int condition)
{
    struct linear l;
    bool falls = false, by_end = true;
    if (!linear_difference(&d->work, condition, &l))
        return false;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &d->work.graph.node[l.node[i]];
        if (n->op == EXPR_LOOP && n->integer == loop)
            falls = l.coefficient[i] == -1;
        else if (n->op != EXPR_COLUMN)
            by_end = by_end && l.coefficient[i] == 1 && ends_at(&d->work.graph, d->work.op[loop].to, l.node[i]);
    }
    return falls && !(by_end && l.constant >= -1);
}

enum { MANY_TURNS = 12 /* what more of them, or an unknown number, are said to be */ };

int derive_partly(const struct derive *d, int loop, const struct derive_mask *mask, bool idle)
{
    const struct work *w = &d->work;
    const struct expr_graph *g = &w->graph;
    int64_t step = w->l->plan->loop[d->loop[loop]].step, first, low, high;
    struct linear l;
    bool aligned = expr_is_int(g, w->op[loop].from, &first), by_end = true;
    if (!linear_difference(w, mask->condition, &l) || !aligned)
        return MANY_TURNS;
    low = high = l.constant - first + step;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &g->node[l.node[i]];
        int64_t by = l.coefficient[i];
        bool at = n->op == EXPR_AT && w->program->axis[n->integer].tile > 0 &&
                  by * w->program->axis[n->integer].tile % step == 0;
        if (n->op == EXPR_LOOP && n->integer == loop)
            continue;
        if (n->op == EXPR_ROW || n->op == EXPR_COLUMN) {
            int64_t span = by * ((n->op == EXPR_ROW ? d->rows : mask->columns) - 1);
            low += span < 0 ? span : 0;
            high += span > 0 ? span : 0;
            by_end = by_end && n->op == EXPR_COLUMN;
            continue;
        }
        aligned = aligned && at;
        by_end = by_end && by == 1 && ends_at(g, w->op[loop].to, l.node[i]);
    }
    if (!idle && !(by_end && l.constant >= -1))
        return MANY_TURNS;
    int64_t turns = aligned && low >= 0 ? high / step - low / step : (high - low + step - 1) / step;
    return turns < MANY_TURNS ? (int)turns : MANY_TURNS;
}

bool derive_rises(const struct derive *d, int condition, int axis)
{
    struct linear l;
    if (!linear_difference(&d->work, condition, &l))
        return false;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &d->work.graph.node[l.node[i]];
        if (n->op == EXPR_AT && n->integer == axis && l.coefficient[i] > 0)
            return true;
    }
    return false;
}

int derive_turns_where(struct derive *d, int loop, const struct derive_mask *mask, bool somewhere, int *status)
{
    int condition = mask->condition, columns = mask->columns;
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    const struct plan_loop *known = &w->l->plan->loop[d->loop[loop]];
    struct linear l;
    if (!linear_difference(w, condition, &l))
        return 0;
    int64_t constant = l.constant;
    bool falls = false;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &w->graph.node[l.node[i]];
        int64_t by = l.coefficient[i];
        if (n->op == EXPR_LOOP && n->integer == loop) {
            if (by != -1)
                return 0;
            falls = true;
        } else if (n->op == EXPR_ROW || n->op == EXPR_COLUMN) {
            int extent = n->op == EXPR_ROW ? d->rows : columns;
            constant += (by < 0) != somewhere ? by * (extent - 1) : 0;
        } else if (varies(w, l.node[i], loop)) {
            return 0;
        }
    }
    if (!falls)
        return 0;
    /* The variable is at most `bound`: (bound - from + step) / step turns. */
    int bound = expr_int(g, constant + known->step);
    for (int i = 0; i < l.count && !*status; i++) {
        const struct expr_node *n = &w->graph.node[l.node[i]];
        if (n->op == EXPR_ROW || n->op == EXPR_COLUMN || (n->op == EXPR_LOOP && n->integer == loop))
            continue;
        int term = plan_number(derive_built(d, loop, l.node[i], 0, status));
        if (*status)
            return 0;
        bound = expr_binary(g, EXPR_ADD, bound, expr_binary(g, EXPR_MUL, term, expr_int(g, l.coefficient[i])));
    }
    bound = expr_binary(g, EXPR_MAX, expr_binary(g, EXPR_SUB, bound, known->from), expr_int(g, 0));
    int turns = expr_binary(g, EXPR_FLOORDIV, bound, expr_int(g, known->step));
    if (turns < 0)
        *status = 3;
    return plan_some(turns);
}

int derive_least(struct expr_graph *g, int of, int other)
{
    for (int at = plan_number(of); at >= 0; at = g->node[at].op == EXPR_MIN ? g->node[at].arg[0] : -1)
        if (at == plan_number(other) || (g->node[at].op == EXPR_MIN && g->node[at].arg[1] == plan_number(other)))
            return of;
    return plan_some(expr_binary(g, EXPR_MIN, plan_number(of), plan_number(other)));
}

/* Marks the parts of a condition whose turns are known. */
static int look_at(struct derive *d, int loop, int condition, int columns, int turns, int *status)
{
    const struct expr_node *n = &d->work.graph.node[condition];
    struct expr_graph *g = &d->work.l->plan->fused;
    if (n->op == EXPR_AND) {
        turns = look_at(d, loop, n->arg[0], columns, turns, status);
        return look_at(d, loop, d->work.graph.node[condition].arg[1], columns, turns, status);
    }
    const struct derive_mask mask = {condition, columns};
    int own = *status ? 0 : derive_turns_where(d, loop, &mask, false, status);
    if (!own)
        return turns;
    d->inside[condition] = true;
    return turns ? derive_least(g, turns, own) : own;
}

int derive_turns_inside(struct derive *d, int loop, int *turns)
{
    struct work *w = &d->work;
    int count = w->graph.count, status = 0, end = w->program->op[loop].end;
    d->inside = plan_alloc(w->l->plan, sizeof *d->inside * (size_t)(count + 1));
    bool *reached = plan_alloc(w->l->plan, sizeof *reached * (size_t)(count + 1));
    *turns = 0;
    if (!d->inside || !reached)
        return 3;
    for (int u = 0; u < d->use_count && !status; u++) {
        int op = d->use[u].op, root = d->use[u].root;
        if (op <= loop || op > end || w->op[op].parent != loop)
            continue;
        const struct program_op *o = &w->program->op[op];
        int columns = o->kind == PROGRAM_REDUCE || (o->kind == PROGRAM_DOT && root == w->op[op].arg[0])
                          ? o->arg[0].columns
                          : o->tile.columns;
        memset(reached, 0, sizeof *reached * (size_t)(count + 1));
        reached[root] = true;
        for (int node = root; node >= 0 && !status; node--) {
            const struct expr_node *n = &w->graph.node[node];
            if (!reached[node])
                continue;
            for (int a = 0; a < 3; a++)
                if (n->arg[a] >= 0)
                    reached[n->arg[a]] = true;
            if (n->op == EXPR_SELECT && columns > 0)
                *turns = look_at(d, loop, n->arg[0], columns, *turns, &status);
        }
    }
    return status;
}
