/* Elements of the tensor-core tests' inputs, drawn by classes: formats, special values, mantissas of a chosen look. C11
   and C++. */
#ifndef TENSOR_CORE_ELEMENTS_H
#define TENSOR_CORE_ELEMENTS_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define TCC_CONSTANT static constexpr
#else
#define TCC_CONSTANT static const
#endif

enum tc_case_type {
    TCC_BF16,
    TCC_F16,
    TCC_TF32,
    TCC_E4M3,
    TCC_E5M2,
    TCC_S8,
    TCC_U8,
    TCC_F64,
    TCC_F32,
    TCC_S32,
    TCC_TYPES
};

/* bytes an element, exponent bits, mantissa bits; tf32 elements carry 13 random bits below, which are ignored */
struct tc_case_format {
    int bytes, exponent, mantissa, below;
};
TCC_CONSTANT struct tc_case_format tc_case_formats[TCC_TYPES] = {
    {2, 8, 7, 0}, {2, 5, 10, 0}, {4, 8, 10, 13}, {1, 4, 3, 0},  {1, 5, 2, 0},
    {1, 0, 0, 0}, {1, 0, 0, 0},  {8, 11, 52, 0}, {4, 8, 23, 0}, {4, 0, 0, 0},
};

enum { TCC_CLASSES = 18 };

static inline uint64_t tcc_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int tcc_below(uint64_t *state, int n)
{
    return (int)((tcc_random(state) >> 33) % (uint64_t)n);
}

/* sign 0 or 1, unbiased exponent clamped to the finite range (one below the least normal one: subnormal) */
static inline uint64_t tcc_encode(const struct tc_case_format *f, int sign, int exponent, uint64_t mantissa)
{
    int bias = (1 << (f->exponent - 1)) - 1, top = (1 << f->exponent) - 2;
    int field = exponent + bias;
    if (f->exponent == 4)
        top = 15;
    field = field < 0 ? 0 : field > top ? top : field;
    mantissa &= ((uint64_t)1 << (f->mantissa + f->below)) - 1;
    if (f->exponent == 4 && field == 15 && mantissa == 7)
        mantissa = 6;
    return (uint64_t)sign << (f->exponent + f->mantissa + f->below) | (uint64_t)field << (f->mantissa + f->below) |
           mantissa;
}

static inline uint64_t tcc_special(const struct tc_case_format *f, uint64_t *state)
{
    uint64_t r = tcc_random(state);
    int width = f->mantissa + f->below;
    uint64_t sign = (r & 1) << (f->exponent + width), ones = (uint64_t)((1 << f->exponent) - 1) << width;
    if (f->exponent == 4)
        return sign | 0x7f;
    return r & 6 ? sign | ones : sign | ones | (r >> 20 & (((uint64_t)1 << width) - 1));
}

/* a mantissa of a chosen look: random, all ones, zero, one bit, few top bits */
static inline uint64_t tcc_mantissa(const struct tc_case_format *f, uint64_t *state)
{
    uint64_t r = tcc_random(state), all = ((uint64_t)1 << (f->mantissa + f->below)) - 1;
    switch (r & 7) {
    case 0:
        return all;
    case 1:
        return 0;
    case 2:
        return (uint64_t)1 << ((r >> 8) % (uint64_t)(f->mantissa + f->below));
    case 3:
        return all & ~(r >> 8 & 3);
    default:
        return (r >> 8) & all;
    }
}

/* An element of the classes whose products lie at the edges of what results can be. 1: it is zero. */
static inline int tcc_near_edges(const struct tc_case_format *f, int kind, int *sign, int *exponent, uint64_t *mantissa,
                                 uint64_t *state)
{
    int bias = (1 << (f->exponent - 1)) - 1;
    switch (kind) {
    case 12: /* exponents of products about the least of float, zeros between */
        if (!tcc_below(state, 3))
            return 1;
        *mantissa = tcc_mantissa(f, state);
        *exponent = -bias / 2 - tcc_below(state, 16) + 4;
        break;
    case 13: /* large against small: products near 1 of far factors */
        *mantissa = tcc_mantissa(f, state);
        *exponent = tcc_below(state, 2) ? bias : -bias;
        *exponent += *exponent > 0 ? -tcc_below(state, 5) : tcc_below(state, 5);
        break;
    case 14: /* exponents around half the greatest: products about overflow */
        *mantissa = tcc_mantissa(f, state);
        *exponent = bias / 2 + tcc_below(state, 3);
        break;
    case 15:   /* products about 2^-133 and 2^-156, few bits: where alignment of float results ends */
    case 16: { /* the same about 1 and 2^-26 */
        int large = !tcc_below(state, 4);
        if (!large && !tcc_below(state, 3))
            return 1;
        *mantissa = tcc_below(state, 3) ? 0 : (uint64_t)1 << (f->mantissa + f->below - 1);
        *exponent = (kind == 15 ? -bias / 2 - 2 : 0) - (large ? 0 : 12);
        *exponent -= tcc_below(state, 4);
        *sign = large ? 0 : *sign;
        break;
    }
    }
    return 0;
}

/* One element of class `kind`; centre: an exponent around which the case lies. One draw a statement: the order of a
   call's arguments is the compiler's. */
static inline uint64_t tcc_element(const struct tc_case_format *f, int kind, int centre, uint64_t *state)
{
    int sign = tcc_below(state, 2), bias = (1 << (f->exponent - 1)) - 1, exponent = 0;
    uint64_t any = tcc_random(state), mantissa = any;
    uint64_t zero = (uint64_t)sign << (f->exponent + f->mantissa + f->below);
    switch (kind) {
    case 0: /* like normal numbers */
        exponent = -tcc_below(state, 4);
        break;
    case 1: /* any bits, special values too */
        return tcc_random(state) & (((uint64_t)2 << (f->exponent + f->mantissa + f->below)) - 1);
    case 2: /* any exponent */
        exponent = tcc_below(state, 2 * bias + 2) - bias;
        break;
    case 3: /* exponents over some 24 binades */
        mantissa = tcc_mantissa(f, state);
        exponent = centre + tcc_below(state, 13) - 6;
        break;
    case 4: /* few exponents: made into cancellations by the caller */
        mantissa = tcc_mantissa(f, state);
        exponent = centre + tcc_below(state, 5) - 2;
        break;
    case 5: /* near the least exponent */
        mantissa = tcc_mantissa(f, state);
        exponent = -bias + tcc_below(state, 4);
        break;
    case 6: /* mostly zeros of either sign */
        if (tcc_below(state, 4))
            return zero;
        exponent = tcc_below(state, 2 * bias + 1) - bias;
        break;
    case 7: /* few special values */
        if (!tcc_below(state, 24))
            return tcc_special(f, state);
        exponent = centre + tcc_below(state, 6);
        break;
    case 8: /* small integers */
        mantissa = (any & 3) << (f->mantissa + f->below - (f->mantissa > 2 ? 2 : f->mantissa));
        exponent = tcc_below(state, 3);
        break;
    case 9: /* one large, the rest about the alignment's edge */
        mantissa = tcc_mantissa(f, state);
        exponent = centre;
        if (tcc_below(state, 8))
            exponent -= 10 + tcc_below(state, 6);
        break;
    case 10: /* near the greatest exponent */
        mantissa = tcc_mantissa(f, state);
        exponent = bias - tcc_below(state, 3);
        break;
    case 11: /* all positive, mantissas of ones: carries */
        sign = 0;
        mantissa = tcc_below(state, 3) ? ~(uint64_t)0 : any;
        exponent = centre;
        break;
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
        if (tcc_near_edges(f, kind, &sign, &exponent, &mantissa, state))
            return zero;
        break;
    default: /* powers of two */
        mantissa = 0;
        exponent = centre + tcc_below(state, 9) - 4;
    }
    return tcc_encode(f, sign, exponent, mantissa);
}

#endif
