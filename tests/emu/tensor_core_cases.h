/* Inputs of the tensor-core tests, made from (kind, case) alone, so that the golden file holds answers only. Shared
   by the probe that asked an H200 (tensor_core_probe.cu) and by the test; C11 and C++. */
#ifndef TENSOR_CORE_CASES_H
#define TENSOR_CORE_CASES_H

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
    case 12: /* exponents of products about the least of float, zeros between */
        if (!tcc_below(state, 3))
            return zero;
        mantissa = tcc_mantissa(f, state);
        exponent = -bias / 2 - tcc_below(state, 16) + 4;
        break;
    case 13: /* large against small: products near 1 of far factors */
        mantissa = tcc_mantissa(f, state);
        exponent = tcc_below(state, 2) ? bias : -bias;
        exponent += exponent > 0 ? -tcc_below(state, 5) : tcc_below(state, 5);
        break;
    case 14: /* exponents around half the greatest: products about overflow */
        mantissa = tcc_mantissa(f, state);
        exponent = bias / 2 + tcc_below(state, 3);
        break;
    case 15:   /* products about 2^-133 and 2^-156, few bits: where alignment of float results ends */
    case 16: { /* the same about 1 and 2^-26 */
        int large = !tcc_below(state, 4);
        if (!large && !tcc_below(state, 3))
            return zero;
        mantissa = tcc_below(state, 3) ? 0 : (uint64_t)1 << (f->mantissa + f->below - 1);
        exponent = (kind == 15 ? -bias / 2 - 2 : 0) - (large ? 0 : 12);
        exponent -= tcc_below(state, 4);
        sign = large ? 0 : sign;
        break;
    }
    default: /* powers of two */
        mantissa = 0;
        exponent = centre + tcc_below(state, 9) - 4;
    }
    return tcc_encode(f, sign, exponent, mantissa);
}

static inline void tcc_put(void *to, int bytes, size_t index, uint64_t bits)
{
    memcpy((unsigned char *)to + index * (size_t)bytes, &bits, (size_t)bytes); /* little endian */
}

static inline uint64_t tcc_get(const void *from, int bytes, size_t index)
{
    uint64_t bits = 0;
    memcpy(&bits, (const unsigned char *)from + index * (size_t)bytes, (size_t)bytes);
    return bits;
}

/* rows x k elements of one operand. Classes are mixed by row in every fourth case. */
static inline void tcc_operand(enum tc_case_type type, int kind, int mixed, int centre, int rows, int k, void *to,
                               uint64_t *state)
{
    const struct tc_case_format *f = &tc_case_formats[type];
    for (int i = 0; i < rows; i++) {
        int row_kind = mixed ? tcc_below(state, TCC_CLASSES) : kind;
        for (int l = 0; l < k; l++) {
            size_t at = (size_t)i * (size_t)k + (size_t)l;
            if (!f->exponent) {
                uint64_t r = tcc_random(state);
                tcc_put(to, 1, at, (row_kind & 3) == 3 ? (r & 1 ? 0x80u : 0x7fu | (r & 128)) : r & 255);
                continue;
            }
            uint64_t bits = tcc_element(f, row_kind, centre, state);
            if (row_kind == 4 && l >= k / 2) { /* the first half again, now and then a bit off */
                bits = tcc_get(to, f->bytes, at - (size_t)(k / 2));
                if (!tcc_below(state, 12))
                    bits ^= (uint64_t)1 << f->below;
            }
            tcc_put(to, f->bytes, at, bits);
        }
    }
}

/* the sign of the second half of every row of a, so that sums cancel */
static inline void tcc_cancel(enum tc_case_type type, int rows, int k, void *a)
{
    const struct tc_case_format *f = &tc_case_formats[type];
    for (int i = 0; f->exponent && i < rows; i++)
        for (int l = k / 2; l < k; l++) {
            size_t at = (size_t)i * (size_t)k + (size_t)l;
            uint64_t sign = (uint64_t)1 << (f->exponent + f->mantissa + f->below);
            tcc_put(a, f->bytes, at, tcc_get(a, f->bytes, at) ^ sign);
        }
}

/* Fills a (m x k), b (n x k) and c (m x n), all dense. */
static inline void tcc_fill(int kind_number, int number, int m, int n, int k, enum tc_case_type at,
                            enum tc_case_type bt, enum tc_case_type ct, void *a, void *b, void *c)
{
    uint64_t state = (uint64_t)kind_number * 0x10001u + ((uint64_t)number << 32) + 12345u;
    const struct tc_case_format *f = &tc_case_formats[ct];
    int kind = number % TCC_CLASSES, mixed = number / TCC_CLASSES % 4 == 3;
    int centre_a = tcc_below(&state, 9) - 4, centre_b = tcc_below(&state, 9) - 4;
    tcc_operand(at, kind, mixed, centre_a, m, k, a, &state);
    tcc_operand(bt, kind, mixed, centre_b, n, k, b, &state);
    if (kind == 4 && !mixed)
        tcc_cancel(at, m, k, a);
    int spread = tcc_below(&state, 4) ? 12 : 40;
    for (int i = 0; i < m * n; i++) {
        uint64_t bits;
        if (!f->exponent) {
            uint64_t r = tcc_random(&state);
            bits = r & 1   ? r >> 32
                   : r & 2 ? 0x7fffffffu - (r >> 40 & 0x7ffff)
                   : r & 4 ? 0x80000000u + (r >> 40 & 0x7ffff)
                           : (uint32_t)((int32_t)(r >> 48) - 32768);
            bits &= 0xffffffffu;
        } else {
            int look = tcc_below(&state, 8), sign = tcc_below(&state, 2);
            if (kind == 1 || kind == 2 || kind == 5 || kind == 8)
                bits = look ? tcc_element(f, kind, 0, &state) : (uint64_t)sign << (f->exponent + f->mantissa);
            else if (look == 0 || ((kind == 6 || kind == 12 || kind >= 15) && look < 4))
                bits = (uint64_t)sign << (f->exponent + f->mantissa);
            else if (kind == 7 && look == 1)
                bits = tcc_special(f, &state);
            else if (kind == 10 || kind == 14)
                bits = tcc_element(f, look & 1 ? 10 : 0, 0, &state);
            else if (kind == 12)
                bits = tcc_element(f, 5, 0, &state);
            else {
                uint64_t mantissa = tcc_mantissa(f, &state);
                bits = tcc_encode(f, sign, centre_a + centre_b + tcc_below(&state, spread * 2) - spread, mantissa);
            }
        }
        tcc_put(c, f->bytes, (size_t)i, bits);
    }
}

/* Operands of a long accumulation from c = 0: step `step` of `steps`; integers -4 .. 4 or about normal. */
static inline void tcc_fill_chain(int number, int step, int rows, int k, enum tc_case_type type, int which, void *to)
{
    uint64_t state = ((uint64_t)number << 40) + ((uint64_t)step << 16) + (uint64_t)which + 777u;
    const struct tc_case_format *f = &tc_case_formats[type];
    static const signed char exponent_of[5] = {0, 0, 1, 1, 2};
    for (int i = 0; i < rows * k; i++) {
        uint64_t bits;
        if (!f->exponent) {
            bits = tcc_random(&state) & 255;
        } else if (number & 1) {
            int v = tcc_below(&state, 9) - 4, size = v < 0 ? -v : v;
            bits = size ? tcc_encode(f, v < 0, exponent_of[size],
                                     size == 3 ? (uint64_t)1 << (f->mantissa + f->below - 1) : 0)
                        : 0;
        } else { /* the exponents of a normal distribution, roughly: P(e) halves a binade */
            uint64_t r = tcc_random(&state);
            int e = 1;
            while (e > -9 && (r & 1)) {
                r >>= 1;
                e--;
            }
            uint64_t mantissa = tcc_random(&state);
            bits = tcc_encode(f, tcc_below(&state, 2), e - 1, mantissa);
        }
        tcc_put(to, f->bytes, (size_t)i, bits);
    }
}

/* of the 32-bit words of a result (16-bit types: two elements a word) */
static inline uint64_t tcc_hash(const void *from, size_t bytes)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, (const unsigned char *)from + i, 4);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    return h;
}

#endif
