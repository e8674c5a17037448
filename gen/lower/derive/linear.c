#include "lower/derive/linear.h"

static void add_term(struct linear *l, int node, int64_t by)
{
    int i = 0;
    while (i < l->count && l->node[i] != node)
        i++;
    if (i == LINEAR_MOST_TERMS) {
        l->fails = true;
        return;
    }
    if (i == l->count) {
        l->node[l->count] = node;
        l->coefficient[l->count++] = 0;
    }
    l->coefficient[i] += by;
}

static void add_sum(const struct work *w, struct linear *l, int node, int64_t by)
{
    const struct expr_node *n = &w->graph.node[node];
    int64_t value;
    if (n->type != EXPR_INT) {
        l->fails = true;
    } else if (expr_is_int(&w->graph, node, &value)) {
        l->constant += by * value;
    } else if (n->op == EXPR_ADD || n->op == EXPR_SUB) {
        add_sum(w, l, n->arg[0], by);
        add_sum(w, l, n->arg[1], n->op == EXPR_ADD ? by : -by);
    } else if (n->op == EXPR_NEG) {
        add_sum(w, l, n->arg[0], -by);
    } else if (n->op == EXPR_MUL && expr_is_int(&w->graph, n->arg[1], &value)) {
        add_sum(w, l, n->arg[0], by * value);
    } else if (n->op == EXPR_MUL && expr_is_int(&w->graph, n->arg[0], &value)) {
        add_sum(w, l, n->arg[1], by * value);
    } else {
        add_term(l, node, by);
    }
}

bool linear_difference(const struct work *w, int condition, struct linear *l)
{
    const struct expr_node *n = &w->graph.node[condition];
    bool less = n->op == EXPR_LT || n->op == EXPR_LE, strict = n->op == EXPR_LT || n->op == EXPR_GT;
    *l = (struct linear){0};
    if (!less && n->op != EXPR_GT && n->op != EXPR_GE)
        return false;
    add_sum(w, l, n->arg[1], less ? 1 : -1);
    add_sum(w, l, n->arg[0], less ? -1 : 1);
    l->constant -= strict;
    return !l->fails;
}

bool linear_sum(const struct work *w, int node, struct linear *l)
{
    *l = (struct linear){0};
    add_sum(w, l, node, 1);
    return !l->fails;
}

int linear_holds_in(const struct work *w, int condition, int first, int last)
{
    struct linear l;
    if (!linear_difference(w, condition, &l))
        return -1;
    int64_t low = l.constant, high = l.constant;
    for (int i = 0; i < l.count; i++) {
        const int64_t by = l.coefficient[i];
        if (by && w->graph.node[l.node[i]].op != EXPR_COLUMN)
            return -1;
        low += by * (by > 0 ? first : last);
        high += by * (by > 0 ? last : first);
    }
    return low >= 0 ? 1 : high < 0 ? 0 : -1;
}
