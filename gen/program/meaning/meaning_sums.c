/* Sums: the bound that any order of additions keeps, and matrix products. */
#include "program/meaning/meaning.h"

#include <float.h>
#include <string.h>

int meaning_quantum(const double *cell, int64_t count)
{
    int least = MEANING_ZEROS;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &cell[i], sizeof bits);
        int exponent = (int)(bits >> 52 & 0x7ff);
        uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
        if (exponent == 0x7ff)
            return MEANING_ENDLESS;
        if (!exponent && !mantissa)
            continue;
        int quantum = exponent - 1075 + __builtin_ctzll(mantissa | UINT64_C(1) << 52);
        least = quantum < least ? quantum : least;
    }
    return least;
}

/* 2^exponent, mostly of a normal number. */
static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    if (exponent < -1022 || exponent > 1023)
        return ldexp(1, exponent);
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* What the sums of so many terms of one quantum have in common: up to which magnitudes all partial sums are exact, and
 * what of a magnitude additions come to beyond that. */
struct reach {
    double exact, grown, least;
};

/* The partial sums of multiples of a quantum q are multiples of it, and none is larger than the sum of magnitudes: up
 * to 2^bits q all are exact. Else each of the n - 1 additions takes half an ulp of a partial sum. Tensor cores truncate
 * where they align 16 products at a time, yet with bits beyond fp32's: the same bound covers them, where the magnitude
 * of a product is that of the exponents by which it is aligned (add_subnormal). */
static struct reach reach_of(int64_t terms, int quantum, int bits)
{
    double units = (double)(terms - 1) * power_of_two(-bits);
    double grown = units < 0.5 ? units / (1 - units) : (double)INFINITY;
    double exact = quantum == MEANING_ZEROS ? (double)INFINITY : quantum > -150 ? power_of_two(bits + quantum) : -1;
    return (struct reach){exact, terms <= 1 ? 0 : grown, terms <= 1 ? 0 : MEANING_LEAST};
}

/* Without a branch, for vectors. */
static inline double bound_within(double value, double magnitude, double carried, const struct reach *reach)
{
    double all = magnitude + carried, bound = carried + reach->grown * all + reach->least;
    bool finite = fabs(value) <= DBL_MAX, zero = carried == 0;
    bound = (zero & (magnitude <= reach->exact)) ? 0 : bound;
    double beyond = (zero & !finite) ? 0 : (double)INFINITY;
    return (finite & (all <= (double)FLT_MAX)) ? bound : beyond;
}

double meaning_sum_bound(double value, const struct meaning_sum *sum, int bits)
{
    struct reach reach = reach_of(sum->terms, sum->quantum, bits);
    return bound_within(value, sum->magnitude, sum->carried, &reach);
}

void meaning_sum_begin(struct meaning_sum *sum, const struct meaning_cells *cells, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double value = cells->at.real[i];
        sum[i] = (struct meaning_sum){fabs(value), cells->bound[i], value != 0, meaning_quantum(&value, 1)};
    }
}

void meaning_sum_go_on(struct meaning_sum *sum, const struct meaning_sum *terms, const struct meaning_cells *was,
                       struct meaning_cells *now, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double term = now->at.real[i] - was->at.real[i], more = now->bound[i] - was->bound[i];
        struct meaning_sum one = {fabs(term), more > 0 ? more : 0, 1, meaning_quantum(&term, 1)};
        const struct meaning_sum *added = terms ? &terms[i] : &one;
        sum[i].magnitude += added->magnitude;
        sum[i].carried += added->carried;
        sum[i].terms += added->terms;
        sum[i].quantum = added->quantum < sum[i].quantum ? added->quantum : sum[i].quantum;
        double bound = meaning_sum_bound(now->at.real[i], &sum[i], 24);
        if (bound > now->bound[i]) {
            now->bound[i] = bound;
            now->exact = now->zeroed = false;
        }
    }
}

/* One row of products: to[j] += sum of a[k] b[k][j], magnitude[j] += sum of their magnitudes. The same bits in vectors
 * of any width: none of them multiplies and adds at once. */
__attribute__((always_inline)) static inline void add_products(const struct meaning_dot *d, const double *a,
                                                               double *restrict to, double *restrict magnitude)
{
    int64_t n = d->n, k = 0;
    for (; k + 4 <= d->k; k += 4) {
        const double *b = d->b.at.real + k * n, a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
        for (int64_t j = 0; j < n; j++) {
            double x0 = a0 * b[j], x1 = a1 * b[n + j], x2 = a2 * b[2 * n + j], x3 = a3 * b[3 * n + j];
            to[j] += (x0 + x1) + (x2 + x3);
            magnitude[j] += (fabs(x0) + fabs(x1)) + (fabs(x2) + fabs(x3));
        }
    }
    for (; k < d->k; k++) {
        const double *b = d->b.at.real + k * n;
        for (int64_t j = 0; j < n; j++) {
            to[j] += a[k] * b[j];
            magnitude[j] += fabs(a[k] * b[j]);
        }
    }
}

static void add_row(const struct meaning_dot *d, const double *a, double *restrict to, double *restrict magnitude)
{
    add_products(d, a, to, magnitude);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_row_wide(const struct meaning_dot *d, const double *a,
                                                         double *restrict to, double *restrict magnitude)
{
    add_products(d, a, to, magnitude);
}

#if defined(__clang__) /* which knows no width that it prefers, and needs none */
#define WIDEST "avx512f,avx512dq"
#else
#define WIDEST "avx512f,avx512dq,prefer-vector-width=512"
#endif

__attribute__((target(WIDEST))) static void add_row_widest(const struct meaning_dot *d, const double *a,
                                                           double *restrict to, double *restrict magnitude)
{
    add_products(d, a, to, magnitude);
}
#endif

typedef void add_function(const struct meaning_dot *d, const double *a, double *restrict to,
                          double *restrict magnitude);

/* By the widest vectors that this processor has. */
static add_function *adds_rows(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return add_row_widest;
    if (__builtin_cpu_supports("avx2"))
        return add_row_wide;
#endif
    return add_row;
}

int meaning_dot_bits(enum tw_dtype dtype)
{
    return dtype == TW_FP8_E4M3 || dtype == TW_FP8_E5M2 ? 13 : 24;
}

double meaning_least_normal(enum tw_dtype dtype)
{
    switch (dtype) {
    case TW_FP16:
    case TW_FP8_E5M2:
        return 0x1p-14;
    case TW_FP8_E4M3:
        return 0x1p-6;
    default:
        return tw_dtype_info(dtype)->kind == TW_KIND_FLOAT ? 0x1p-126 : 0;
    }
}

/* How much less than the least normal number it is; 0 of 0, which no product is aligned by. */
static double below(double value, double bound, double least)
{
    double magnitude = fabs(value);
    return magnitude < least && (magnitude > 0 || bound > 0) ? least - magnitude : 0;
}

/* Whether an operand has any such number. */
static bool has_subnormal(const double *cell, const double *bound, int64_t count, double least)
{
    int found = 0;
    for (int64_t i = 0; i < count; i++)
        found |= (fabs(cell[i]) < least) & ((cell[i] != 0) | (bound && bound[i] > 0));
    return found;
}

/* Subnormal numbers keep the exponent of the least normal one where products are aligned: what is added to the
 * magnitudes is what they lack to that. small[k]: row k of b has such a number. */
static void add_subnormal(const struct meaning_dot *d, const double *a, const double *ea, const double *small,
                          double *restrict magnitude)
{
    int64_t n = d->n;
    for (int64_t k = 0; k < d->k; k++) {
        const double *b = d->b.at.real + k * n, *eb = d->b.exact ? NULL : d->b.bound + k * n;
        double lacks = below(a[k], ea ? ea[k] : 0, d->least), all = fabs(a[k]) + lacks;
        if (lacks == 0 && small[k] == 0)
            continue;
        for (int64_t j = 0; j < n; j++)
            magnitude[j] += lacks * fabs(b[j]) + all * below(b[j], eb ? eb[j] : 0, d->least);
    }
}

/* What the operands' own bounds come to. */
static void carry_row(const struct meaning_dot *d, const double *a, const double *ea, double *restrict carried)
{
    int64_t n = d->n;
    memset(carried, 0, sizeof *carried * (size_t)n);
    for (int64_t k = 0; k < d->k; k++) {
        const double *b = d->b.at.real + k * n, *eb = d->b.bound + k * n;
        double own = d->a.exact ? 0 : ea[k], other = fabs(a[k]) + own;
        if (own != 0)
            for (int64_t j = 0; j < n; j++)
                carried[j] += own * fabs(b[j]);
        if (!d->b.exact)
            for (int64_t j = 0; j < n; j++)
                carried[j] += other * eb[j];
    }
}

void meaning_dot(struct meaning_dot *d)
{
    int64_t n = d->n;
    double *magnitude = d->scratch, *carried = d->scratch + n, *small = d->scratch + 2 * n;
    add_function *add = adds_rows();
    bool any_small = false;
    int quantum_b = meaning_quantum(d->b.at.real, d->k * n);
    bool inexact = false, exact_operands = d->a.exact && d->b.exact, had_bounds = !d->result.exact;
    for (int64_t k = 0; k < d->k; k++) {
        small[k] = has_subnormal(d->b.at.real + k * n, d->b.exact ? NULL : d->b.bound + k * n, n, d->least);
        any_small = any_small || small[k] != 0;
    }
    for (int64_t i = 0; i < d->m; i++) {
        const double *a = d->a.at.real + i * d->k, *ea = d->a.exact ? NULL : d->a.bound + i * d->k;
        double *to = d->result.at.real + i * n, *bound = d->result.bound + i * n;
        int quantum_a = meaning_quantum(a, d->k), quantum_c = d->has_c ? meaning_quantum(to, n) : MEANING_ZEROS;
        int quantum = quantum_a == MEANING_ZEROS || quantum_b == MEANING_ZEROS ? MEANING_ZEROS : quantum_a + quantum_b;
        if (quantum_a == MEANING_ENDLESS || quantum_b == MEANING_ENDLESS)
            quantum = MEANING_ENDLESS;
        quantum = quantum_c < quantum ? quantum_c : quantum;
        for (int64_t j = 0; j < n; j++)
            magnitude[j] = fabs(to[j]);
        if (exact_operands)
            memset(carried, 0, sizeof *carried * (size_t)n);
        else
            carry_row(d, a, ea, carried);
        if (had_bounds)
            for (int64_t j = 0; j < n; j++)
                carried[j] += bound[j];
        add(d, a, to, magnitude);
        if (any_small || has_subnormal(a, ea, d->k, d->least))
            add_subnormal(d, a, ea, small, magnitude);
        struct reach reach = reach_of(d->k + d->has_c + d->products_round, quantum, d->bits);
        int uncertain = 0;
        for (int64_t j = 0; j < n; j++) {
            if (d->bits)
                bound[j] = bound_within(to[j], magnitude[j], carried[j], &reach);
            else
                bound[j] = magnitude[j] < 0x1p31 && isfinite(carried[j]) ? carried[j] : (double)INFINITY;
            uncertain |= bound[j] != 0;
        }
        inexact = inexact || uncertain;
    }
    d->result.exact = d->result.zeroed = !inexact;
}
