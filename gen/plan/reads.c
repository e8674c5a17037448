#include "plan/reads.h"

/* The same expression of dims in two graphs. */
static bool same_extent(const struct expr_graph *g, int a, const struct expr_graph *h, int b)
{
    const struct expr_node *x = &g->node[a], *y = &h->node[b];
    if (x->op != y->op || x->integer != y->integer || x->op == EXPR_TENSOR)
        return false;
    for (int i = 0; i < 3; i++) {
        if ((x->arg[i] < 0) != (y->arg[i] < 0) || (x->arg[i] >= 0 && !same_extent(g, x->arg[i], h, y->arg[i])))
            return false;
    }
    return true;
}

static const struct plan_item *item_of(const struct plan *p, int64_t axis)
{
    for (int i = 0; i < p->item_count; i++)
        if (p->item[i].axis == axis)
            return &p->item[i];
    return NULL;
}

/* ROW or COLUMN where the node is the item's first place along an axis, all of which is the tensor's dim, plus that;
 * else -1. */
static int counts(const struct plan *p, int node, int extent)
{
    const struct expr_node *n = &p->fused.node[node];
    for (int i = 0; n->op == EXPR_ADD && i < 2; i++) {
        const struct expr_node *from = &p->fused.node[n->arg[i]], *within = &p->fused.node[n->arg[1 - i]];
        const struct plan_item *item = from->op == EXPR_AT ? item_of(p, from->integer) : NULL;
        if (item && (within->op == EXPR_ROW || within->op == EXPR_COLUMN) &&
            same_extent(&p->fused, item->extent, &p->graph, extent))
            return (int)within->op;
    }
    return -1;
}

/* The dim that columns run along, of an element by itself; -1: there is none. */
static int own_columns(const struct plan *p, int node)
{
    const struct expr_node *n = &p->fused.node[node];
    int columns = -1;
    if (n->op != EXPR_TENSOR || n->type != EXPR_REAL || p->tensor[n->integer].out)
        return -1; /* a pair is two fp32 */
    for (int d = 0; d < n->rank; d++) {
        int along = counts(p, p->fused.index[n->first_index + d], p->tensor[n->integer].dim[d]);
        if (along < 0 || (along == EXPR_COLUMN && columns >= 0))
            return -1;
        columns = along == EXPR_COLUMN ? d : columns;
    }
    return columns == 0 && p->tensor[n->integer].pointers ? -1 : columns;
}

int reads_columns(const struct plan *p, int node)
{
    int columns = own_columns(p, node);
    for (int i = 0; i < node && columns >= 0; i++) { /* NAME_read goes along one dim: the first's */
        const struct expr_node *n = &p->fused.node[i];
        const int other = n->op == EXPR_TENSOR && n->integer == p->fused.node[node].integer ? own_columns(p, i) : -1;
        columns = other >= 0 && other != columns ? -1 : columns;
    }
    return columns;
}

static bool is_uniform(const struct expr_graph *g, int node)
{
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_ROW || n->op == EXPR_COLUMN || n->op == EXPR_ACC || n->op == EXPR_INDEX || n->op == EXPR_TILE ||
        n->op == EXPR_TENSOR)
        return false;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && !is_uniform(g, n->arg[i]))
            return false;
    return true;
}

/* Goes on from a node that is needed under `condition`, and notes it. */
static void reach(const struct expr_graph *g, int node, int condition, int *guard)
{
    const struct expr_node *n = &g->node[node];
    if (guard[node] == READS_ALWAYS || guard[node] == condition)
        return;
    guard[node] = condition = guard[node] == READS_NEVER ? condition : READS_ALWAYS;
    for (int i = 0; i < 3; i++) {
        bool chosen = n->op == EXPR_SELECT && i == 1 && condition == READS_ALWAYS && is_uniform(g, n->arg[0]);
        if (n->arg[i] >= 0)
            reach(g, n->arg[i], chosen ? n->arg[0] : condition, guard);
    }
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        reach(g, g->index[n->first_index + i], condition, guard);
}

void reads_guards(const struct plan *p, int root, int *guard)
{
    for (int i = 0; i < p->fused.count; i++)
        guard[i] = READS_NEVER;
    reach(&p->fused, root, READS_ALWAYS, guard);
}

struct skipping {
    const struct plan *p;
    int tensor, *guard;
    bool always, sometimes;
};

/* What `field`, plan_some of a node, needs of the tensor. */
static void skip_root(struct skipping *s, int field)
{
    const struct expr_graph *g = &s->p->fused;
    if (field == 0)
        return;
    reads_guards(s->p, plan_number(field), s->guard);
    for (int i = 0; i < g->count; i++) {
        if (g->node[i].op != EXPR_TENSOR || g->node[i].integer != s->tensor || s->guard[i] == READS_NEVER)
            continue;
        s->always = s->always || s->guard[i] == READS_ALWAYS;
        s->sometimes = true;
    }
}

bool reads_may_skip(const struct plan *p, int tensor, int *scratch)
{
    struct skipping s = {.p = p, .tensor = tensor, .guard = scratch};
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count && !s.always; i++) {
            const struct plan_step *step = &p->role[r].step[i];
            bool stored = step->op == PLAN_GLOBAL && step->place && step->node; /* of the store's arithmetic */
            s.always = step->tensor == tensor && !stored;
            skip_root(&s, step->node);
            skip_root(&s, step->inside);
            for (int d = 0; d < SPEC_MAX_RANK; d++)
                skip_root(&s, step->at[d]);
        }
    for (int i = 0; i < p->loop_count && !s.always; i++) {
        skip_root(&s, plan_some(p->loop[i].from));
        skip_root(&s, plan_some(p->loop[i].to));
        skip_root(&s, p->loop[i].first);
    }
    return s.sometimes && !s.always;
}

/* What a store's arithmetic holds. */
struct contents {
    bool functions, tensors, rows, several;
    int place; /* of a fragment, -1 */
};

static void look(const struct plan *p, int node, struct contents *c)
{
    const struct expr_node *n = &p->fused.node[node];
    if (n->op == EXPR_TILE &&
        (p->place[n->integer].kind == PLAN_PLACE_ROWS || p->place[n->integer].kind == PLAN_PLACE_COLUMNS)) {
        c->rows = true;
    } else if (n->op == EXPR_TILE) {
        c->several = c->several || (c->place >= 0 && c->place != n->integer);
        c->place = (int)n->integer;
    }
    c->tensors = c->tensors || n->op == EXPR_TENSOR;
    c->functions = c->functions || expr_ops[n->op].rule == EXPR_REALS;
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0)
            look(p, n->arg[i], c);
}

bool reads_is_long(const struct plan *p, int root)
{
    struct contents c = {.place = -1};
    look(p, root, &c);
    return (c.functions || c.tensors) && !c.rows;
}

int reads_only_place(const struct plan *p, int root)
{
    struct contents c = {.place = -1};
    look(p, root, &c);
    return c.rows || c.several ? -1 : c.place;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* What `known` holds of a node: reads_pair's answer and 1, 0 where it is not known yet, and whether it goes by the
 * column. */
enum { KNOWN_PAIR = 0x3f, KNOWN_COLUMN = 0x40, KNOWN_GOES = 0x80 };

static bool goes_by_column(const struct plan *p, int node, unsigned char *known)
{
    if (known[node] & KNOWN_COLUMN)
        return known[node] & KNOWN_GOES;
    const struct expr_node *n = &p->fused.node[node];
    bool goes = n->op == EXPR_COLUMN || (n->op == EXPR_TILE && p->place[n->integer].cols > 1);
    for (int i = 0; i < 3 && !goes; i++)
        goes = n->arg[i] >= 0 && goes_by_column(p, n->arg[i], known);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank && !goes; i++)
        goes = goes_by_column(p, p->fused.index[n->first_index + i], known);
    known[node] = (unsigned char)(known[node] | KNOWN_COLUMN | (goes ? KNOWN_GOES : 0));
    return goes;
}

static bool are_pairs(const struct plan *p, const int *node, int count, int layout, unsigned char *known)
{
    bool column = false;
    for (int i = 0; i < count; i++) {
        int operand[3];
        if (!(known[node[i]] & KNOWN_PAIR)) {
            const int found = (int)reads_pair(p, node[i], layout, operand, known) + 1;
            known[node[i]] = (unsigned char)(known[node[i]] | found);
        }
        enum reads_pair kind = (enum reads_pair)((known[node[i]] & KNOWN_PAIR) - 1);
        if (kind == READS_PAIR_NONE)
            return false;
        column = column || kind != READS_PAIR_ROW;
    }
    return column;
}

enum reads_pair reads_pair(const struct plan *p, int node, int layout, int operand[3], unsigned char *known)
{
    const struct expr_graph *g = &p->fused;
    const struct expr_node *n = &g->node[node];
    if (n->op == EXPR_TILE) {
        const struct plan_place *place = &p->place[n->integer];
        bool fits = place->packed && place->dtype == TW_FP16 && place->cols > 1 && place->layout == layout &&
                    place->turns == 0 && p->layout[plan_number(layout)].vector > 1;
        return fits ? READS_PAIR_TILE : READS_PAIR_NONE;
    }
    if (n->op != EXPR_CAST || n->dtype != TW_FP16 || g->node[n->arg[0]].type != EXPR_REAL)
        return READS_PAIR_NONE;
    const struct expr_node *a = &g->node[n->arg[0]];
    if (!goes_by_column(p, node, known)) {
        operand[0] = n->arg[0];
        return READS_PAIR_ROW;
    }
    for (int i = 0; a->op == EXPR_ADD && i < 2; i++) {
        const struct expr_node *product = &g->node[a->arg[i]];
        operand[0] = product->arg[0];
        operand[1] = product->arg[1];
        operand[2] = a->arg[1 - i];
        if (product->op == EXPR_MUL && are_pairs(p, operand, 3, layout, known))
            return READS_PAIR_FMA;
    }
    operand[0] = a->arg[0];
    operand[1] = a->arg[1];
    if ((a->op == EXPR_ADD || a->op == EXPR_MUL) && are_pairs(p, operand, 2, layout, known))
        return a->op == EXPR_ADD ? READS_PAIR_ADD : READS_PAIR_MUL;
    return READS_PAIR_NONE;
}
