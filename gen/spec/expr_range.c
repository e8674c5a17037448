/* Between which numbers a whole number lies, whatever the launch, and how far a real number is from 0 at most: interval
 * arithmetic over an expression. */
#include "spec/expr.h"

#include <math.h>

enum { MOST_STEPS = 4000 };

struct range {
    int64_t low, high; /* within EXPR_LEAST and EXPR_MOST, so that either's negative is one too */
};

static const struct range unknown = {EXPR_LEAST, EXPR_MOST};

static int64_t bounded(int64_t value)
{
    return value <= EXPR_LEAST ? EXPR_LEAST : value >= EXPR_MOST ? EXPR_MOST : value;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of two lows or two highs. Where one is `none`, which says that there is no bound, their sum has none either. */
static int64_t sum(int64_t a, int64_t b, int64_t none)
{
    int64_t value;
    if (a == none || b == none)
        return none;
    if (__builtin_add_overflow(a, b, &value))
        return a < 0 ? EXPR_LEAST : EXPR_MOST;
    return bounded(value);
}

static struct range plus(struct range a, struct range b)
{
    return (struct range){sum(a.low, b.low, EXPR_LEAST), sum(a.high, b.high, EXPR_MOST)};
}

static struct range minus(struct range a)
{
    return (struct range){-a.high, -a.low};
}

/* That of what has no bound and anything but 0 is beyond the bounds again. */
static int64_t product(int64_t a, int64_t b)
{
    int64_t value;
    if (__builtin_mul_overflow(a, b, &value))
        return (a < 0) == (b < 0) ? EXPR_MOST : EXPR_LEAST;
    return bounded(value);
}

static struct range times(struct range a, struct range b)
{
    const int64_t corner[] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low),
                              product(a.high, b.high)};
    struct range r = {corner[0], corner[0]};
    for (int i = 1; i < 4; i++)
        r = (struct range){least(r.low, corner[i]), most(r.high, corner[i])};
    return r;
}

static struct range of(const struct expr_graph *g, int node, int *steps);

/* Of reals. What may be a NaN has no bound on either side: max(x, 0) and min(x, 1) of one are numbers. */
struct reals {
    double low, high;
};

/* With what fp32 makes of both ends: outwards, and not inwards, for a product may go unrounded into a sum. */
static struct reals rounded(struct reals r)
{
    return (struct reals){fmin(r.low, (double)(float)r.low), fmax(r.high, (double)(float)r.high)};
}

static struct reals reals_of(const struct expr_graph *g, int node, int *steps)
{
    const struct reals any = {-(double)INFINITY, (double)INFINITY};
    const struct expr_node *n = &g->node[node];
    struct reals a = any, b = any, r = any;
    if (n->type == EXPR_INT) {
        struct range whole = of(g, node, steps);
        const int64_t exact = (int64_t)1 << 53;
        r.low = whole.low < -exact ? r.low : (double)whole.low;
        r.high = whole.high > exact ? r.high : (double)whole.high;
        return rounded(r);
    }
    if (++*steps > MOST_STEPS)
        return any;
    if (expr_ops[n->op].arity >= 1 && n->type == EXPR_REAL && n->op != EXPR_SELECT)
        a = reals_of(g, n->arg[0], steps);
    if (expr_ops[n->op].arity == 2)
        b = reals_of(g, n->arg[1], steps);
    switch (n->op) {
    case EXPR_CONST_REAL:
        return isnan(n->real) ? any : rounded((struct reals){n->real, n->real});
    case EXPR_MIN: /* of an unbounded one, a NaN perhaps, the other */
        return (struct reals){fmin(a.low, b.low), fmin(a.high, b.high)};
    case EXPR_MAX:
        return (struct reals){fmax(a.low, b.low), fmax(a.high, b.high)};
    case EXPR_FLOOR:
        return (struct reals){floor(a.low), floor(a.high)};
    case EXPR_SATURATE:
        return (struct reals){0, 1};
    case EXPR_ADD:
        r = (struct reals){a.low + b.low, a.high + b.high};
        break;
    case EXPR_SUB:
        r = (struct reals){a.low - b.high, a.high - b.low};
        break;
    case EXPR_MUL: {
        const double corner[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
        r = (struct reals){corner[0], corner[0]};
        for (int i = 1; i < 4; i++)
            r = (struct reals){fmin(r.low, corner[i]), fmax(r.high, corner[i])};
        break;
    }
    default:
        return any;
    }
    /* Rounding to fp32 goes beyond what is no such number. */
    bool finite = isfinite(a.low) && isfinite(a.high) && isfinite(b.low) && isfinite(b.high);
    double most = fmax(fabs(r.low), fabs(r.high));
    if (!finite || most > 0x1p100)
        return any;
    bool whole = most <= 0x1p24 && r.low == floor(r.low) && r.high == floor(r.high);
    return whole ? r : (struct reals){r.low - most * 0x1p-23, r.high + most * 0x1p-23};
}

static struct range of_two(const struct expr_graph *g, const struct expr_node *n, int *steps)
{
    struct range a = of(g, n->arg[0], steps), b = of(g, n->arg[1], steps);
    switch (n->op) {
    case EXPR_ADD:
        return plus(a, b);
    case EXPR_SUB:
        return plus(a, minus(b));
    case EXPR_MUL:
        return times(a, b);
    case EXPR_MIN:
        return (struct range){least(a.low, b.low), least(a.high, b.high)};
    case EXPR_MAX:
        return (struct range){most(a.low, b.low), most(a.high, b.high)};
    case EXPR_FLOORDIV:
        return a.low >= 0 && b.low >= 1 ? (struct range){b.high == EXPR_MOST ? 0 : a.low / b.high, a.high} : unknown;
    case EXPR_MOD:
        return b.low >= 1 ? (struct range){0, b.high == EXPR_MOST ? EXPR_MOST : b.high - 1} : unknown;
    default:
        return unknown;
    }
}

static struct range of(const struct expr_graph *g, int node, int *steps)
{
    const struct expr_node *n = &g->node[node];
    struct range a;
    if (n->type != EXPR_INT || ++*steps > MOST_STEPS)
        return unknown;
    switch (n->op) {
    case EXPR_CONST_INT:
        return (struct range){bounded(n->integer), bounded(n->integer)};
    case EXPR_SYMBOL: /* nothing is computed of no elements */
        return (struct range){1, EXPR_MOST};
    case EXPR_INDEX:
    case EXPR_AT:
    case EXPR_ROW:
    case EXPR_COLUMN:
        return (struct range){0, EXPR_MOST};
    case EXPR_NEG:
        return minus(of(g, n->arg[0], steps));
    case EXPR_ABS:
        a = of(g, n->arg[0], steps);
        return (struct range){a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, most(-a.low, a.high)};
    case EXPR_WHOLE: {
        struct reals real = reals_of(g, n->arg[0], steps);
        bool known = isfinite(real.low) && isfinite(real.high);
        return known ? (struct range){expr_whole(real.low), expr_whole(real.high)}
                     : (struct range){INT32_MIN, INT32_MAX};
    }
    case EXPR_SELECT: {
        struct range yes = of(g, n->arg[1], steps), no = of(g, n->arg[2], steps);
        return (struct range){least(yes.low, no.low), most(yes.high, no.high)};
    }
    default:
        return expr_ops[n->op].arity == 2 ? of_two(g, n, steps) : unknown;
    }
}

void expr_range(const struct expr_graph *g, int node, int64_t *low, int64_t *high)
{
    int steps = 0;
    struct range r = of(g, node, &steps);
    *low = r.low;
    *high = r.high;
}

static double magnitude_of(const struct expr_graph *g, int node, int *steps)
{
    const struct expr_node *n = &g->node[node];
    double a, b;
    switch (n->op) {
    case EXPR_TANH:
    case EXPR_TANH_APPROX:
    case EXPR_SIGMOID:
        return 1;
    case EXPR_NEG:
    case EXPR_ABS:
        return magnitude_of(g, n->arg[0], steps);
    case EXPR_SELECT:
        return fmax(magnitude_of(g, n->arg[1], steps), magnitude_of(g, n->arg[2], steps));
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
        if (++*steps > MOST_STEPS)
            return (double)INFINITY;
        a = magnitude_of(g, n->arg[0], steps);
        b = magnitude_of(g, n->arg[1], steps);
        a = n->op == EXPR_MUL ? a * b : a + b;
        return isnan(a) ? (double)INFINITY : a;
    default: {
        const struct reals r = reals_of(g, node, steps);
        return fmax(fabs(r.low), fabs(r.high));
    }
    }
}

double expr_magnitude(const struct expr_graph *g, int node)
{
    int steps = 0;
    return magnitude_of(g, node, &steps);
}

struct divisors {
    const struct expr_graph *g;
    expr_divisor_of *leaf;
    const void *context;
    int steps;
};

static int64_t divisor_of(struct divisors *d, int node)
{
    enum { ENOUGH = 1 << 20 };
    const struct expr_node *n = &d->g->node[node];
    int64_t number;
    if (expr_is_int(d->g, node, &number))
        return number < 0 ? -number : number;
    if (++d->steps > MOST_STEPS)
        return 1;
    if ((n->op == EXPR_AT || n->op == EXPR_LOOP) && d->leaf)
        return d->leaf(d->context, n);
    if (n->op == EXPR_NEG)
        return divisor_of(d, n->arg[0]);
    if (n->op == EXPR_SELECT)
        return expr_common_divisor(divisor_of(d, n->arg[1]), divisor_of(d, n->arg[2]));
    if (n->op != EXPR_MUL && n->op != EXPR_ADD && n->op != EXPR_SUB && n->op != EXPR_MIN && n->op != EXPR_MAX)
        return 1;
    const int64_t a = divisor_of(d, n->arg[0]), b = divisor_of(d, n->arg[1]);
    return n->op != EXPR_MUL ? expr_common_divisor(a, b) : a < ENOUGH && b < ENOUGH ? a * b : a > b ? a : b;
}

int64_t expr_divisor(const struct expr_graph *g, int node, expr_divisor_of *leaf, const void *context)
{
    struct divisors d = {g, leaf, context, 0};
    return divisor_of(&d, node);
}
