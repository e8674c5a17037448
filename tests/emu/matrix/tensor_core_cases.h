/* Inputs of the tensor-core tests, made from (kind, case) alone, so that the golden file holds answers only. Shared
   by the probe that asked an H200 (tensor_core_probe.cu) and by the test; C11 and C++. */
#ifndef TENSOR_CORE_CASES_H
#define TENSOR_CORE_CASES_H

#include "tensor_core_elements.h"

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
