/* The arithmetic of one node over many cells, each with its bound.
 *
 * Where all operands are exact a result's bound is what rounding it to fp32 takes away, 0 mostly; else bounds are
 * carried through the operator and half an ulp is added. What is left aside is double precision's own rounding, 2^-29
 * of that.
 */
#include "program/meaning/meaning.h"

#include <float.h>
#include <string.h>

/* An ulp of fp32 relative to the value, at most; functions of the hardware give 0 for results under the least normal.
 */
#define ULP 0x1p-23
#define FLUSHED 0x1p-125
#define LN2 0.69314718055994530942

double *meaning_bounds(struct meaning_cells *cells, int64_t count)
{
    if (cells->exact && !cells->zeroed) {
        memset(cells->bound, 0, sizeof *cells->bound * (size_t)count);
        cells->zeroed = true;
    }
    return cells->bound;
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

/* A normal number to the nearest even one with `drop` bits of mantissa less. */
static inline double shorten(double value, int drop)
{
    uint64_t bits, half = (UINT64_C(1) << (drop - 1)) - 1;
    memcpy(&bits, &value, sizeof bits);
    bits += half + (bits >> drop & 1);
    bits &= ~((UINT64_C(1) << drop) - 1);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

double meaning_round(enum tw_dtype dtype, double value)
{
    double magnitude = fabs(value);
    unsigned char element[8];
    if (dtype == TW_FP32)
        return (double)(float)value;
    if (dtype == TW_BF16 && magnitude >= 0x1p-126 && magnitude <= 0x1.fep127)
        return shorten(value, 45);
    if (dtype == TW_FP16 && magnitude >= 0x1p-14 && magnitude <= 65504)
        return shorten(value, 42);
    tw_dtype_store(dtype, element, value);
    return tw_dtype_load(dtype, element);
}

void meaning_convert(const struct meaning_cells *from, struct meaning_cells *to, int64_t count)
{
    int inexact = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = (double)from->at.whole[i], bound = fabs((double)(float)value - value);
        to->at.real[i] = value;
        to->bound[i] = bound;
        inexact |= bound != 0;
    }
    if (!from->exact)
        for (int64_t i = 0; i < count; i++) {
            to->bound[i] = from->bound[i] != 0 ? meaning_rounded(to->at.real[i], from->bound[i]) : to->bound[i];
            inexact |= to->bound[i] != 0;
        }
    to->exact = !inexact;
    to->zeroed = to->exact;
}

/* ---- what is not finite ------------------------------------------------------------------------------------------ */

/* The bound of a result that is not finite, is too large for fp32, or whose bound is not finite. */
static double unusual(enum expr_op op, double value, int operands, const double *x, const double *e)
{
    bool exact = true, infinite = false, nan = false, anything = false, sign = true;
    for (int i = 0; i < operands; i++) {
        if (isnan(e[i]))
            return e[i];
        exact = exact && e[i] == 0;
        anything = anything || isinf(e[i]);
        infinite = infinite || isinf(x[i]);
        nan = nan || isnan(x[i]);
        sign = sign && fabs(x[i]) > e[i];
    }
    if (op == EXPR_EXP2_DIFF && isinf(x[1]) && x[1] < 0 && !(isinf(x[0]) && x[0] < 0))
        return (double)INFINITY; /* lowerings take 0 for the subtrahend */
    if (anything)
        return (double)INFINITY;
    if (isnan(value))
        return nan || exact ? 0 : (double)INFINITY;
    if (isinf(value)) {
        bool certain = op == EXPR_MUL || op == EXPR_DIV ? sign : true;
        if (exact && (infinite || op == EXPR_DIV || op == EXPR_LOG || op == EXPR_LOG2 || op == EXPR_RSQRT))
            return 0;
        return infinite && certain ? 0 : (double)INFINITY;
    }
    return infinite && fabs(value) <= (double)FLT_MAX ? 0 : (double)INFINITY;
}

/* Behind the loop of a REAL node: looks for what is unusual, and whether all is exact. */
static void settle(const struct meaning_node *n, bool exact_operands)
{
    const double *value = n->result->at.real;
    double *bound = n->result->bound;
    int strange = 0, inexact = 0;
    for (int64_t i = 0; i < n->count; i++) {
        strange |= !(fabs(value[i]) + bound[i] <= (double)FLT_MAX);
        inexact |= bound[i] != 0;
    }
    if (strange) {
        inexact = 0;
        for (int64_t i = 0; i < n->count; i++) {
            double x[3] = {0}, e[3] = {0};
            int operands = 0;
            for (; operands < 3 && n->arg[operands]; operands++) {
                x[operands] = n->arg[operands]->at.real[i];
                e[operands] = exact_operands ? 0 : n->arg[operands]->bound[i];
            }
            if (!(fabs(value[i]) + bound[i] <= (double)FLT_MAX))
                bound[i] = unusual(n->op, value[i], operands, x, e);
            inexact |= bound[i] != 0;
        }
    }
    n->result->exact = !inexact;
    n->result->zeroed = !inexact;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* How far e^x, relative to itself, moves where x moves by e. */
static double growth(double e)
{
    return e < 0.25 ? 1.14 * e : expm1(e);
}

/* The bound of 1 / (1 + e^-x), with 2 + 1.173 |x| ulp of e^-x: 2 of ex2.approx, |x| / 2 of the product that is its
 * exponent and less of log2(e); and 2 ulp of __fdividef. */
static double sigmoid_bound(double x, double s)
{
    return s * ((1 - s) * (2 + 1.173 * fabs(x)) * ULP + MEANING_UNIT + 2 * ULP) + FLUSHED;
}

/* The bounds that rows of expr_functions.def name: what templates/blocks/math.cuh calls, or the .approx instruction of
 * PTX where that is looser and a lowering may take it (ex2, lg2, rsqrt: 2^-22; __expf: 2 + 1.173 |x| ulp; __logf:
 * 2^-21.4 near 1, else 3 ulp). Square roots and tanh are those of math.cuh: rounded to nearest, and 2 ulp.
 *
 * Of a value that moves by `grown` of itself, and is computed to so many ulp. */
static double relative_bound(double magnitude, double grown, double ulp)
{
    double carried = magnitude * grown;
    return carried + (magnitude + carried) * ulp * ULP + FLUSHED;
}

/* How far log(x) moves. */
static double log_carried(double x, double e)
{
    return e == 0 ? 0 : x > e ? e / (x - e) : (double)INFINITY;
}

static double log_bound(double x, double e, double magnitude)
{
    double carried = log_carried(x, e);
    return carried + fmax(0x1.9p-22, 3 * ULP * (magnitude + carried));
}

static double sqrt_bound(double x, double e, double value)
{
    double carried = e == 0 ? 0 : x > e ? value - sqrt(x - e) : (double)INFINITY;
    return meaning_rounded(value, carried);
}

static double rsqrt_bound(double x, double e, double value)
{
    double carried = e == 0 ? 0 : x > e ? 1 / sqrt(x - e) - value : (double)INFINITY;
    return carried + (fabs(value) + carried) * 2 * ULP;
}

static double gelu_tanh_bound(double x, double e, double value)
{
    double w = 1.59576912160573071176 * (x + 0.044715 * x * x * x), s = x == 0 ? 0.5 : value / x;
    double own = sigmoid_bound(w, s) + s * (1 - s) * fabs(w) * 8 * MEANING_UNIT;
    return 1.13 * e + (fabs(x) + e) * own + fabs(value) * MEANING_UNIT;
}

/* tanh.approx.f32 is within 2^-11 of its result (PTX ISA, tanh). */
static double tanh_approx_bound(double x, double e, double value)
{
    double carried = fmin(2, fabs(x) <= e ? e : e / pow(cosh(fmin(fabs(x) - e, 300)), 2));
    return carried + (fabs(value) + carried) * 0x1p-11 + MEANING_LEAST;
}

static double gelu_tanh_approx_bound(double x, double e, double value)
{
    double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x), t = fabs(tanh(u));
    double own = 0x1p-11 * t + (1 - t * t) * fabs(u) * 8 * MEANING_UNIT;
    return 1.13 * e + (fabs(x) + e) / 2 * (own + 4 * MEANING_UNIT) + 2 * fabs(value) * MEANING_UNIT + MEANING_LEAST;
}

/* A step between two numbers is of 1, or of more. */
static double floor_bound(double x, double e)
{
    return e == 0 ? 0 : isfinite(x) ? floor(x + e) - floor(x - e) : e;
}

/* The bound of value = op(x), x within e. */
static double function_bound(enum expr_op op, double x, double e, double value)
{
    double magnitude = fabs(value);
    switch (op) {
    case EXPR_EXP2:
        return relative_bound(magnitude, growth(LN2 * e), 2);
    case EXPR_LOG2: {
        double carried = log_carried(x, e);
        return carried / LN2 + 0x1p-22 + 2 * ULP * (magnitude + carried);
    }
#define FUNCTION(id, name, call, cuda, doc, reference, bound)                                                          \
    case EXPR_##id:                                                                                                    \
        return bound;
#include "spec/expr_functions.def"
#undef FUNCTION
    default:
        return (double)INFINITY;
    }
}

static void compute_function(const struct meaning_node *n, bool exact)
{
    const double *x = n->arg[0]->at.real, *e = n->arg[0]->bound;
    for (int64_t i = 0; i < n->count; i++) {
        double value = expr_apply(n->op, x[i]);
        n->result->at.real[i] = value;
        n->result->bound[i] = function_bound(n->op, x[i], exact ? 0 : e[i], value);
    }
    settle(n, exact);
}

/* ---- operators on REAL ------------------------------------------------------------------------------------------- */

/* Two operands that are exact: the bound is what rounding takes. */
#define EXACTLY(expression)                                                                                            \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        double value = (expression);                                                                                   \
        r[i] = value;                                                                                                  \
        e[i] = fabs((double)(float)value - value);                                                                     \
    }

/* Two operands with bounds; `carried` says what they amount to. */
#define BOUNDED(expression, carried)                                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        double value = (expression);                                                                                   \
        r[i] = value;                                                                                                  \
        e[i] = meaning_rounded(value, (carried));                                                                      \
    }

static void compute_exactly(const struct meaning_node *n)
{
    int64_t count = n->count;
    const double *a = n->arg[0]->at.real, *b = n->arg[1] ? n->arg[1]->at.real : a;
    double *r = n->result->at.real, *e = n->result->bound;
    switch (n->op) {
    case EXPR_ADD:
        EXACTLY(a[i] + b[i])
        break;
    case EXPR_SUB:
        EXACTLY(a[i] - b[i])
        break;
    case EXPR_MUL:
        EXACTLY(a[i] * b[i])
        break;
    default:
        break;
    }
    settle(n, true);
}

static void compute_bounded(const struct meaning_node *n)
{
    int64_t count = n->count;
    const double *a = n->arg[0]->at.real, *b = n->arg[1] ? n->arg[1]->at.real : a;
    const double *ea = meaning_bounds(n->arg[0], count), *eb = n->arg[1] ? meaning_bounds(n->arg[1], count) : ea;
    double *r = n->result->at.real, *e = n->result->bound;
    switch (n->op) {
    case EXPR_ADD:
        BOUNDED(a[i] + b[i], ea[i] + eb[i])
        break;
    case EXPR_SUB:
        BOUNDED(a[i] - b[i], ea[i] + eb[i])
        break;
    case EXPR_MUL:
        BOUNDED(a[i] * b[i], fabs(a[i]) * eb[i] + ea[i] * (fabs(b[i]) + eb[i]))
        break;
    case EXPR_DIV: /* div.full and __fdividef: 2 ulp */
        for (int64_t i = 0; i < count; i++) {
            double value = a[i] / b[i], room = fabs(b[i]) - eb[i];
            double carried = room > 0                   ? (ea[i] + fabs(value) * eb[i]) / room
                             : eb[i] == 0 && ea[i] == 0 ? 0
                                                        : (double)INFINITY;
            r[i] = value;
            e[i] = value == 0 && carried == 0 ? 0 : carried + (fabs(value) + carried) * 2 * ULP + MEANING_LEAST;
        }
        break;
    case EXPR_EXP2_DIFF:
        for (int64_t i = 0; i < count; i++) {
            double d = a[i] - b[i], moved = meaning_rounded(d, ea[i] + eb[i]);
            bool none = a[i] == -(double)INFINITY && b[i] == a[i];
            double value = none ? 0 : exp2(d), carried = value * growth(LN2 * moved);
            r[i] = value;
            e[i] = none ? ea[i] + eb[i] : carried + (value + carried) * 2 * ULP + FLUSHED;
        }
        break;
    default:
        break;
    }
    settle(n, false);
}

/* The larger, or of two equal ones either; a NaN gives way to a number, as fmaxf and fminf have it. */
static inline double larger(double a, double b)
{
    return a > b || isnan(b) ? a : b;
}

/* Negation, magnitude, minimum and maximum: nothing is rounded. */
static void compute_choice(const struct meaning_node *n, bool exact)
{
    int64_t count = n->count;
    const double *a = n->arg[0]->at.real, *b = n->arg[1] ? n->arg[1]->at.real : a;
    double *r = n->result->at.real, *e = n->result->bound;
    switch (n->op) {
    case EXPR_NEG:
        for (int64_t i = 0; i < count; i++)
            r[i] = -a[i];
        break;
    case EXPR_ABS:
        for (int64_t i = 0; i < count; i++)
            r[i] = fabs(a[i]);
        break;
    case EXPR_MAX:
        for (int64_t i = 0; i < count; i++)
            r[i] = larger(a[i], b[i]);
        break;
    default:
        for (int64_t i = 0; i < count; i++)
            r[i] = -larger(-a[i], -b[i]);
    }
    n->result->exact = exact;
    n->result->zeroed = false;
    if (exact)
        return;
    const double *ea = meaning_bounds(n->arg[0], count), *eb = n->arg[1] ? meaning_bounds(n->arg[1], count) : ea;
    double sign = n->op == EXPR_MIN ? -1 : 1;
    for (int64_t i = 0; i < count; i++) {
        double x = sign * a[i], y = sign * b[i];
        if (n->op == EXPR_NEG || n->op == EXPR_ABS || x - ea[i] >= y + eb[i])
            e[i] = ea[i];
        else if (y - eb[i] >= x + ea[i])
            e[i] = eb[i];
        else
            e[i] = isnan(ea[i]) || isnan(eb[i]) ? (double)NAN : fmax(ea[i], eb[i]);
    }
}

static void compute_cast(const struct meaning_node *n, bool exact)
{
    const double *a = n->arg[0]->at.real, *ea = n->arg[0]->bound;
    double *r = n->result->at.real, *e = n->result->bound;
    int inexact = 0;
    for (int64_t i = 0; i < n->count; i++) {
        double bound = exact ? 0 : ea[i];
        r[i] = meaning_round(n->dtype, a[i]);
        if (bound > 0 && bound <= DBL_MAX) {
            double low = meaning_round(n->dtype, a[i] - bound), high = meaning_round(n->dtype, a[i] + bound);
            bound = low == high ? 0 : fmax(high - r[i], r[i] - low);
        }
        if (n->free && isfinite(a[i]))
            bound = fmax(bound, fabs(r[i] - a[i]) + (exact ? 0 : ea[i]));
        if (bound == 0 && isfinite(r[i]))
            bound = fabs((double)(float)r[i] - r[i]); /* large integers */
        e[i] = isinf(r[i]) && bound != 0 && !isnan(bound) ? (double)INFINITY : bound;
        inexact |= e[i] != 0;
    }
    n->result->exact = n->result->zeroed = !inexact;
}

/* ---- choice by a condition --------------------------------------------------------------------------------------- */

/* The bound where a lowering may take either side: `value` was taken here. */
static double either(double value, double other, double bound, double other_bound)
{
    if (isnan(bound))
        return bound;
    if (isnan(other_bound))
        return (double)INFINITY;
    if (value == other || (isnan(value) && isnan(other)))
        return fmax(bound, other_bound);
    double far = fmax(bound, fabs(value - other) + other_bound);
    return far <= DBL_MAX ? far : (double)INFINITY;
}

static void compute_select(const struct meaning_node *n)
{
    int64_t count = n->count;
    const int64_t *choice = n->arg[0]->at.whole;
    bool real = n->type == EXPR_REAL, known = n->arg[0]->exact;
    if (real) {
        const double *a = n->arg[1]->at.real, *b = n->arg[2]->at.real;
        for (int64_t i = 0; i < count; i++)
            n->result->at.real[i] = choice[i] ? a[i] : b[i];
    } else {
        const int64_t *a = n->arg[1]->at.whole, *b = n->arg[2]->at.whole;
        for (int64_t i = 0; i < count; i++)
            n->result->at.whole[i] = choice[i] ? a[i] : b[i];
    }
    n->result->exact = known && n->arg[1]->exact && n->arg[2]->exact;
    n->result->zeroed = false;
    if (n->result->exact)
        return;
    const double *unknown = meaning_bounds(n->arg[0], count), *ea = meaning_bounds(n->arg[1], count),
                 *eb = meaning_bounds(n->arg[2], count);
    int inexact = 0;
    for (int64_t i = 0; i < count; i++) {
        double *e = &n->result->bound[i];
        *e = choice[i] ? ea[i] : eb[i];
        if (unknown[i] != 0) {
            double a = real ? n->arg[1]->at.real[i] : (double)n->arg[1]->at.whole[i];
            double b = real ? n->arg[2]->at.real[i] : (double)n->arg[2]->at.whole[i];
            *e = isnan(unknown[i]) ? unknown[i] : choice[i] ? either(a, b, ea[i], eb[i]) : either(b, a, eb[i], ea[i]);
        }
        inexact |= *e != 0;
    }
    n->result->exact = n->result->zeroed = !inexact;
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

#define COMPARED(a, b)                                                                                                 \
    switch (n->op) {                                                                                                   \
    case EXPR_LT:                                                                                                      \
        for (int64_t i = 0; i < count; i++)                                                                            \
            r[i] = (a)[i] < (b)[i];                                                                                    \
        break;                                                                                                         \
    case EXPR_LE:                                                                                                      \
        for (int64_t i = 0; i < count; i++)                                                                            \
            r[i] = (a)[i] <= (b)[i];                                                                                   \
        break;                                                                                                         \
    case EXPR_GT:                                                                                                      \
        for (int64_t i = 0; i < count; i++)                                                                            \
            r[i] = (a)[i] > (b)[i];                                                                                    \
        break;                                                                                                         \
    case EXPR_GE:                                                                                                      \
        for (int64_t i = 0; i < count; i++)                                                                            \
            r[i] = (a)[i] >= (b)[i];                                                                                   \
        break;                                                                                                         \
    case EXPR_EQ:                                                                                                      \
        for (int64_t i = 0; i < count; i++)                                                                            \
            r[i] = (a)[i] == (b)[i];                                                                                   \
        break;                                                                                                         \
    default:                                                                                                           \
        for (int64_t i = 0; i < count; i++)                                                                            \
            r[i] = (a)[i] != (b)[i];                                                                                   \
    }

static void compute_comparison(const struct meaning_node *n)
{
    int64_t count = n->count, *r = n->result->at.whole;
    struct meaning_cells *left = n->arg[0], *right = n->arg[1];
    bool real = n->operand_type == EXPR_REAL;
    if (real) {
        COMPARED(left->at.real, right->at.real)
    } else {
        COMPARED(left->at.whole, right->at.whole)
    }
    n->result->exact = left->exact && right->exact;
    n->result->zeroed = false;
    if (n->result->exact)
        return;
    const double *ea = meaning_bounds(left, count), *eb = meaning_bounds(right, count);
    int inexact = 0;
    for (int64_t i = 0; i < count; i++) {
        double both = ea[i] + eb[i];
        double apart = real ? fabs(left->at.real[i] - right->at.real[i])
                            : fabs((double)left->at.whole[i] - (double)right->at.whole[i]);
        n->result->bound[i] = isnan(both) ? both : both > 0 && !(apart > both) ? 1 : 0;
        inexact |= n->result->bound[i] != 0;
    }
    n->result->exact = n->result->zeroed = !inexact;
}

/* A condition that is known decides where it can; what an element that is not there says then does not matter. */
static void compute_logic(const struct meaning_node *n)
{
    int64_t count = n->count, *r = n->result->at.whole;
    const int64_t *a = n->arg[0]->at.whole, *b = n->arg[1] ? n->arg[1]->at.whole : a;
    if (n->op == EXPR_AND)
        for (int64_t i = 0; i < count; i++)
            r[i] = a[i] & b[i];
    else if (n->op == EXPR_OR)
        for (int64_t i = 0; i < count; i++)
            r[i] = a[i] | b[i];
    else
        for (int64_t i = 0; i < count; i++)
            r[i] = !a[i];
    n->result->exact = n->arg[0]->exact && (!n->arg[1] || n->arg[1]->exact);
    n->result->zeroed = false;
    if (n->result->exact)
        return;
    const double *ea = meaning_bounds(n->arg[0], count), *eb = n->arg[1] ? meaning_bounds(n->arg[1], count) : ea;
    int64_t decides = n->op == EXPR_OR;
    int inexact = 0;
    for (int64_t i = 0; i < count; i++) {
        double *e = &n->result->bound[i];
        bool decided = n->op != EXPR_NOT && ((ea[i] == 0 && a[i] == decides) || (eb[i] == 0 && b[i] == decides));
        *e = decided ? 0 : isnan(ea[i]) || isnan(eb[i]) ? (double)NAN : fmax(ea[i], eb[i]);
        inexact |= *e != 0;
    }
    n->result->exact = n->result->zeroed = !inexact;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* Integers are uncertain only behind a choice by a condition that is. */
static void integer_bounds(const struct meaning_node *n)
{
    int64_t count = n->count;
    const int64_t *a = n->arg[0]->at.whole, *b = n->arg[1] ? n->arg[1]->at.whole : a;
    const double *ea = meaning_bounds(n->arg[0], count), *eb = n->arg[1] ? meaning_bounds(n->arg[1], count) : ea;
    for (int64_t i = 0; i < count; i++) {
        double *e = &n->result->bound[i], x = fabs((double)a[i]), y = fabs((double)b[i]);
        if (ea[i] == 0 && eb[i] == 0)
            *e = 0;
        else if (n->op == EXPR_ADD || n->op == EXPR_SUB)
            *e = ea[i] + eb[i];
        else if (n->op == EXPR_MUL)
            *e = x * eb[i] + ea[i] * (y + eb[i]);
        else if (isnan(ea[i]) || isnan(eb[i]))
            *e = (double)NAN;
        else
            *e = n->op == EXPR_FLOORDIV || n->op == EXPR_MOD ? (double)INFINITY : fmax(ea[i], eb[i]);
    }
}

static void compute_integer(const struct meaning_node *n)
{
    int64_t count = n->count, *r = n->result->at.whole;
    const int64_t *a = n->arg[0]->at.whole, *b = n->arg[1] ? n->arg[1]->at.whole : a;
    switch (n->op) {
    case EXPR_ADD:
        for (int64_t i = 0; i < count; i++)
            r[i] = (int64_t)((uint64_t)a[i] + (uint64_t)b[i]);
        break;
    case EXPR_SUB:
        for (int64_t i = 0; i < count; i++)
            r[i] = (int64_t)((uint64_t)a[i] - (uint64_t)b[i]);
        break;
    case EXPR_MUL:
        for (int64_t i = 0; i < count; i++)
            r[i] = (int64_t)((uint64_t)a[i] * (uint64_t)b[i]);
        break;
    default:
        for (int64_t i = 0; i < count; i++)
            r[i] = expr_apply_int(n->op, a[i], b[i]);
    }
    n->result->exact = n->arg[0]->exact && (!n->arg[1] || n->arg[1]->exact);
    n->result->zeroed = false;
    if (!n->result->exact)
        integer_bounds(n);
}

/* A real that a lowering may have on either side of a whole number leaves that open. */
static void compute_whole(const struct meaning_node *n, bool exact)
{
    const double *x = n->arg[0]->at.real, *ex = n->arg[0]->bound;
    int64_t *r = n->result->at.whole;
    int inexact = 0;
    for (int64_t i = 0; i < n->count; i++) {
        double e = exact ? 0 : ex[i];
        r[i] = expr_whole(x[i]);
        n->result->bound[i] = isnan(e)   ? e
                              : isinf(e) ? (double)INFINITY
                                         : (double)(expr_whole(x[i] + e) - expr_whole(x[i] - e));
        inexact |= n->result->bound[i] != 0;
    }
    n->result->exact = n->result->zeroed = !inexact;
}

void meaning_compute(const struct meaning_node *n)
{
    bool exact = true;
    for (int i = 0; i < 3 && n->arg[i]; i++)
        exact = exact && n->arg[i]->exact;
    switch (expr_ops[n->op].rule) {
    case EXPR_COMPARE:
        compute_comparison(n);
        return;
    case EXPR_LOGIC:
        compute_logic(n);
        return;
    case EXPR_SELECTION:
        compute_select(n);
        return;
    case EXPR_ROUND:
        compute_cast(n, exact);
        return;
    case EXPR_WHOLES:
        compute_whole(n, exact);
        return;
    default:
        break;
    }
    if (n->type == EXPR_INT)
        compute_integer(n);
    else if (n->op == EXPR_NEG || n->op == EXPR_ABS || n->op == EXPR_MIN || n->op == EXPR_MAX)
        compute_choice(n, exact);
    else if (n->op == EXPR_ADD || n->op == EXPR_SUB || n->op == EXPR_MUL)
        (exact ? compute_exactly : compute_bounded)(n);
    else if (n->op == EXPR_DIV || n->op == EXPR_EXP2_DIFF)
        compute_bounded(n);
    else
        compute_function(n, exact);
}
