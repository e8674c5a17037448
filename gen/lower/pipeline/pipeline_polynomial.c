/* Exponentials of elements that are no special function's: a multiprocessor has 16 of these a clock, and where a kernel
 * takes one an element for each 128 products, as attention of head size 64 does, or two, that is as long as the matrix
 * instructions. Every n-th element takes a polynomial then, a dozen ordinary instructions, which have room.
 */
#include "lower/pipeline/pipeline.h"

/* 2^(element - row), as the derivation writes it: the row's part is in the first operand. */
static bool is_of_elements(const struct expr_graph *g, const struct expr_node *n)
{
    const struct expr_node *less = n->op == EXPR_EXP2_DIFF ? &g->node[n->arg[1]] : NULL;
    return less && less->op == EXPR_CONST_REAL && less->real == 0.0;
}

int pipeline_polynomial(struct pipeline *x)
{
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
               : family_reason(p, "pipeline.polynomial", text, "%s", spec_reason(every));
}
