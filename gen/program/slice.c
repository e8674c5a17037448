#include "program/program.h"

int program_slice(const struct program *p, const struct program_tile *operand)
{
    const struct expr_node *n = operand->node < 0 ? NULL : &p->graph->node[operand->node];
    if (n && n->op == EXPR_TILE && p->op[n->integer].kind == PROGRAM_TRANSPOSE)
        n = &p->graph->node[p->op[n->integer].arg[0].node];
    return n && n->op == EXPR_TILE && p->op[n->integer].kind == PROGRAM_SLICE ? (int)n->integer : -1;
}
