/* Edges that a tensor's extents tell, and those that they do not: limits, and extents of other tensors. */
#include "lower/derive/linear.h"

/* Whether the condition says no more than that places are within the tensor. */
static bool is_own(const struct expr_graph *g, int condition, const int *position, const int *extent, int rank)
{
    const struct expr_node *n = &g->node[condition];
    int64_t value;
    for (int d = 0; d < rank; d++) {
        if (position[d] < 0 || n->arg[0] != position[d])
            continue;
        if ((n->op == EXPR_LT && n->arg[1] == extent[d]) ||
            (n->op == EXPR_GE && expr_is_int(g, n->arg[1], &value) && value == 0))
            return true;
    }
    return false;
}

static int rest_of(struct expr_graph *g, int condition, const int *position, const int *extent, int rank)
{
    const struct expr_node n = g->node[condition];
    if (n.op != EXPR_AND)
        return is_own(g, condition, position, extent, rank) ? -1 : condition;
    int one = rest_of(g, n.arg[0], position, extent, rank), other = rest_of(g, n.arg[1], position, extent, rank);
    return one < 0 ? other : other < 0 ? one : expr_binary(g, EXPR_AND, one, other);
}

int work_beyond(struct work *w, int store, int *status)
{
    struct expr_graph *g = &w->graph;
    const struct program_op *op = &w->program->op[store];
    const struct work_op *k = &w->op[store];
    const struct spec_tensor *t = &w->l->kernel->tensor[op->tensor];
    bool turned;
    work_stored(w, op, &turned);
    int position[SPEC_MAX_RANK], extent[SPEC_MAX_RANK], rows = 1, inner;
    for (int d = 0; d < t->rank; d++)
        rows *= op->at[d].length > 0 && !op->at[d].column ? op->at[d].length : 1;
    inner = rows;
    for (int d = 0; d < t->rank; d++) {
        const struct program_coordinate *c = &op->at[d];
        int within = expr_leaf(g, c->column != turned ? EXPR_COLUMN : EXPR_ROW, EXPR_INT, 0);
        bool spans = c->length > 1;
        if (spans && !c->column) { /* the last of several spans of rows varies fastest */
            bool outermost = inner == rows;
            inner /= c->length;
            within = expr_binary(g, EXPR_FLOORDIV, within, expr_int(g, inner));
            if (!outermost)
                within = expr_binary(g, EXPR_MOD, within, expr_int(g, c->length));
        }
        position[d] = c->length == 0 ? -1 : spans ? expr_binary(g, EXPR_ADD, k->at[d], within) : k->at[d];
        extent[d] = expr_import(g, &w->l->kernel->shape, t->dim[d]);
        if (within < 0 || extent[d] < 0)
            *status = 3;
    }
    return *status || k->inside < 0 ? -1 : rest_of(g, k->inside, position, extent, t->rank);
}

bool work_ends_rows(struct work *w, int condition)
{
    const struct expr_node *n = &w->graph.node[condition];
    struct linear l;
    if (n->op == EXPR_AND)
        return work_ends_rows(w, n->arg[0]) && work_ends_rows(w, w->graph.node[condition].arg[1]);
    bool ends = false;
    if (!linear_difference(w, condition, &l))
        return false;
    for (int i = 0; i < l.count; i++) {
        if (w->graph.node[l.node[i]].op == EXPR_ROW && l.coefficient[i] == -1)
            ends = true;
        else if (l.coefficient[i] && work_scope(w, l.node[i]) != WORK_UNIFORM)
            return false;
    }
    return ends;
}
