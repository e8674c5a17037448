/* Operations of a program's dots, as a formula of the sizes: two for each product that its meaning sums. */
#include "lower/lower.h"

/* A size of the program in the Plan's symbols. Where items begin along an axis is taken as the middle of it, so that a
 * loop up to the diagonal has half of its turns. -1: it depends on more than sizes, or there is no memory. */
static int sized(const struct program *p, struct plan *plan, int node)
{
    const struct expr_node *n = &p->graph->node[node];
    int arg[3] = {-1, -1, -1};
    if (n->op == EXPR_AT)
        return p->axis[n->integer].extent < 0
                   ? -1
                   : expr_binary(&plan->graph, EXPR_FLOORDIV,
                                 expr_import(&plan->graph, p->graph, p->axis[n->integer].extent),
                                 expr_int(&plan->graph, 2));
    if (n->op == EXPR_CONST_INT || n->op == EXPR_SYMBOL)
        return expr_import(&plan->graph, p->graph, node);
    if (expr_ops[n->op].arity == 0 || n->type != EXPR_INT)
        return -1;
    for (int i = 0; i < expr_ops[n->op].arity; i++)
        if ((arg[i] = sized(p, plan, n->arg[i])) < 0)
            return -1;
    return expr_add(&plan->graph, &(struct expr_node){.op = n->op, .type = n->type, .arg = {arg[0], arg[1], arg[2]}});
}

/* Edges are counted as the fractions of tiles that they are: 2 m n k of a product, whatever its tiles. */
static int dot_flops(const struct program *p, struct plan *plan, int op)
{
    const struct program_op *o = &p->op[op];
    struct expr_graph *g = &plan->graph;
    int64_t factor = (int64_t)2 * o->tile.rows * o->tile.columns * o->arg[0].columns, part = 1, step;
    int sizes = expr_int(g, 1);
    for (int a = 0; a < p->axis_count && sizes >= 0; a++) {
        if (p->axis[a].extent < 0)
            continue;
        part *= p->axis[a].tile ? p->axis[a].tile : 1;
        sizes = expr_binary(g, EXPR_MUL, sizes, expr_import(g, p->graph, p->axis[a].extent));
    }
    for (int i = 0; i < op && sizes >= 0; i++) {
        const struct program_op *loop = &p->op[i];
        if (loop->kind != PROGRAM_LOOP || loop->end < op)
            continue;
        int from = sized(p, plan, loop->from), to = sized(p, plan, loop->to);
        if (from < 0 || to < 0 || !expr_is_int(p->graph, loop->step, &step))
            return -1;
        part *= step;
        sizes = expr_binary(g, EXPR_MUL, sizes, expr_binary(g, EXPR_SUB, to, from));
    }
    int64_t common = expr_common_divisor(factor, part);
    if (sizes < 0)
        return -1;
    sizes = expr_binary(g, EXPR_MUL, expr_int(g, factor / common), sizes);
    return sizes < 0 ? -1 : expr_binary(g, EXPR_FLOORDIV, sizes, expr_int(g, part / common));
}

/* Of the dots from one operation on up to another; -1 where there are none, or it depends on more than sizes. */
static int flops_of(const struct program *p, struct plan *plan, int from, int to)
{
    int sum = -1;
    for (int i = from; i < to; i++) {
        if (p->op[i].kind != PROGRAM_DOT)
            continue;
        int one = dot_flops(p, plan, i);
        if (one < 0)
            return -1;
        sum = sum < 0 ? one : expr_binary(&plan->graph, EXPR_ADD, sum, one);
        if (sum < 0)
            return -1;
    }
    return sum;
}

int program_flops(const struct program *p, struct plan *plan)
{
    return flops_of(p, plan, 0, p->op_count);
}

int program_loop_flops(const struct program *p, struct plan *plan, int loop)
{
    return flops_of(p, plan, loop, p->op[loop].end);
}
