#include "emit/fragment_reads.h"

#include <string.h>

#include <lua5.4/lauxlib.h>

#include "emit/fragment_text.h"
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

/* What reads elements of the tensor. */
struct found {
    const struct plan *p;
    const bool *narrow; /* fragment_narrow's */
    int tensor, columns;
    bool elements, lines;
};

/* Marks what the root reads: *pairs those with their neighbours, where that may be. */
static void mark(struct found *f, int node, bool may, bool lines)
{
    const struct plan *p = f->p;
    const struct expr_node *n = &p->fused.node[node];
    if (n->op == EXPR_TENSOR && n->integer == f->tensor) {
        int along = may ? reads_columns(p, node) : -1;
        if (along >= 0)
            f->columns = along;
        else if (lines && fragment_is_line(p, node, f->narrow))
            f->lines = true;
        else
            f->elements = true;
    }
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0)
            mark(f, n->arg[i], may, lines);
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        mark(f, p->fused.index[n->first_index + i], false, lines);
}

/* The place in its tensor's last dim of an element, plan_some(node). */
static int last_index(const struct plan *p, int element)
{
    const struct expr_node *n = &p->fused.node[plan_number(element)];
    return p->fused.index[n->first_index + n->rank - 1];
}

int emit_fragment_reads(lua_State *L)
{
    const struct plan *p = emit_helper_context(L);
    const char *name = luaL_checkstring(L, 1);
    struct found f = {.p = p, .columns = -1, .narrow = fragment_narrow(p, emit_helper_arena(L))};
    int rows = 0;
    if (!f.narrow)
        return luaL_error(L, "out of memory");
    while (f.tensor < p->tensor_count && strcmp(p->tensor[f.tensor].name, name) != 0)
        f.tensor++;
    luaL_argcheck(L, f.tensor < p->tensor_count, 1, "no such tensor");
    for (int r = 0; r < p->role_count; r++)
        for (int i = 0; i < p->role[r].step_count; i++) {
            const struct plan_step *step = &p->role[r].step[i];
            const bool of_rows = reads_rows(p, step), line = fragment_sends_line(p, step, f.narrow);
            const int node[] = {of_rows || line ? 0 : step->node, step->inside};
            f.lines = f.lines || (line && step->tensor == f.tensor);
            if (step->node2 && !line)
                mark(&f, plan_number(step->node2), false, false);
            if (line) {
                mark(&f, last_index(p, step->node), false, false);
                mark(&f, last_index(p, step->node2 ? step->node2 : step->node), false, false);
            }
            rows = of_rows && step->tensor == f.tensor ? step->count : rows;
            for (int k = 0; k < 2; k++)
                if (node[k])
                    mark(&f, plan_number(node[k]),
                         step->op == PLAN_WRITE || fragment_packs(p, step) || fragment_reads_ahead(step) ||
                             (k == 0 && fragment_stores_pairs(p, step)),
                         k == 0 && fragment_takes_lines(step));
            for (int d = 0; d < SPEC_MAX_RANK; d++)
                if (step->at[d])
                    mark(&f, plan_number(step->at[d]), false, false);
            if (step->end)
                mark(&f, plan_number(step->end), false, false);
            if (step->op == PLAN_LOOP && step->loop)
                mark(&f, p->loop[plan_number(step->loop)].from, false, false);
        }
    for (int i = 0; i < p->item_count; i++)
        if (p->item[i].filled)
            mark(&f, plan_number(p->item[i].filled), false, false);
    for (int i = 0; p->list && i < p->list->read_count; i++)
        mark(&f, p->list->read[i].element, false, false);
    lua_newtable(L);
    lua_pushboolean(L, f.columns >= 0);
    lua_setfield(L, -2, "pairs");
    lua_pushinteger(L, f.columns + 1);
    lua_setfield(L, -2, "columns");
    lua_pushboolean(L, f.elements);
    lua_setfield(L, -2, "elements");
    lua_pushboolean(L, f.lines);
    lua_setfield(L, -2, "lines");
    lua_pushinteger(L, rows);
    lua_setfield(L, -2, "rows");
    return 1;
}
