#include "emit/fragment_reads.h"

#include <string.h>

#include <lua5.4/lauxlib.h>

#include "plan/reads.h"

bool fragment_reads_ahead(const struct plan_step *step)
{
    return step->op == PLAN_GLOBAL && step->place && step->node;
}

bool fragment_packs(const struct plan *p, const struct plan_step *step)
{
    return step->op == PLAN_TOUCH && step->node && p->place[plan_number(step->place)].kind == PLAN_PLACE_LATE;
}

bool fragment_stores_pairs(const struct plan *p, const struct plan_step *step)
{
    return step->op == PLAN_GLOBAL && step->cols > 1 && p->mma_count > 0 && strcmp(p->mma[0].kind, "mma.sync") == 0;
}

/* Elements that differ in one dim alone, into a place of rows. */
static bool reads_rows(const struct plan *p, const struct plan_step *step)
{
    return fragment_reads_ahead(step) && p->place[plan_number(step->place)].kind == PLAN_PLACE_ROWS;
}

/* ---- the helper -------------------------------------------------------------------------------------------------- */

/* Marks the elements of the tensor that the root reads: *pairs those with their neighbours, where that may be. */
static void mark(const struct plan *p, int node, int tensor, bool may, int *columns, bool *elements)
{
    const struct expr_node *n = &p->fused.node[node];
    if (n->op == EXPR_TENSOR && n->integer == tensor) {
        int along = may ? reads_columns(p, node) : -1;
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
    int tensor = 0, columns = -1, rows = 0;
    bool elements = false;
    while (tensor < p->tensor_count && strcmp(p->tensor[tensor].name, name) != 0)
        tensor++;
    luaL_argcheck(L, tensor < p->tensor_count, 1, "no such tensor");
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct plan_step *step = &p->role[r].step[i];
            const bool of_rows = reads_rows(p, step);
            const int node[] = {of_rows ? 0 : step->node, step->inside};
            rows = of_rows && step->tensor == tensor ? step->count : rows;
            for (int k = 0; k < 2; k++)
                if (node[k])
                    mark(p, plan_number(node[k]), tensor,
                         step->op == PLAN_WRITE || fragment_packs(p, step) || fragment_reads_ahead(step) ||
                             (k == 0 && fragment_stores_pairs(p, step)),
                         &columns, &elements);
            for (int d = 0; d < SPEC_MAX_RANK; d++)
                if (step->at[d])
                    mark(p, plan_number(step->at[d]), tensor, false, &columns, &elements);
            if (step->end)
                mark(p, plan_number(step->end), tensor, false, &columns, &elements);
            if (step->op == PLAN_LOOP && step->loop)
                mark(p, p->loop[plan_number(step->loop)].from, tensor, false, &columns, &elements);
        }
    for (int i = 0; i < p->item_count; i++)
        if (p->item[i].filled)
            mark(p, plan_number(p->item[i].filled), tensor, false, &columns, &elements);
    for (int i = 0; p->list && i < p->list->read_count; i++)
        mark(p, p->list->read[i].element, tensor, false, &columns, &elements);
    lua_newtable(L);
    lua_pushboolean(L, columns >= 0);
    lua_setfield(L, -2, "pairs");
    lua_pushinteger(L, columns + 1);
    lua_setfield(L, -2, "columns");
    lua_pushboolean(L, elements);
    lua_setfield(L, -2, "elements");
    lua_pushinteger(L, rows);
    lua_setfield(L, -2, "rows");
    return 1;
}
