/* Two implementations of one arithmetic. The plain one takes numbers apart into integers and follows tensor_core.def to
   the letter. The fast one (tensor_core_lanes.h) computes the same bits for kinds of way FUSED with floats, 4, 8 or 16
   results at a time; where its conditions do not hold it hands single elements to the plain one.

   Why the fast one is exact. Let E be the largest exponent of a sum's terms, F the row's fraction bits.
   1. Every factor has at most 11 significant bits, so a product of two has 22 and is a float without rounding, unless
      it leaves the range of normal floats. Fast sums have 2^-100 <= 2^E <= 2^100: a product is below 2^(E+2), so never
      too large; one below 2^-126 is below 2^(E-F), the last bit kept, and becomes 0 however a float rounds it.
   2. The exponent of a product is the sum of two exponents. As floats, 2^ea * 2^eb is a power of two without rounding,
      or below 2^-126 and not the largest. So E comes from multiplications and maxima of such powers.
   3. Multiplying by 2^(F-E) is exact, and conversion to an integer drops exactly the bits below 2^(E-F), toward zero.
   4. A term is then below 2^(F+2) in magnitude: the 8 of a half-sum stay below 2^30 (F = 25), the 16 of fp8 below 2^19,
      and adding integers is exact in any order. Half-sums and c are added in 64 bits.
   5. The sum has fewer than 53 bits: a double holds it, clearing bits of its fraction truncates it to 24 or 14 bits,
      and scaling the resulting float by 2^(E-F) is exact since the result is 0 or at least 2^-125. */
#include "emu/alu/vectors.h"
#include "tensor_core.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

const struct emu_tc_row emu_tc_rows[EMU_TC_KINDS] = {
#define TC(name, engine, m, n, k, a, b, d, saturate, way, fraction, round)                                             \
    {#name,    EMU_TC_##engine, m, n, k, EMU_TC_##a, EMU_TC_##b, EMU_TC_##d, saturate, EMU_TC_##way,                   \
     fraction, EMU_TC_##round},
#include "tensor_core.def"
#undef TC
};

/* Layout of the floating-point types: bytes in memory, exponent and mantissa bits, bits below that are ignored. */
struct format {
    unsigned bytes, exponent, mantissa, below;
};

static const struct format formats[] = {
    [EMU_TC_BF16] = {2, 8, 7, 0}, [EMU_TC_F16] = {2, 5, 10, 0},  [EMU_TC_TF32] = {4, 8, 10, 13},
    [EMU_TC_E4M3] = {1, 4, 3, 0}, [EMU_TC_E5M2] = {1, 5, 2, 0},  [EMU_TC_S8] = {1, 0, 0, 0},
    [EMU_TC_U8] = {1, 0, 0, 0},   [EMU_TC_F64] = {8, 11, 52, 0}, [EMU_TC_F32] = {4, 8, 23, 0},
    [EMU_TC_S32] = {4, 0, 0, 0},
};

enum {
    LEAST_EXPONENT = -133, /* alignment goes no lower */
    F32_NAN = 0x7fffffff,
    F32_INFINITY = 0x7f800000,
    F16_NAN = 0x7fff,
    F16_INFINITY = 0x7c00
};

unsigned emu_tc_bytes(enum emu_tc_type type)
{
    return formats[type].bytes;
}

int emu_tc_find(enum emu_tc_engine engine, unsigned m, unsigned k, enum emu_tc_type a, enum emu_tc_type b,
                enum emu_tc_type d, int saturate)
{
    for (int i = 0; i < EMU_TC_KINDS; i++) {
        const struct emu_tc_row *r = &emu_tc_rows[i];
        if (r->engine == engine && r->m == m && r->k == k && r->a == a && r->b == b && r->d == d &&
            r->saturate == !!saturate)
            return i;
    }
    return -1;
}

/* By memcpy: the caller's arrays may be of any type. */
static inline uint32_t load(const void *from, unsigned bytes, size_t index)
{
    const uint8_t *at = (const uint8_t *)from + index * bytes;
    uint16_t two;
    uint32_t four;
    if (bytes == 1)
        return *at;
    if (bytes == 2) {
        memcpy(&two, at, sizeof two);
        return two;
    }
    memcpy(&four, at, sizeof four);
    return four;
}

static inline void store(void *to, unsigned bytes, size_t index, uint32_t bits)
{
    uint16_t two = (uint16_t)bits;
    if (bytes == 2)
        memcpy((uint8_t *)to + index * 2, &two, sizeof two);
    else
        memcpy((uint8_t *)to + index * 4, &bits, sizeof bits);
}

void emu_tc_negate(enum emu_tc_type type, size_t count, void *elements)
{
    const struct format *f = &formats[type];
    if (!f->exponent)
        return;
    uint8_t *top = (uint8_t *)elements + f->bytes - 1;
    for (size_t i = 0; i < count; i++)
        top[i * f->bytes] ^= 0x80;
}

/* ---- plain */

/* A number taken apart: (-1)^negative * significand * 2^(exponent - the type's mantissa bits). */
struct number {
    enum { FINITE, INFINITE, NOT_A_NUMBER } what;
    int negative, exponent;
    int64_t significand; /* not normalised where subnormal */
};

static struct number take_apart(enum emu_tc_type type, uint32_t bits)
{
    const struct format *f = &formats[type];
    struct number x = {FINITE, 0, 0, 0};
    bits >>= f->below;
    uint32_t ones = (1u << f->exponent) - 1, field = bits >> f->mantissa & ones;
    uint32_t mantissa = bits & ((1u << f->mantissa) - 1);
    int bias = (int)(ones >> 1);
    x.negative = (int)(bits >> (f->exponent + f->mantissa) & 1);
    if (type == EMU_TC_E4M3) { /* no infinity, one NaN */
        if (field == 15 && mantissa == 7)
            x.what = NOT_A_NUMBER;
    } else if (field == ones) {
        x.what = mantissa ? NOT_A_NUMBER : INFINITE;
    }
    x.exponent = field ? (int)field - bias : 1 - bias;
    x.significand = field ? (int64_t)(mantissa | 1u << f->mantissa) : (int64_t)mantissa;
    return x;
}

/* magnitude * 2^unit as float or half bits without sign. */
static uint32_t round_magnitude(enum emu_tc_round round, uint64_t magnitude, int unit)
{
    if (!magnitude)
        return 0;
    int half = round == EMU_TC_F16_RNE, digits = half ? 11 : round == EMU_TC_F32_RZ ? 24 : 14;
    int least = half ? -14 : -126, stored = half ? 10 : 23;
    int exponent = 63 - __builtin_clzll(magnitude) + unit;
    int last = (exponent < least ? least : exponent) - (digits - 1); /* exponent of the last digit kept */
    int drop = last - unit;
    uint64_t kept;
    if (drop <= 0) {
        kept = magnitude << -drop;
    } else if (drop > 63) {
        kept = 0;
    } else {
        kept = magnitude >> drop;
        uint64_t rest = magnitude << (64 - drop), tie = (uint64_t)1 << 63;
        if (half && (rest > tie || (rest == tie && (kept & 1))))
            kept++;
    }
    /* the leading digit of a normal number adds 1 to the exponent field, as a carry out of rounding does */
    int64_t field = last + (digits - 1) - least;
    uint64_t bits = ((uint64_t)field << stored) + (kept << (stored - (digits - 1)));
    uint64_t infinity = half ? F16_INFINITY : F32_INFINITY;
    return (uint32_t)(bits < infinity ? bits : infinity);
}

static uint32_t round_sum(enum emu_tc_round round, int64_t sum, int unit)
{
    uint32_t bits = round_magnitude(round, sum < 0 ? -(uint64_t)sum : (uint64_t)sum, unit);
    if (bits && sum < 0)
        bits |= round == EMU_TC_F16_RNE ? 0x8000u : 0x80000000u;
    return bits;
}

/* significand * 2^(exponent - mantissa) in units of 2^unit, toward zero */
static int64_t align(int64_t significand, int exponent, int unit)
{
    int shift = exponent - unit;
    if (!significand) /* then the exponent may be above the largest */
        return 0;
    return shift >= 0 ? significand << shift : shift < -62 ? 0 : significand >> -shift;
}

/* One element of way FUSED; a and b point to k elements. */
static uint32_t fused_plain(const struct emu_tc_row *row, const void *a, const void *b, uint32_t c_bits)
{
    struct number x[EMU_TC_MAX_K], y[EMU_TC_MAX_K], c = take_apart(row->d, c_bits);
    int half = row->round == EMU_TC_F16_RNE;
    int not_a_number = c.what == NOT_A_NUMBER, infinite[2] = {0, 0}, largest = LEAST_EXPONENT;
    if (c.what == INFINITE)
        infinite[c.negative] = 1;
    if (c.what == FINITE && c.significand && c.exponent > largest)
        largest = c.exponent;
    for (unsigned i = 0; i < row->k; i++) {
        x[i] = take_apart(row->a, load(a, formats[row->a].bytes, i));
        y[i] = take_apart(row->b, load(b, formats[row->b].bytes, i));
        int zero = (x[i].what == FINITE && !x[i].significand) || (y[i].what == FINITE && !y[i].significand);
        if (x[i].what == NOT_A_NUMBER || y[i].what == NOT_A_NUMBER)
            not_a_number = 1;
        else if (x[i].what == INFINITE || y[i].what == INFINITE)
            *(zero ? &not_a_number : &infinite[x[i].negative ^ y[i].negative]) = 1;
        else if (!zero && x[i].exponent + y[i].exponent > largest)
            largest = x[i].exponent + y[i].exponent;
    }
    if (not_a_number || (infinite[0] && infinite[1]))
        return half ? F16_NAN : F32_NAN;
    if (infinite[0] || infinite[1])
        return (half ? F16_INFINITY : (uint32_t)F32_INFINITY) | (infinite[1] ? half ? 0x8000u : 0x80000000u : 0);
    int unit = largest - row->fraction;
    int digits = (int)(formats[row->a].mantissa + formats[row->b].mantissa);
    int64_t sum = align(c.significand, c.exponent - (int)formats[row->d].mantissa, unit);
    if (c.negative)
        sum = -sum;
    for (unsigned i = 0; i < row->k; i++) {
        int64_t term = align(x[i].significand * y[i].significand, x[i].exponent + y[i].exponent - digits, unit);
        sum += x[i].negative ^ y[i].negative ? -term : term;
    }
    return round_sum(row->round, sum, unit);
}

static void fused_all_plain(const struct emu_tc_row *row, size_t m, size_t n, const void *a, const void *b, void *d)
{
    size_t a_row = (size_t)row->k * formats[row->a].bytes, b_row = (size_t)row->k * formats[row->b].bytes;
    unsigned bytes = formats[row->d].bytes;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            store(d, bytes, i * n + j,
                  fused_plain(row, (const uint8_t *)a + i * a_row, (const uint8_t *)b + j * b_row,
                              load(d, bytes, i * n + j)));
}

/* ---- fast */

#if defined(__GNUC__)

enum {
    ROWS = 64,                           /* of an operand at a time */
    LOWEST = (127 - 100) << 23,          /* 2^-100 */
    HIGHEST = (int)((127u + 100u) << 23) /* 2^100 */
};

/* An operand as floats, element l of row i at [l * ROWS + i]: values, and 2^exponent of each (0 of a zero). */
struct factors {
    float value[EMU_TC_MAX_K * ROWS], power[EMU_TC_MAX_K * ROWS];
    int32_t usual[ROWS]; /* a row: all ones where every element is finite */
    int32_t nan[ROWS];   /* a row: not 0 where an element is no number, and so is every result of the row */
    int32_t zero[ROWS];  /* a row: all ones where every element is zero */
};

static inline float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Element `bits` as a float with its power of two; 0 where it is not finite. */
static inline int convert(enum emu_tc_type type, uint32_t bits, float *value, float *power)
{
    const struct format *f = &formats[type];
    if (type == EMU_TC_BF16 || type == EMU_TC_TF32 || type == EMU_TC_F32) {
        bits = type == EMU_TC_BF16 ? bits << 16 : type == EMU_TC_TF32 ? bits & ~(uint32_t)0x1fff : bits;
        uint32_t field = bits & F32_INFINITY;
        *value = float_of(bits);
        *power = float_of(field ? field : bits << 1 ? 1u << 23 : 0);
        return field != F32_INFINITY;
    }
    uint32_t ones = (1u << f->exponent) - 1, field = bits >> f->mantissa & ones;
    uint32_t mantissa = bits & ((1u << f->mantissa) - 1), sign = bits >> (f->exponent + f->mantissa) << 31;
    uint32_t bias = ones >> 1, scale = (field ? field : 1) + 127 - bias;
    uint32_t significand = field ? mantissa | 1u << f->mantissa : mantissa;
    *power = significand ? float_of(scale << 23) : 0;
    *value = float_of(bits_of((float)significand * float_of((scale - f->mantissa) << 23)) | sign);
    return type == EMU_TC_E4M3 ? !(field == 15 && mantissa == 7) : field != ones;
}

/* Rows that are not usual are looked through. Memory that was never written is full of NaNs: what is made of it should
   not take longer than numbers do. */
static void find_nans(enum emu_tc_type type, const uint8_t *from, size_t rows, size_t k, struct factors *to)
{
    for (size_t i = 0; i < rows; i++) {
        to->nan[i] = 0;
        for (size_t l = 0; !to->usual[i] && l < k && !to->nan[i]; l++)
            to->nan[i] = take_apart(type, load(from, formats[type].bytes, i * k + l)).what == NOT_A_NUMBER;
    }
}

/* One element for which the fast way's conditions do not hold. */
static uint32_t fused_unusual(const struct emu_tc_row *row, int nan, const uint8_t *a, const uint8_t *b,
                              uint32_t c_bits)
{
    int c_nan = row->d == EMU_TC_F16 ? (c_bits & 0x7fff) > F16_INFINITY : (c_bits & 0x7fffffff) > F32_INFINITY;
    if (nan || c_nan)
        return row->round == EMU_TC_F16_RNE ? F16_NAN : F32_NAN;
    return fused_plain(row, a, b, c_bits);
}

typedef float four __attribute__((vector_size(16)));
typedef int32_t four_bits __attribute__((vector_size(16)));

/* of numbers that are not negative */
static inline four larger(four x, four y)
{
    four_bits a, b, r;
    memcpy(&a, &x, sizeof a);
    memcpy(&b, &y, sizeof b);
    r = b ^ ((a ^ b) & (x > y));
    memcpy(&x, &r, sizeof x);
    return x;
}

#define LANES 4
#define TARGET
#define NAME(x) x##_4
#define LARGER(x, y) larger(x, y)
#include "tensor_core_lanes.h"
#if defined(__x86_64__)
#define LANES 8
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_8
#define LARGER(x, y) _mm256_max_ps(x, y)
#include "tensor_core_lanes.h"
#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define NAME(x) x##_16
#define LARGER(x, y) _mm512_max_ps(x, y)
#include "tensor_core_lanes.h"
#endif

/* The widest vectors that this processor has and the matrix fills. */
static void fused_all(const struct emu_tc_row *row, size_t m, size_t n, const void *a, const void *b, void *d)
{
#if defined(__x86_64__)
    enum emu_vectors vectors = emu_vectors();
    if (n >= 16 && vectors >= EMU_VECTORS_AVX512)
        fused_16(row, m, n, a, b, d);
    else if (n >= 8 && vectors >= EMU_VECTORS_AVX2)
        fused_8(row, m, n, a, b, d);
    else
#endif
        fused_4(row, m, n, a, b, d);
}

#else
#define fused_all fused_all_plain
#endif

/* ---- the other ways */

/* fp8 as half: exact, and normal where fp8 was subnormal, which changes the exponents of products. */
static inline uint16_t half_of(enum emu_tc_type type, uint8_t bits)
{
    /* m * 2^-9, the subnormal numbers of e4m3 */
    static const uint16_t small[8] = {0, 0x1800, 0x1c00, 0x1e00, 0x2000, 0x2100, 0x2200, 0x2300};
    unsigned sign = (bits & 0x80u) << 8, rest = bits & 0x7fu;
    if (type == EMU_TC_E5M2)
        return (uint16_t)(bits << 8);
    if (rest == 0x7f)
        return F16_NAN;
    /* half's exponent has a bias of 15, that of e4m3 one of 7 */
    return (uint16_t)(sign | (rest < 8 ? small[rest] : (rest << 7) + (8u << 10)));
}

static float add_float(float x, float y)
{
    return x + y;
}

/* t + c, IEEE, to nearest even; half as an integer of units of 2^-24. */
static uint32_t add_last(enum emu_tc_type type, uint32_t t_bits, uint32_t c_bits)
{
    if (type == EMU_TC_F32) {
        float t, c;
        memcpy(&t, &t_bits, sizeof t);
        memcpy(&c, &c_bits, sizeof c);
        t = add_float(t, c);
        memcpy(&t_bits, &t, sizeof t);
        return t != t ? F32_NAN : t_bits;
    }
    struct number t = take_apart(type, t_bits), c = take_apart(type, c_bits);
    if (t.what == NOT_A_NUMBER || c.what == NOT_A_NUMBER ||
        (t.what == INFINITE && c.what == INFINITE && t.negative != c.negative))
        return F16_NAN;
    if (t.what == INFINITE)
        return t_bits;
    if (c.what == INFINITE)
        return c_bits;
    int64_t x = t.significand << (t.exponent + 14), y = c.significand << (c.exponent + 14);
    int64_t sum = (t.negative ? -x : x) + (c.negative ? -y : y);
    uint32_t bits = round_sum(EMU_TC_F16_RNE, sum, -24);
    return !sum && t.negative && c.negative ? 0x8000u : bits;
}

typedef void fused_function(const struct emu_tc_row *row, size_t m, size_t n, const void *a, const void *b, void *d);

/* The two halves of k are f16 instructions of half the depth. */
static void halves(const struct emu_tc_row *row, size_t m, size_t n, const uint8_t *a, const uint8_t *b, void *d,
                   fused_function *fused)
{
    enum { TILE = 16 };
    uint16_t x[TILE * EMU_TC_MAX_K / 2], y[TILE * EMU_TC_MAX_K / 2];
    uint32_t t[TILE * TILE];
    unsigned bytes = formats[row->d].bytes, k = row->k / 2;
    struct emu_tc_row part = *row;
    part.a = part.b = EMU_TC_F16;
    part.k = k;
    for (size_t i = 0; i < m; i += TILE)
        for (size_t j = 0; j < n; j += TILE) {
            size_t rows = m - i < TILE ? m - i : TILE, columns = n - j < TILE ? n - j : TILE;
            memset(t, 0, sizeof t);
            for (unsigned second = 0; second < 2; second++) {
                for (unsigned l = 0; l < k; l++) {
                    unsigned from = (l / 2) * 4 + second * 2 + l % 2;
                    for (size_t r = 0; r < rows; r++)
                        x[r * k + l] = half_of(row->a, a[(i + r) * row->k + from]);
                    for (size_t r = 0; r < columns; r++)
                        y[r * k + l] = half_of(row->b, b[(j + r) * row->k + from]);
                }
                fused(&part, rows, columns, x, y, t);
            }
            for (size_t r = 0; r < rows; r++)
                for (size_t q = 0; q < columns; q++) {
                    size_t at = (i + r) * n + j + q;
                    store(d, bytes, at, add_last(row->d, load(t, bytes, r * columns + q), load(d, bytes, at)));
                }
        }
}

static void integer(const struct emu_tc_row *row, size_t m, size_t n, const uint8_t *a, const uint8_t *b, int32_t *d)
{
    enum { BLOCK = 64 };
    int16_t x[EMU_TC_MAX_K], y[BLOCK * EMU_TC_MAX_K];
    size_t k = row->k;
    for (size_t j = 0; j < n; j += BLOCK) {
        size_t columns = n - j < BLOCK ? n - j : BLOCK;
        for (size_t l = 0; l < columns * k; l++)
            y[l] = row->b == EMU_TC_S8 ? (int8_t)b[j * k + l] : b[j * k + l];
        for (size_t i = 0; i < m; i++) {
            for (size_t l = 0; l < k; l++)
                x[l] = row->a == EMU_TC_S8 ? (int8_t)a[i * k + l] : a[i * k + l];
            for (size_t q = 0; q < columns; q++) {
                const int16_t *column = y + q * k;
                int32_t dot = 0;
                for (size_t half = 0; half < k; half += 16) /* 16 or 32: a constant, for the vectoriser */
                    for (size_t l = 0; l < 16; l++)
                        dot += x[half + l] * column[half + l];
                int64_t sum = (int64_t)dot + d[i * n + j + q];
                if (row->saturate)
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                uint32_t low = (uint32_t)(uint64_t)sum;
                memcpy(&d[i * n + j + q], &low, sizeof low);
            }
        }
    }
}

static double quiet(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits |= (uint64_t)1 << 51;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void chain(const struct emu_tc_row *row, size_t m, size_t n, const double *a, const double *b, double *d)
{
    static const uint64_t made = (uint64_t)0xfff8 << 48; /* the NaN of an invalid operation */
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = d[i * n + j];
            for (size_t l = 0; l < row->k; l++) {
                double x = a[i * row->k + l], y = b[j * row->k + l], next = fma(x, y, sum);
                if (next != next) {
                    if (y != y)
                        next = quiet(y);
                    else if (sum != sum)
                        next = quiet(sum);
                    else if (x != x)
                        next = quiet(x);
                    else
                        memcpy(&next, &made, sizeof next);
                }
                sum = next;
            }
            d[i * n + j] = sum;
        }
}

static void accumulate(enum emu_tc_kind kind, size_t m, size_t n, const void *a, const void *b, void *d,
                       fused_function *fused)
{
    const struct emu_tc_row *row = &emu_tc_rows[kind];
    switch (row->way) {
    case EMU_TC_FUSED:
        fused(row, m, n, a, b, d);
        break;
    case EMU_TC_HALVES:
        halves(row, m, n, a, b, d, fused);
        break;
    case EMU_TC_INTEGER:
        integer(row, m, n, a, b, d);
        break;
    case EMU_TC_CHAIN:
        chain(row, m, n, a, b, d);
        break;
    }
}

void emu_tc_accumulate(enum emu_tc_kind kind, size_t m, size_t n, const void *a, const void *b, void *d)
{
    accumulate(kind, m, n, a, b, d, fused_all);
}

void emu_tc_accumulate_plain(enum emu_tc_kind kind, size_t m, size_t n, const void *a, const void *b, void *d)
{
    accumulate(kind, m, n, a, b, d, fused_all_plain);
}
