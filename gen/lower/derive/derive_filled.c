/* How far along an axis items have anything to store, where data say so: tiles of a group's rows beyond its count.
 *
 * A store's limit leaves `end - start - row` of its rows, and an item's start is where it begins along an axis plus
 * what its data say. So it stores nothing from start = end on; an item of which no store has a row left does nothing
 * that anybody sees, whatever it loads and multiplies, and need not be taken. Only that is derived here; limits stay in
 * the steps of the items that are taken. */
#include "lower/derive/filled.h"
#include "lower/derive/linear.h"

bool derive_tells_apart(const struct expr_graph *g, int node, int axis, int span)
{
    const struct expr_node *n = &g->node[node];
    int64_t by;
    if (n->op == EXPR_AT && n->integer == axis)
        return true;
    if (n->op == EXPR_FLOORDIV && span && expr_is_int(g, n->arg[1], &by) && by > 0 && by % span == 0 &&
        g->node[n->arg[0]].op == EXPR_AT)
        return false;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && derive_tells_apart(g, n->arg[i], axis, span))
            return true;
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        if (derive_tells_apart(g, g->index[n->first_index + i], axis, span))
            return true;
    return false;
}

/* What the value is made of is known where an item is found: sizes, places of items, elements of inputs. */
static bool is_known(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool known = n->type == EXPR_INT && (expr_ops[n->op].arity > 0 || n->op == EXPR_AT || n->op == EXPR_SYMBOL ||
                                         n->op == EXPR_CONST_INT || n->op == EXPR_TENSOR);
    known = known || (n->type == EXPR_PRED && expr_ops[n->op].arity > 0);
    for (int i = 0; i < 3 && known; i++)
        known = n->arg[i] < 0 || is_known(g, n->arg[i]);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && known; i++)
        known = is_known(g, g->index[n->first_index + i]);
    return known;
}

static bool reads_data(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    bool reads = n->op == EXPR_TENSOR;
    for (int i = 0; i < 3 && !reads; i++)
        reads = n->arg[i] >= 0 && reads_data(g, n->arg[i]);
    return reads;
}

/* The axis whose places an item's rows begin at, -1: none, of a limit `l` = end - start - row; and by which other axes'
 * places the end is known (a bit each). */
static int axis_of(const struct work *w, const struct linear *l, unsigned *by)
{
    const struct expr_graph *g = &w->graph;
    int axis = -1;
    bool row = false, data = false;
    for (int i = 0; i < l->count; i++) {
        const struct expr_node *n = &g->node[l->node[i]];
        if (n->op == EXPR_AT && l->coefficient[i] == -1 && axis < 0)
            axis = (int)n->integer;
        else if ((n->op == EXPR_ROW || n->op == EXPR_COLUMN) && l->coefficient[i] == -1 && !row)
            row = true;
        else if (l->coefficient[i] && !is_known(g, l->node[i]))
            return -1;
        data = data || (l->coefficient[i] && reads_data(g, l->node[i]));
    }
    *by = 0;
    for (int i = 0; i < l->count; i++) {
        bool own = g->node[l->node[i]].op == EXPR_AT && g->node[l->node[i]].integer == axis;
        for (int a = 0; a < w->program->axis_count && l->coefficient[i] && !own; a++)
            *by |= derive_tells_apart(g, l->node[i], a, 0) ? 1u << a : 0;
    }
    return row && data ? axis : -1;
}

/* The axis of one condition of a store's, of several that hold together. */
static int find(struct derive *d, int condition, struct linear *l, unsigned *by)
{
    const struct expr_node n = d->work.graph.node[condition];
    if (n.op == EXPR_AND) {
        int axis = find(d, n.arg[0], l, by);
        return axis >= 0 ? axis : find(d, n.arg[1], l, by);
    }
    return linear_difference(&d->work, condition, l) ? axis_of(&d->work, l, by) : -1;
}

/* plan_some(node of plan.fused): the end, along the axis. 0: out of memory, *status says so. */
static int end_of(struct derive *d, int op, const struct linear *l, int axis, int *status)
{
    struct expr_graph *g = &d->work.l->plan->fused;
    int end = expr_int(g, l->constant + 1);
    for (int i = 0; i < l->count && !*status; i++) {
        const struct expr_node n = d->work.graph.node[l->node[i]];
        int64_t times = l->coefficient[i];
        if (!times || n.op == EXPR_ROW || n.op == EXPR_COLUMN || (n.op == EXPR_AT && n.integer == axis))
            continue;
        int term = plan_number(derive_built(d, op, l->node[i], 0, status));
        if (!*status)
            end = expr_binary(g, times < 0 ? EXPR_SUB : EXPR_ADD, end,
                              expr_binary(g, EXPR_MUL, term, expr_int(g, times < 0 ? -times : times)));
    }
    if (end < 0)
        *status = 3;
    return *status ? 0 : plan_some(end);
}

/* The one axis in the set; -1: none or several. */
static int only(unsigned set)
{
    int axis = 0;
    while (axis < SPEC_MAX_AXES && set != 1u << axis)
        axis++;
    return axis < SPEC_MAX_AXES ? axis : -1;
}

/* Blocks of a cluster, which take neighbouring items together, know the same of the end. */
static bool is_common(const struct derive *d, const struct linear *l, int axis, const int *cluster)
{
    const struct expr_graph *g = &d->work.graph;
    for (int a = 0; a < d->work.program->axis_count; a++) {
        const int tile = d->work.program->axis[a].tile, span = (tile > 0 ? tile : 1) * cluster[a];
        for (int i = 0; i < l->count && cluster[a] > 1; i++) {
            const struct expr_node *n = &g->node[l->node[i]];
            bool own = n->op == EXPR_AT && n->integer == axis;
            if (!own && l->coefficient[i] && derive_tells_apart(g, l->node[i], a, span))
                return false;
        }
    }
    return true;
}

int derive_filled(struct derive *d, const int *cluster, struct derive_filled *filled)
{
    const struct program *p = d->work.program;
    unsigned all = 0;
    int status = 0;
    *filled = (struct derive_filled){.axis = -1, .along = -1};
    for (int i = 0; i < p->op_count && !status; i++) {
        struct linear l;
        unsigned by;
        if (!work_is_store(&p->op[i]) && p->op[i].kind != PROGRAM_SCATTER_ADD)
            continue;
        int axis = d->work.op[i].beyond < 0 ? -1 : find(d, d->work.op[i].beyond, &l, &by);
        if (axis < 0 || p->axis[axis].extent < 0 || (filled->end && filled->axis != axis) ||
            !is_common(d, &l, axis, cluster)) {
            *filled = (struct derive_filled){.axis = -1, .along = -1};
            return 0;
        }
        int end = end_of(d, i, &l, axis, &status);
        if (filled->end && !status)
            end = plan_some(expr_binary(&d->work.l->plan->fused, EXPR_MAX, plan_number(filled->end), plan_number(end)));
        all |= by;
        *filled = (struct derive_filled){.axis = axis, .along = -1, .end = end};
    }
    if (!filled->end || status)
        return status;
    int along = only(all);
    bool walks = along >= 0 && along != filled->axis && p->axis[along].extent >= 0 && cluster[along] == 1;
    filled->along = all == 0 ? -1 : walks ? along : filled->axis;
    return 0;
}
