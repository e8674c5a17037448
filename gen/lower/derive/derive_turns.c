/* Which turns of a loop lie wholly inside of its masks, and which wholly outside.
 *
 * A condition is asked of every element of a tile. Where it compares sums of the loop's variable, the element's row and
 * column and values that are the same for the whole item, and turns true to false as the variable grows, interval
 * arithmetic over the tile gives the last turn in which it holds everywhere; where it turns false to true, the first in
 * which it holds somewhere. Of two such conditions that hold if either does, it is the later one.
 */
#include "lower/derive/derive_turns.h"
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

/* The most that a node of an element's row or column is within a tile, 0 being the least: they themselves, and digits
 * of them, as rows along several spans have; -1: it is none. */
static int64_t most_within(const struct expr_graph *g, int node, int rows, int columns)
{
    const struct expr_node *n = &g->node[node];
    int64_t by = 0, most = -1;
    if (n->op == EXPR_ROW || n->op == EXPR_COLUMN)
        return (n->op == EXPR_ROW ? rows : columns) - 1;
    if ((n->op == EXPR_FLOORDIV || n->op == EXPR_MOD) && expr_is_int(g, n->arg[1], &by) && by > 0)
        most = most_within(g, n->arg[0], rows, columns);
    if (most >= 0)
        most = n->op == EXPR_FLOORDIV ? most / by : most < by ? most : by - 1;
    return most;
}

/* An integer of 64 bits from memory: a sum with it may wrap. */
static bool is_long(const struct work *w, const struct expr_node *n)
{
    return n->op == EXPR_TENSOR && tw_dtype_bytes(w->l->plan->tensor[n->integer].dtype) > 4;
}

/* Which term of the condition, as l >= 0, is the element's column, that has to be below a bound or, `rises`, not below;
 * -1: none, or elements compare in 32 bits as they are. */
static int bounded_column(struct work *w, int condition, bool rises, struct linear *l)
{
    int column = -1;
    bool wide = false;
    if (!linear_difference(w, condition, l))
        return -1;
    for (int i = 0; i < l->count; i++) {
        const struct expr_node *term = &w->graph.node[l->node[i]];
        if (term->op == EXPR_COLUMN)
            column = l->coefficient[i] == (rises ? 1 : -1) ? i : -2;
        else if ((work_scope(w, l->node[i]) & WORK_COLUMN) || is_long(w, term))
            return -1;
        wide = wide || term->op == EXPR_TENSOR || term->op == EXPR_SYMBOL;
    }
    return rises && !wide ? -1 : column;
}

bool derive_is_bounded(struct derive *d, int condition, bool rises)
{
    struct linear l;
    return bounded_column(&d->work, condition, rises, &l) >= 0;
}

/* `to`, a node of plan.fused, and sign times the sum's terms beside the constant and term `but`. *status: 0, 1, 3. */
static int add_terms(struct derive *d, int op, const struct linear *l, int but, int sign, int shift, int to,
                     int *status)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    for (int i = 0; i < l->count && !*status; i++) {
        if (i == but || l->coefficient[i] == 0)
            continue;
        const int term = plan_number(derive_built(d, op, l->node[i], shift, status));
        const int by = expr_int(g, sign * l->coefficient[i]);
        to = *status ? to : expr_binary(g, EXPR_ADD, to, expr_binary(g, EXPR_MUL, term, by));
    }
    return to;
}

/* A condition as one on the thread's own column: plan_some(node of plan.fused) of the first column, counted from the
 * thread's first, where it does not hold, or `rises`: where it does; 0: it is no such condition. Sums of what is the
 * same for a whole row stand in the bound, so that an element costs one comparison with a constant. */
int derive_column_bound(struct derive *d, int op, int condition, bool rises, int shift, int *status)
{
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    const struct expr_node *n = &w->graph.node[condition];
    if (n->op == EXPR_AND || n->op == EXPR_OR) {
        const enum expr_op least = (n->op == EXPR_AND) == rises ? EXPR_MAX : EXPR_MIN;
        int one = derive_column_bound(d, op, n->arg[0], rises, shift, status);
        int other = one ? derive_column_bound(d, op, w->graph.node[condition].arg[1], rises, shift, status) : 0;
        return other ? plan_some(expr_binary(g, least, plan_number(one), plan_number(other))) : 0;
    }
    struct linear l;
    const int column = *status ? -1 : bounded_column(w, condition, rises, &l);
    if (column < 0)
        return 0;
    /* column <= rest, or column >= -rest; the thread's first column is an ACC leaf. */
    const int sign = rises ? -1 : 1;
    int bound = expr_int(g, rises ? -l.constant : l.constant + 1);
    bound = expr_binary(g, EXPR_SUB, bound, expr_leaf(g, EXPR_ACC, EXPR_INT, 0));
    bound = add_terms(d, op, &l, column, sign, shift, bound, status);
    return *status || bound < 0 ? 0 : plan_some(bound);
}

int derive_column_sum(struct derive *d, int op, int integer, int shift, int *steps, int *status)
{
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    struct linear l;
    int column = -1;
    if (*status || w->graph.node[integer].type != EXPR_INT || !(work_scope(w, integer) & WORK_COLUMN) ||
        !linear_sum(w, integer, &l))
        return 0;
    for (int i = 0; i < l.count; i++) {
        if (w->graph.node[l.node[i]].op == EXPR_COLUMN)
            column = i;
        else if (work_scope(w, l.node[i]) & WORK_COLUMN)
            return 0;
    }
    if (column < 0 || l.coefficient[column] == 0)
        return 0;
    const int by = expr_int(g, l.coefficient[column]), below = expr_leaf(g, EXPR_INDEX, EXPR_INT, PLAN_INDEX_ROW);
    int first = expr_binary(g, EXPR_MUL, expr_leaf(g, EXPR_ACC, EXPR_INT, 0), by);
    first = expr_binary(g, EXPR_ADD, first, expr_int(g, l.constant));
    *steps = expr_binary(g, EXPR_MUL, expr_leaf(g, EXPR_INDEX, EXPR_INT, PLAN_INDEX_COLUMN), by);
    for (int i = 0; i < l.count && !*status; i++) {
        if (i == column || l.coefficient[i] == 0)
            continue;
        const bool less = l.coefficient[i] < 0;
        const int times = expr_int(g, less ? -l.coefficient[i] : l.coefficient[i]);
        int term = plan_number(derive_built(d, op, l.node[i], shift, status));
        /* The row's part is that of the thread's first: an element of another row has it in common with one of an
         * earlier column. */
        if (!*status && w->graph.node[l.node[i]].op == EXPR_ROW) {
            term = expr_binary(g, EXPR_SUB, term, below);
            *steps = expr_binary(g, less ? EXPR_SUB : EXPR_ADD, *steps, expr_binary(g, EXPR_MUL, below, times));
        }
        if (!*status)
            term = expr_binary(g, EXPR_MUL, term, times);
        first = *status ? first : expr_binary(g, less ? EXPR_SUB : EXPR_ADD, first, term);
    }
    return *status || first < 0 || *steps < 0 ? 0 : plan_some(expr_cast(g, first, TW_FP32));
}

/* Which term is the column, of a sum that goes by data, and by the column as the column does; -1: it is none. */
static int column_beside_data(struct work *w, const struct linear *l)
{
    bool data = false;
    int column = -1;
    for (int i = 0; i < l->count; i++) {
        const struct expr_node *n = &w->graph.node[l->node[i]];
        if (n->op == EXPR_COLUMN)
            column = l->coefficient[i] == 1 ? i : -1;
        else if (work_scope(w, l->node[i]) & WORK_COLUMN)
            return -1;
        data = data || n->op == EXPR_TENSOR;
    }
    return data ? column : -1;
}

int derive_column_place(struct derive *d, int op, int index, int shift, int *status)
{
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    const struct expr_node *n = &w->graph.node[index];
    const int zero = expr_int(g, 0), least = n->op == EXPR_MAX ? n->arg[1] : -1;
    int64_t value = 1;
    const bool from_zero = least >= 0 && expr_is_int(&w->graph, least, &value) && value == 0;
    struct linear l;
    const bool sum = !*status && linear_sum(w, from_zero ? n->arg[0] : index, &l);
    const int column = sum ? column_beside_data(w, &l) : -1;
    if (column < 0)
        return 0;
    int first = expr_binary(g, EXPR_ADD, expr_leaf(g, EXPR_ACC, EXPR_INT, 0), expr_int(g, l.constant));
    first = add_terms(d, op, &l, column, 1, shift, first, status);
    if (*status)
        return 0;
    const int below = expr_binary(g, EXPR_MAX, first, expr_int(g, -DERIVE_MOST_COLUMN));
    const int within = expr_binary(g, EXPR_MIN, below, expr_int(g, INT32_MAX - DERIVE_MOST_COLUMN));
    int place = expr_binary(g, EXPR_ADD, within, expr_leaf(g, EXPR_INDEX, EXPR_INT, PLAN_INDEX_COLUMN));
    place = from_zero ? expr_binary(g, EXPR_MAX, place, zero) : place;
    return place < 0 ? 0 : plan_some(place);
}

/* The loop ends where the node's value is reached, or before. */
static bool ends_at(const struct expr_graph *g, int to, int node)
{
    const struct expr_node *n = &g->node[to];
    return to == node || (n->op == EXPR_MIN && (ends_at(g, n->arg[0], node) || ends_at(g, n->arg[1], node)));
}

bool derive_falls(const struct derive *d, int loop, int condition)
{
    const struct expr_node *either = &d->work.graph.node[condition];
    struct linear l;
    bool falls = false, by_end = true, alone = true;
    int64_t to;
    if (either->op == EXPR_OR)
        return derive_falls(d, loop, either->arg[0]) && derive_falls(d, loop, either->arg[1]);
    if (!linear_difference(&d->work, condition, &l))
        return false;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &d->work.graph.node[l.node[i]];
        if (n->op == EXPR_LOOP && n->integer == loop)
            falls = l.coefficient[i] == -1;
        else if (n->op != EXPR_COLUMN) {
            by_end = by_end && l.coefficient[i] == 1 && ends_at(&d->work.graph, d->work.op[loop].to, l.node[i]);
            alone = false;
        }
    }
    if (alone) /* a number, which the loop's end may be */
        return falls && !(expr_is_int(&d->work.graph, d->work.op[loop].to, &to) && l.constant >= to - 1);
    return falls && !(by_end && l.constant >= -1);
}

bool derive_climbs(const struct derive *d, int loop, int condition)
{
    struct linear l;
    if (!linear_difference(&d->work, condition, &l))
        return false;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &d->work.graph.node[l.node[i]];
        if (n->op == EXPR_LOOP && n->integer == loop)
            return l.coefficient[i] == 1;
    }
    return false;
}

enum { MANY_TURNS = 12 /* what more of them, or an unknown number, are said to be */ };

int derive_partly(const struct derive *d, int loop, const struct derive_mask *mask, bool idle)
{
    const struct work *w = &d->work;
    const struct expr_graph *g = &w->graph;
    const struct expr_node *either = &g->node[mask->condition];
    if (either->op ==
        EXPR_OR) { /* the later of two ends lies no longer than its own turns behind the later beginning */
        const struct derive_mask a = {either->arg[0], mask->columns}, b = {either->arg[1], mask->columns};
        int one = derive_partly(d, loop, &a, idle), other = derive_partly(d, loop, &b, idle);
        return one > other ? one : other;
    }
    int64_t step = w->l->plan->loop[d->loop[loop]].step, first = 0, low, high;
    struct linear l;
    bool aligned = expr_is_int(g, w->op[loop].from, &first), by_end = true;
    if (!linear_difference(w, mask->condition, &l))
        return MANY_TURNS;
    low = high = l.constant - first + step;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &g->node[l.node[i]];
        int64_t by = l.coefficient[i];
        bool at = n->op == EXPR_AT && w->program->axis[n->integer].tile > 0 &&
                  by * w->program->axis[n->integer].tile % step == 0;
        if (n->op == EXPR_LOOP && n->integer == loop)
            continue;
        const int64_t most = most_within(g, l.node[i], d->rows, mask->columns);
        if (most >= 0) {
            int64_t span = by * most;
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

int64_t derive_along(const struct derive *d, int condition, int axis)
{
    const struct expr_node *either = &d->work.graph.node[condition];
    struct linear l;
    if (either->op == EXPR_OR) {
        int64_t one = derive_along(d, either->arg[0], axis), other = derive_along(d, either->arg[1], axis);
        return one > other ? one : other;
    }
    if (!linear_difference(&d->work, condition, &l))
        return 0;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &d->work.graph.node[l.node[i]];
        if (n->op == EXPR_AT && n->integer == axis)
            return l.coefficient[i];
    }
    return 0;
}

/* The condition as a bound of the loop's variable, where that goes into it by `by`, -1 or 1: with -1 it holds up to the
 * bound, with 1 from the bound on, at the element for which that is the most, or the `least`. So many turns of the
 * loop begin in front of bound + `more`: plan_some(node of plan.fused). 0: it is none of this kind, or *status says
 * why. */
static int turns_to(struct derive *d, int loop, const struct derive_mask *mask, int by, bool least, int more,
                    int *status)
{
    struct work *w = &d->work;
    struct expr_graph *g = &w->l->plan->fused;
    const struct plan_loop *known = &w->l->plan->loop[d->loop[loop]];
    struct linear l;
    bool found = false;
    if (!linear_difference(w, mask->condition, &l))
        return 0;
    int64_t constant = l.constant, most;
    for (int i = 0; i < l.count; i++) {
        const struct expr_node *n = &w->graph.node[l.node[i]];
        if (n->op == EXPR_LOOP && n->integer == loop) {
            if (l.coefficient[i] != by)
                return 0;
            found = true;
        } else if ((most = most_within(&w->graph, l.node[i], d->rows, mask->columns)) >= 0) {
            constant += (l.coefficient[i] < 0) == least ? l.coefficient[i] * most : 0;
        } else if (varies(w, l.node[i], loop)) {
            return 0;
        }
    }
    if (!found)
        return 0;
    int bound = expr_int(g, more - by * constant);
    for (int i = 0; i < l.count && !*status; i++) {
        const struct expr_node *n = &w->graph.node[l.node[i]];
        if ((n->op == EXPR_LOOP && n->integer == loop) ||
            most_within(&w->graph, l.node[i], d->rows, mask->columns) >= 0)
            continue;
        int term = plan_number(derive_built(d, loop, l.node[i], 0, status));
        if (*status)
            return 0;
        int times = expr_int(g, -by * l.coefficient[i]);
        bound = expr_binary(g, EXPR_ADD, bound, expr_binary(g, EXPR_MUL, term, times));
    }
    bound = expr_binary(g, EXPR_MAX, expr_binary(g, EXPR_SUB, bound, known->from), expr_int(g, 0));
    int turns = expr_binary(g, EXPR_FLOORDIV, bound, expr_int(g, known->step));
    if (turns < 0)
        *status = 3;
    return plan_some(turns);
}

int derive_turns_before(struct derive *d, int loop, const struct derive_mask *mask, bool everywhere, int *status)
{
    int step = d->work.l->plan->loop[d->loop[loop]].step;
    return turns_to(d, loop, mask, 1, everywhere, step - 1, status);
}

int derive_turns_where(struct derive *d, int loop, const struct derive_mask *mask, bool somewhere, int *status)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    int step = d->work.l->plan->loop[d->loop[loop]].step;
    const struct expr_node either = d->work.graph.node[mask->condition];
    if (either.op != EXPR_OR)
        return turns_to(d, loop, mask, -1, !somewhere, step, status);
    const struct derive_mask one = {either.arg[0], mask->columns}, other = {either.arg[1], mask->columns};
    int first = derive_turns_where(d, loop, &one, somewhere, status);
    int second = *status ? 0 : derive_turns_where(d, loop, &other, somewhere, status);
    if (!first || !second)
        return somewhere ? 0 : first + second;
    return plan_some(expr_binary(g, EXPR_MAX, plan_number(first), plan_number(second)));
}

int derive_least(struct expr_graph *g, int of, int other)
{
    for (int at = plan_number(of); at >= 0; at = g->node[at].op == EXPR_MIN ? g->node[at].arg[0] : -1)
        if (at == plan_number(other) || (g->node[at].op == EXPR_MIN && g->node[at].arg[1] == plan_number(other)))
            return of;
    return plan_some(expr_binary(g, EXPR_MIN, plan_number(of), plan_number(other)));
}

/* The node needs what a list says of the turn. */
static bool is_listed(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool listed = n->op == EXPR_LISTED;
    for (int i = 0; i < 3 && !listed; i++)
        listed = n->arg[i] >= 0 && is_listed(g, n->arg[i]);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !listed; i++)
        listed = is_listed(g, g->index[n->first_index + i]);
    return listed;
}

/* Marks the parts of a condition whose turns are known. Those of a list hold from its word 1 up to its word 2 alone. */
static void look_at(struct derive *d, int loop, int condition, int columns, struct derive_inside *turns, int *status)
{
    const struct expr_node *n = &d->work.graph.node[condition];
    struct expr_graph *g = &d->work.l->plan->fused;
    if (n->op == EXPR_AND) {
        look_at(d, loop, n->arg[0], columns, turns, status);
        look_at(d, loop, d->work.graph.node[condition].arg[1], columns, turns, status);
        return;
    }
    if (plan_some(loop) == d->work.l->listed) {
        d->inside[condition] = d->behind_low[condition] = d->inside[condition] || is_listed(&d->work.graph, condition);
        return;
    }
    const struct derive_mask mask = {condition, columns};
    int own = *status ? 0 : derive_turns_where(d, loop, &mask, false, status);
    if (own) {
        d->inside[condition] = true;
        turns->until = turns->until ? derive_least(g, turns->until, own) : own;
        return;
    }
    own = *status ? 0 : derive_turns_before(d, loop, &mask, true, status);
    if (!own)
        return;
    d->behind_low[condition] = true;
    if (turns->low && turns->low != own)
        own = plan_some(expr_binary(g, EXPR_MAX, plan_number(turns->low), plan_number(own)));
    turns->low = own;
}

int derive_turns_inside(struct derive *d, int loop, struct derive_inside *turns)
{
    struct work *w = &d->work;
    int count = w->graph.count, status = 0, end = w->program->op[loop].end;
    d->inside = plan_alloc(w->l->plan, sizeof *d->inside * (size_t)(count + 1));
    d->behind_low = plan_alloc(w->l->plan, sizeof *d->behind_low * (size_t)(count + 1));
    bool *reached = plan_alloc(w->l->plan, sizeof *reached * (size_t)(count + 1));
    *turns = (struct derive_inside){0};
    if (plan_some(loop) == w->l->listed) {
        turns->low = derive_built(d, loop, w->op[loop].low, 0, &status);
        turns->until = status ? 0 : derive_built(d, loop, w->op[loop].until, 0, &status);
    }
    if (!d->inside || !d->behind_low || !reached)
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
                look_at(d, loop, n->arg[0], columns, turns, &status);
        }
    }
    return status;
}

/* What so many turns are counted in, where that is known; of their ends the first. */
static int counted(struct expr_graph *g, int turns, int step)
{
    const struct expr_node n = g->node[turns];
    int64_t by = 0;
    if (n.op == EXPR_MIN)
        return expr_binary(g, EXPR_MIN, counted(g, n.arg[0], step), counted(g, n.arg[1], step));
    if (n.op == EXPR_FLOORDIV && expr_is_int(g, n.arg[1], &by) && by == step)
        return n.arg[0];
    return expr_binary(g, EXPR_MUL, turns, expr_int(g, step));
}

int derive_end_inside(struct derive *d, int loop, int turns)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    const struct plan_loop *known = &d->work.l->plan->loop[d->loop[loop]];
    return plan_some(expr_binary(g, EXPR_ADD, known->from, counted(g, plan_number(turns), known->step)));
}
