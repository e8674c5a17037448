/* Exponentials of elements that are no special function's: a multiprocessor has 16 of these a clock, and where a kernel
 * takes one an element for each 128 products, as attention of head size 64 does, or two, that is as long as the matrix
 * instructions. Every n-th element takes a polynomial then, a dozen ordinary instructions, which have room.
 */
#include "lower/pipeline/pipeline.h"

#include <string.h>

/* 2^(element - row), as the derivation writes it: the row's part is in the first operand. */
static bool is_of_elements(const struct expr_graph *g, const struct expr_node *n)
{
    const struct expr_node *less = n->op == EXPR_EXP2_DIFF ? &g->node[n->arg[1]] : NULL;
    return less && less->op == EXPR_CONST_REAL && less->real == 0.0;
}

/* The step multiplies a dot's sums, each by the factor of its row. */
static bool is_rescaled(const struct plan *p, const struct plan_step *s)
{
    const struct expr_node *n = s->op == PLAN_TOUCH && s->node ? &p->fused.node[plan_number(s->node)] : NULL;
    if (!n || !s->place || p->place[plan_number(s->place)].kind != PLAN_PLACE_ACCUMULATOR || n->op != EXPR_MUL)
        return false;
    const struct expr_node *sum = &p->fused.node[n->arg[0]], *factor = &p->fused.node[n->arg[1]];
    return sum->op == EXPR_TILE && sum->integer == plan_number(s->place) && factor->op == EXPR_TILE &&
           p->place[factor->integer].kind == PLAN_PLACE_ROWS;
}

/* pipeline.rescale: the place of the factors, where warps look at them first. */
static int rescale(struct pipeline *x)
{
    struct plan *p = x->plan;
    const struct plan_role *role = x->d.consumer;
    const struct spec_value *how = NULL;
    for (int i = 0; i < role->step_count; i++) {
        if (!is_rescaled(p, &role->step[i]))
            continue;
        how = how ? how : pipeline_field(x, "pipeline.rescale");
        role->step[i].once = how->set && strcmp(how->text, "changed") == 0;
    }
    return !how || !how->set ? 0 : family_reason(p, "pipeline.rescale", how->text, "the spec says so");
}

int pipeline_polynomial(struct pipeline *x)
{
    if (!x->d.synchronous && rescale(x))
        return 3;
    struct plan *p = x->plan;
    bool taken = false;
    for (int i = 0; i < p->fused.count; i++)
        taken = taken || is_of_elements(&p->fused, &p->fused.node[i]);
    const struct spec_value *every = taken ? pipeline_field(x, "pipeline.polynomial") : NULL;
    if (!every || !every->set)
        return 0;
    const char *text = plan_text(p, "%d", (int)every->integer);
    return !text || family_add_value(p, "pipeline.polynomial", every->integer)
               ? 3
               : family_reason(p, "pipeline.polynomial", text, "the spec says so");
}
