#include "emit/fragment_reads.h"

#include <string.h>

#include <lua5.4/lauxlib.h>

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

int fragment_read_columns(const struct plan *p, int node)
{
    const struct expr_node *n = &p->fused.node[node];
    int columns = -1;
    if (n->op != EXPR_TENSOR || p->tensor[n->integer].out)
        return -1;
    for (int d = 0; d < n->rank; d++) {
        int along = counts(p, p->fused.index[n->first_index + d], p->tensor[n->integer].dim[d]);
        if (along < 0 || (along == EXPR_COLUMN && columns >= 0))
            return -1;
        columns = along == EXPR_COLUMN ? d : columns;
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
    if (guard[node] == FRAGMENT_ALWAYS || guard[node] == condition)
        return;
    guard[node] = condition = guard[node] == FRAGMENT_NEVER ? condition : FRAGMENT_ALWAYS;
    for (int i = 0; i < 3; i++) {
        bool chosen = n->op == EXPR_SELECT && i == 1 && condition == FRAGMENT_ALWAYS && is_uniform(g, n->arg[0]);
        if (n->arg[i] >= 0)
            reach(g, n->arg[i], chosen ? n->arg[0] : condition, guard);
    }
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        reach(g, g->index[n->first_index + i], condition, guard);
}

void fragment_guards(const struct plan *p, int root, int *guard)
{
    for (int i = 0; i < p->fused.count; i++)
        guard[i] = FRAGMENT_NEVER;
    reach(&p->fused, root, FRAGMENT_ALWAYS, guard);
}

/* What a store's arithmetic holds. */
struct contents {
    bool functions, tensors, rows, several;
    int place; /* of a fragment, -1 */
};

static void look(const struct plan *p, int node, struct contents *c)
{
    const struct expr_node *n = &p->fused.node[node];
    if (n->op == EXPR_TILE && p->place[n->integer].kind == PLAN_PLACE_ROWS) {
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

bool fragment_is_long(const struct plan *p, int root)
{
    struct contents c = {.place = -1};
    look(p, root, &c);
    return (c.functions || c.tensors) && !c.rows;
}

int fragment_only_place(const struct plan *p, int root)
{
    struct contents c = {.place = -1};
    look(p, root, &c);
    return c.rows || c.several ? -1 : c.place;
}

bool fragment_stores_pairs(const struct plan *p, const struct plan_step *step)
{
    return step->op == PLAN_GLOBAL && step->cols > 1 && p->mma_count > 0 && strcmp(p->mma[0].kind, "mma.sync") == 0;
}

/* ---- the helper -------------------------------------------------------------------------------------------------- */

/* Marks the elements of the tensor that the root reads: *pairs those with their neighbours, where that may be. */
static void mark(const struct plan *p, int node, int tensor, bool may, int *columns, bool *elements)
{
    const struct expr_node *n = &p->fused.node[node];
    if (n->op == EXPR_TENSOR && n->integer == tensor) {
        int along = may ? fragment_read_columns(p, node) : -1;
        if (along >= 0)
            *columns = along;
        else
            *elements = true;
    }
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0)
            mark(p, n->arg[i], tensor, may, columns, elements);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        mark(p, p->fused.index[n->first_index + i], tensor, false, columns, elements);
}

int emit_fragment_reads(lua_State *L)
{
    const struct plan *p = emit_helper_context(L);
    const char *name = luaL_checkstring(L, 1);
    int tensor = 0, columns = -1;
    bool elements = false;
    while (tensor < p->tensor_count && strcmp(p->tensor[tensor].name, name) != 0)
        tensor++;
    luaL_argcheck(L, tensor < p->tensor_count, 1, "no such tensor");
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct plan_step *step = &p->role[r].step[i];
            const int node[] = {step->node, step->inside};
            for (int k = 0; k < 2; k++)
                if (node[k])
                    mark(p, plan_number(node[k]), tensor,
                         step->op == PLAN_WRITE || (k == 0 && fragment_stores_pairs(p, step)), &columns, &elements);
            for (int d = 0; d < SPEC_MAX_RANK; d++)
                if (step->at[d])
                    mark(p, plan_number(step->at[d]), tensor, false, &columns, &elements);
            if (step->op == PLAN_LOOP && step->loop)
                mark(p, p->loop[plan_number(step->loop)].from, tensor, false, &columns, &elements);
        }
    lua_newtable(L);
    lua_pushboolean(L, columns >= 0);
    lua_setfield(L, -2, "pairs");
    lua_pushinteger(L, columns + 1);
    lua_setfield(L, -2, "columns");
    lua_pushboolean(L, elements);
    lua_setfield(L, -2, "elements");
    return 1;
}
