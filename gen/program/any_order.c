/* Each node of a loop's body is given a class: how it depends on what the loop carries. See any_order.h.
 *
 * A sum kept relative to an extreme m stands for S with s = S * 2^-m. Where each turn's s' = s * 2^(m - m') + y, and y
 * is Y * 2^-m' with a Y that knows nothing of m, S' is S + Y: a plain sum, whatever m' was in between. So it is enough
 * to count factors 2^-m' in terms: one in each. */
#include "program/any_order.h"

#include <math.h>
#include <string.h>

enum class {
    NOT_SEEN,
    FREE,     /* of what is carried nothing is in it */
    ZERO,     /* likewise, and it is 0: a term with any number of factors */
    CARRIED,  /* the carried value `of` itself */
    EXTREME,  /* what this turn carries on of the extreme `of` */
    SHIFTED,  /* the same and a finite constant: 2^-(m' + c) has the factor 2^-m' once */
    RATIO,    /* 2^(m - m') of the extreme `of` */
    SCALED,   /* a sum of terms that have one factor 2^-m', m' of the extreme `of` */
    SUM,      /* the carried value `of` and free terms */
    RESCALED, /* the carried value `of` times the ratio of the extreme `by`, and terms that have its factor once */
    UNKNOWN
};

struct known {
    enum class class;
    int of, by;
};

struct order {
    const struct program *p;
    int loop;
    bool extreme[PROGRAM_MAX_CARRIED]; /* by carried value */
    struct known *node;                /* by node */
};

static const struct known unknown = {UNKNOWN, -1, -1}, is_free = {FREE, -1, -1}, zero = {ZERO, -1, -1};

static struct known look(struct order *o, int node);

static const struct program_op *end_of(const struct order *o, int loop)
{
    return &o->p->op[o->p->op[loop].end];
}

static bool without(struct known k)
{
    return k.class == FREE || k.class == ZERO;
}

static bool is_term(struct known k)
{
    return without(k) || k.class == SCALED;
}

static bool alike(struct known a, struct known b)
{
    return a.class == b.class && a.of == b.of && a.by == b.by;
}

static struct known sum(struct known a, struct known b)
{
    if (a.class == ZERO || b.class == ZERO)
        return a.class == ZERO ? b : a;
    if (without(a) && without(b))
        return is_free;
    if (a.class == SCALED && alike(a, b))
        return a;
    for (int i = 0; i < 2; i++) {
        struct known s = i ? b : a, term = i ? a : b;
        if ((s.class == CARRIED || s.class == SUM) && term.class == FREE)
            return (struct known){SUM, s.of, -1};
        if (s.class == RESCALED && term.class == SCALED && term.of == s.by)
            return s;
    }
    return unknown;
}

static struct known product(struct known a, struct known b)
{
    if (a.class == ZERO || b.class == ZERO)
        return without(a) && without(b) ? zero : unknown;
    if (without(a) && without(b))
        return is_free;
    for (int i = 0; i < 2; i++) {
        struct known one = i ? b : a, other = i ? a : b;
        if (one.class == SCALED && other.class == FREE)
            return one;
        if (one.class == CARRIED && other.class == RATIO)
            return (struct known){RESCALED, one.of, other.of};
    }
    return unknown;
}

/* A power of the difference. */
static struct known power(const struct order *o, struct known a, struct known b)
{
    if (without(a) && without(b))
        return is_free;
    if (b.class == EXTREME && a.class == CARRIED && a.of == b.of && o->extreme[a.of])
        return (struct known){RATIO, b.of, -1};
    return (b.class == EXTREME || b.class == SHIFTED) && without(a) ? (struct known){SCALED, b.of, -1} : unknown;
}

/* The extreme that this turn carries on, plus or minus a finite constant. */
static struct known shifted(const struct expr_graph *g, const struct expr_node *n, const struct known *arg)
{
    for (int i = 0; i < (n->op == EXPR_ADD ? 2 : 1); i++) {
        const struct expr_node *by = &g->node[n->arg[1 - i]];
        if ((arg[i].class == EXTREME || arg[i].class == SHIFTED) && by->op == EXPR_CONST_REAL && isfinite(by->real))
            return (struct known){SHIFTED, arg[i].of, -1};
    }
    return unknown;
}

static bool is_free_tile(struct order *o, const struct program_tile *t)
{
    return t->node < 0 || without(look(o, t->node));
}

/* A loop within: nothing that is carried goes into it. */
static struct known inner_result(struct order *o, int loop)
{
    const struct program_op *l = &o->p->op[loop];
    bool fine = without(look(o, l->from)) && without(look(o, l->to));
    for (int i = 0; i < l->carried && fine; i++)
        fine = is_free_tile(o, &l->value[i]) && is_free_tile(o, &end_of(o, loop)->value[i]);
    return fine ? is_free : unknown;
}

static struct known of_operation(struct order *o, int number)
{
    const struct program_op *op = &o->p->op[number];
    struct known k;
    if (number < o->loop || number > o->p->op[o->loop].end)
        return is_free;
    switch (op->kind) {
    case PROGRAM_PARAM: /* of a loop within: what inner_result finds decides */
        return op->loop == o->loop ? (struct known){CARRIED, op->which, -1} : is_free;
    case PROGRAM_RESULT:
        return inner_result(o, op->loop);
    case PROGRAM_LOAD:
        return is_free;
    case PROGRAM_SEGMENT:
        return is_free_tile(o, &op->arg[0]) && is_free_tile(o, &op->arg[1]) ? is_free : unknown;
    case PROGRAM_PICK:
    case PROGRAM_GATHER:
    case PROGRAM_RANK:
        return is_free_tile(o, &op->arg[0]) ? is_free : unknown;
    case PROGRAM_REDUCE:
        k = look(o, op->arg[0].node);
        return without(k) || (k.class == SCALED && op->reduction == PROGRAM_SUM) ? k : unknown;
    case PROGRAM_SLICE:
        return is_free_tile(o, &op->arg[0]) && is_free_tile(o, &op->arg[1]) ? is_free : unknown;
    case PROGRAM_TRANSPOSE:
    case PROGRAM_STAGE:
        k = look(o, op->arg[0].node);
        return is_term(k) ? k : unknown;
    case PROGRAM_DOT:
        k = product(look(o, op->arg[0].node), look(o, op->arg[1].node));
        return op->arg[2].node >= 0 ? sum(k, look(o, op->arg[2].node)) : k;
    default:
        return unknown;
    }
}

static struct known compute(struct order *o, int node)
{
    const struct expr_graph *g = o->p->graph;
    const struct expr_node *n = &g->node[node];
    struct known arg[3] = {is_free, is_free, is_free};
    bool free = true;
    const struct program_op *end = end_of(o, o->loop);
    if ((n->op == EXPR_CONST_REAL && n->real == 0.0) || (n->op == EXPR_CONST_INT && n->integer == 0))
        return zero;
    if (n->op == EXPR_TILE)
        return of_operation(o, (int)n->integer);
    for (int i = 0; i < expr_ops[n->op].arity && i < 3; i++) {
        arg[i] = look(o, n->arg[i]);
        free = free && without(arg[i]);
    }
    for (int i = 0; n->op == EXPR_TENSOR && i < n->rank; i++)
        free = free && without(look(o, g->index[n->first_index + i]));
    for (int i = 0; i < end->carried && !free; i++)
        if (o->extreme[i] && end->value[i].node == node)
            return (struct known){EXTREME, i, -1};
    if (n->op == EXPR_ADD || n->op == EXPR_SUB) {
        const struct known near = shifted(g, n, arg);
        if (near.class == SHIFTED)
            return near;
    }
    switch (n->op) {
    case EXPR_ADD:
        return sum(arg[0], arg[1]);
    case EXPR_SUB: /* a term may have either sign */
        return is_term(arg[1]) ? sum(arg[0], arg[1]) : unknown;
    case EXPR_MUL:
        return product(arg[0], arg[1]);
    case EXPR_DIV:
        return without(arg[1]) ? product(arg[0], is_free) : unknown;
    case EXPR_NEG:
    case EXPR_CAST:
        return is_term(arg[0]) ? arg[0] : unknown;
    case EXPR_SELECT:
        return without(arg[0]) && is_term(arg[1]) && is_term(arg[2]) ? sum(arg[1], arg[2]) : unknown;
    case EXPR_EXP2_DIFF:
        return power(o, arg[0], arg[1]);
    default: /* exp2 and exp of a difference too: where both are -inf that is no number, and exp2_diff gives 0 */
        return free ? is_free : unknown;
    }
}

static struct known look(struct order *o, int node)
{
    if (node < 0)
        return is_free;
    if (o->node[node].class == NOT_SEEN)
        o->node[node] = compute(o, node);
    return o->node[node];
}

/* The carried value goes on as the largest, or smallest, of itself and of what is free. */
static bool is_extreme(struct order *o, int node, enum expr_op op, int carried, int *found)
{
    const struct expr_node *n = &o->p->graph->node[node];
    if (n->op == op)
        return is_extreme(o, n->arg[0], op, carried, found) && is_extreme(o, n->arg[1], op, carried, found);
    struct known k = look(o, node);
    *found += k.class == CARRIED && k.of == carried;
    return without(k) || (k.class == CARRIED && k.of == carried);
}

static bool writes(const struct program_op *op)
{
    return op->kind == PROGRAM_STORE || op->kind == PROGRAM_STORE_ADD || op->kind == PROGRAM_SCATTER_ADD;
}

enum any_order program_any_order(const struct program *p, int loop, const struct memory *memory, int *which)
{
    const struct program_op *l = &p->op[loop], *end = &p->op[l->end];
    size_t bytes = sizeof(struct known) * (size_t)(p->graph->count + 1);
    int none;
    which = which ? which : &none;
    for (*which = loop; *which < l->end; ++*which)
        if (writes(&p->op[*which]))
            return ANY_ORDER_WRITES;
    struct order o = {.p = p, .loop = loop, .node = memory_resize(memory, NULL, 0, bytes)};
    if (!o.node)
        return ANY_ORDER_NO_MEMORY;
    for (int pass = 0; pass < 2; pass++) { /* first which are extremes, then what is relative to them */
        memset(o.node, 0, bytes);
        for (int i = 0; i < l->carried && pass == 0; i++) {
            int found = 0, node = end->value[i].node;
            enum expr_op op = p->graph->node[node].op;
            o.extreme[i] = (op == EXPR_MAX || op == EXPR_MIN) && is_extreme(&o, node, op, i, &found) && found > 0;
        }
    }
    enum any_order result = ANY_ORDER;
    for (int i = 0; i < l->carried && result == ANY_ORDER; i++) {
        struct known k = look(&o, end->value[i].node);
        bool own = k.of == i && (k.class == CARRIED || k.class == SUM || k.class == RESCALED || k.class == EXTREME);
        if (!own || (k.class == RESCALED && k.by == i)) {
            result = ANY_ORDER_CARRIED;
            *which = i;
        }
    }
    memory_resize(memory, o.node, bytes, 0);
    return result;
}
