/* Expressions in double precision, as references compute them. */
#include "spec/expr.h"

#include <math.h>
#include <string.h>

double expr_apply(enum expr_op op, double x)
{
    switch (op) {
    case EXPR_EXP2:
        return exp2(x);
    case EXPR_LOG2:
        return log2(x);
#define FUNCTION(id, name, call, cuda, doc, reference, bound)                                                          \
    case EXPR_##id:                                                                                                    \
        return reference;
#include "spec/expr_functions.def"
#undef FUNCTION
    default:
        return (double)NAN;
    }
}

/* What a node came to; its type says which member holds. Predicates are integers. */
union value {
    int64_t integer;
    double real;
};

struct evaluation {
    const struct expr_graph *g;
    const struct expr_env *env;
    union value *value;
    unsigned char *done;
};

static double as_real(const struct evaluation *e, int node)
{
    return e->g->node[node].type == EXPR_REAL ? e->value[node].real : (double)e->value[node].integer;
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

int64_t expr_whole(double x)
{
    double below = floor(x);
    return isnan(x) ? 0 : below <= INT32_MIN ? INT32_MIN : below >= INT32_MAX ? INT32_MAX : (int64_t)below;
}

int64_t expr_apply_int(enum expr_op op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case EXPR_ADD:
        return (int64_t)(x + y);
    case EXPR_SUB:
        return (int64_t)(x - y);
    case EXPR_MUL:
        return (int64_t)(x * y);
    case EXPR_NEG:
        return (int64_t)(0 - x);
    case EXPR_ABS:
        return a < 0 ? (int64_t)(0 - x) : a;
    case EXPR_MIN:
        return a < b ? a : b;
    case EXPR_MAX:
        return a > b ? a : b;
    case EXPR_FLOORDIV:
        return floor_quotient(a, b);
    case EXPR_MOD:
        return (int64_t)(x - (uint64_t)floor_quotient(a, b) * y);
    default:
        return 0;
    }
}

static double real_op(enum expr_op op, double a, double b)
{
    switch (op) {
    case EXPR_ADD:
        return a + b;
    case EXPR_SUB:
        return a - b;
    case EXPR_MUL:
        return a * b;
    case EXPR_DIV:
        return a / b;
    case EXPR_NEG:
        return -a;
    case EXPR_ABS:
        return fabs(a);
    case EXPR_MIN:
        return fmin(a, b);
    case EXPR_MAX:
        return fmax(a, b);
    case EXPR_EXP2_DIFF:
        return a == -INFINITY && b == -INFINITY ? 0 : exp2(a - b);
    default:
        return expr_apply(op, a);
    }
}

static int64_t compare(const struct evaluation *e, const struct expr_node *n)
{
    int order; /* -1, 0, 1; 2: a NaN */
    if (e->g->node[n->arg[0]].type == EXPR_INT && e->g->node[n->arg[1]].type == EXPR_INT) {
        int64_t a = e->value[n->arg[0]].integer, b = e->value[n->arg[1]].integer;
        order = (a > b) - (a < b);
    } else {
        double a = as_real(e, n->arg[0]), b = as_real(e, n->arg[1]);
        order = isnan(a) || isnan(b) ? 2 : (a > b) - (a < b);
    }
    switch (n->op) {
    case EXPR_LT:
        return order == -1;
    case EXPR_LE:
        return order == -1 || order == 0;
    case EXPR_GT:
        return order == 1;
    case EXPR_GE:
        return order == 1 || order == 0;
    case EXPR_EQ:
        return order == 0;
    default:
        return order != 0;
    }
}

/* A node whose operands are done. */
static union value compute(const struct evaluation *e, const struct expr_node *n)
{
    union value v = {0};
    int a = n->arg[0], b = n->arg[1];
    switch (n->op) {
    case EXPR_CONST_INT:
        v.integer = n->integer;
        return v;
    case EXPR_CONST_REAL:
        v.real = n->real;
        return v;
    case EXPR_SYMBOL:
        v.integer = e->env->symbol[n->integer];
        return v;
    case EXPR_AT:
    case EXPR_INDEX:
        v.integer = e->env->index[n->integer];
        return v;
    case EXPR_ACC:
        v.real = e->env->acc;
        return v;
    case EXPR_TENSOR:
    case EXPR_SCALAR: {
        int64_t at[8] = {0};
        for (int i = 0; i < n->rank && i < 8; i++)
            at[i] = e->value[e->g->index[n->first_index + i]].integer;
        double x = n->op == EXPR_SCALAR ? e->env->scalar(e->env->context, (int)n->integer)
                                        : e->env->tensor(e->env->context, (int)n->integer, n->rank, at);
        if (n->type == EXPR_REAL)
            v.real = x;
        else
            v.integer = (int64_t)x;
        return v;
    }
    case EXPR_AND:
        v.integer = e->value[a].integer && e->value[b].integer;
        return v;
    case EXPR_OR:
        v.integer = e->value[a].integer || e->value[b].integer;
        return v;
    case EXPR_NOT:
        v.integer = !e->value[a].integer;
        return v;
    case EXPR_SELECT: {
        int chosen = e->value[a].integer ? n->arg[1] : n->arg[2];
        if (n->type == EXPR_REAL)
            v.real = as_real(e, chosen);
        else
            v = e->value[chosen];
        return v;
    }
    case EXPR_WHOLE:
        v.integer = expr_whole(as_real(e, a));
        return v;
    case EXPR_CAST: {
        unsigned char element[8];
        tw_dtype_store(n->dtype, element, as_real(e, a));
        v.real = tw_dtype_load(n->dtype, element);
        return v;
    }
    default:
        break;
    }
    if (expr_ops[n->op].rule == EXPR_COMPARE)
        v.integer = compare(e, n);
    else if (n->type == EXPR_REAL)
        v.real = real_op(n->op, as_real(e, a), b >= 0 ? as_real(e, b) : 0);
    else
        v.integer = expr_apply_int(n->op, e->value[a].integer, b >= 0 ? e->value[b].integer : 0);
    return v;
}

/* The next operand that `node` still needs, or -1. Of a select only the chosen side is one. */
static int missing(const struct evaluation *e, int node)
{
    const struct expr_node *n = &e->g->node[node];
    if (n->op == EXPR_SELECT && e->done[n->arg[0]]) {
        int chosen = e->value[n->arg[0]].integer ? n->arg[1] : n->arg[2];
        return e->done[chosen] ? -1 : chosen;
    }
    if (n->op == EXPR_SELECT)
        return n->arg[0];
    for (int i = 0; i < 3; i++)
        if (n->arg[i] >= 0 && !e->done[n->arg[i]])
            return n->arg[i];
    for (int i = 0; i < n->rank; i++)
        if (!e->done[e->g->index[n->first_index + i]])
            return e->g->index[n->first_index + i];
    return -1;
}

double expr_eval(const struct expr_graph *g, int node, const struct expr_env *env)
{
    enum { FEW = 64 };
    union value few_value[FEW];
    unsigned char few_done[FEW];
    int few_stack[FEW];
    bool small = node < FEW;
    size_t count = (size_t)node + 1, bytes = count * (sizeof *few_value + sizeof *few_stack + 1);
    if (node < 0 || node >= g->count)
        return (double)NAN;
    union value *value = small ? few_value : memory_resize(&g->memory, NULL, 0, bytes);
    if (!value)
        return (double)NAN;
    int *stack = small ? few_stack : (int *)(value + count);
    unsigned char *done = small ? few_done : (unsigned char *)(stack + count);
    memset(done, 0, count);
    struct evaluation e = {g, env, value, done};
    int depth = 0; /* operands are earlier nodes: a chain is at most `count` deep */
    stack[0] = node;
    while (depth >= 0) {
        int top = stack[depth], need = missing(&e, top);
        if (need >= 0) {
            stack[++depth] = need;
            continue;
        }
        value[top] = compute(&e, &g->node[top]);
        done[top] = 1;
        depth--;
    }
    double result = as_real(&e, node);
    if (!small)
        memory_resize(&g->memory, value, bytes, 0);
    return result;
}
