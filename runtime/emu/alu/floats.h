/* Floats as the GPU has them: flushed subnormals, saturation, one NaN, other roundings, and the small formats. */
#ifndef EMU_FLOATS_H
#define EMU_FLOATS_H

#include <fenv.h>
#include <math.h>
#include <stdint.h>

static inline float emu_float(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } v = {.u = bits};
    return v.f;
}

static inline uint32_t emu_bits(float value)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = value};
    return v.u;
}

static inline double emu_double(uint64_t bits)
{
    union {
        uint64_t u;
        double f;
    } v = {.u = bits};
    return v.f;
}

static inline uint64_t emu_bits64(double value)
{
    union {
        double f;
        uint64_t u;
    } v = {.f = value};
    return v.u;
}

#define EMU_NAN32 UINT32_C(0x7fffffff)         /* what an operation that has no result gives */
#define EMU_NAN64 UINT64_C(0xfff8000000000000) /* of operands that are none: f64 hands NaNs on (emu_finish64) */
#define EMU_NAN16 UINT32_C(0x7fff)

/* Flags of handlers, in op->imm. */
enum {
    EMU_FTZ = 1,
    EMU_SAT = 2,
    EMU_RELU = 4,
    EMU_NAN = 8,      /* min, max: a NaN gives NaN */
    EMU_XORSIGN = 16, /* min, max of magnitudes with the product's sign */
    EMU_ABS = 32,
    EMU_SATFINITE = 64,
    EMU_RN = 0, /* rounding: two bits from here on */
    EMU_RZ = 256,
    EMU_RM = 512,
    EMU_RP = 768,
    EMU_ROUNDING = 768
};

static inline int emu_fe(uint64_t flags)
{
    switch (flags & EMU_ROUNDING) {
    case EMU_RZ:
        return FE_TOWARDZERO;
    case EMU_RM:
        return FE_DOWNWARD;
    case EMU_RP:
        return FE_UPWARD;
    default:
        return FE_TONEAREST;
    }
}

static inline uint32_t emu_flush32(uint32_t x)
{
    return x & 0x7f800000 ? x : x & 0x80000000;
}

static inline uint32_t emu_canonical32(uint32_t x)
{
    return (x & 0x7fffffff) > 0x7f800000 ? EMU_NAN32 : x;
}

static inline int emu_is_nan64(uint64_t x)
{
    return (x & INT64_MAX) > UINT64_C(0x7ff0000000000000);
}

/* An f64 NaN keeps its sign and payload and becomes quiet. */
static inline uint64_t emu_quiet64(uint64_t x)
{
    return emu_is_nan64(x) ? x | UINT64_C(0x0008000000000000) : x;
}

/* Result of an f64 operation. A NaN is the first of these operands that is one, made quiet, or EMU_NAN64. */
static inline uint64_t emu_finish64(uint64_t x, uint64_t first, uint64_t second)
{
    if (!emu_is_nan64(x))
        return x;
    return emu_is_nan64(first) ? emu_quiet64(first) : emu_is_nan64(second) ? emu_quiet64(second) : EMU_NAN64;
}

/* Result of an f32 operation, by flags: NaN to the one, flush, saturate to [0, 1] (NaN gives 0). */
static inline uint32_t emu_finish32(uint32_t x, uint64_t flags)
{
    x = emu_canonical32(x);
    if (flags & EMU_FTZ)
        x = emu_flush32(x);
    if (flags & EMU_SAT) {
        float f = emu_float(x);
        x = f > 1.0f ? 0x3f800000 : f > 0.0f ? x : 0;
    }
    return x;
}

/* ---- Small formats ----------------------------------------------------------------------------------------------- */

/* A format by its exponent and mantissa bits: fp16 5,10; bf16 8,7; e5m2 5,2; e4m3 4,3 (no infinity, one NaN). */
static inline double emu_from_bits(uint32_t x, unsigned exponent, unsigned mantissa)
{
    int bias = (1 << (exponent - 1)) - 1;
    uint32_t e = x >> mantissa & ((1u << exponent) - 1), m = x & ((1u << mantissa) - 1);
    double sign = x >> (exponent + mantissa) & 1 ? -1.0 : 1.0;
    if (exponent == 4) { /* e4m3 */
        if (e == 15 && m == 7)
            return NAN;
    } else if (e == (1u << exponent) - 1) {
        return m ? NAN : sign * INFINITY;
    }
    if (!e)
        return sign * ldexp((double)m, 1 - bias - (int)mantissa);
    return sign * ldexp((double)(m | 1u << mantissa), (int)e - bias - (int)mantissa);
}

static inline float emu_f16(uint32_t x) /* of the low half */
{
    uint32_t sign = (x & 0x8000) << 16, magnitude = x & 0x7fff;
    if (magnitude >= 0x7c00)
        return emu_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400)
        return emu_float(sign | ((magnitude << 13) + 0x38000000));
    float f = (float)magnitude * 0x1p-24f;
    return sign ? -f : f;
}

static inline float emu_bf16(uint32_t x) /* of the low half */
{
    return emu_float(x << 16);
}

/* A double, or a value that holds one rounded to odd with more bits than the target has, to a smaller format. Overflow
   gives infinity, or with satfinite (and for e4m3 always: it has none) the largest finite value. NaN gives nan. */
uint32_t emu_to_small(double x, unsigned exponent, unsigned mantissa, uint64_t flags, uint32_t nan);

/* Quick ways for round to nearest even. */
static inline uint32_t emu_to_bf16(uint32_t x)
{
    if ((x & 0x7fffffff) > 0x7f800000)
        return EMU_NAN16;
    return (x + 0x7fff + (x >> 16 & 1)) >> 16;
}

static inline uint32_t emu_to_f16(uint32_t x)
{
    uint32_t sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return EMU_NAN16;
    if (magnitude >= 0x47800000) /* 2^16: above what rounds to a finite value */
        return sign | 0x7c00;
    if (magnitude >= 0x38800000) { /* normal */
        uint32_t r = magnitude - 0x38000000;
        return sign | (r + 0xfff + (r >> 13 & 1)) >> 13;
    }
    /* Subnormal: adding 1/2 leaves the value, rounded, in the low bits. */
    return sign | (emu_bits(emu_float(magnitude) + 0.5f) - 0x3f000000);
}

/* The sum of x and y, in double, with the low bit of the result set if it is not exact: rounding that to a format with
   at least two bits less gives what rounding the exact sum would. */
static inline double emu_add_odd(double x, double y)
{
    double sum = x + y;
    double back = sum - x;
    double rest = (x - (sum - back)) + (y - back);
    uint64_t bits = emu_bits64(sum);
    /* rest is NaN where the sum is no number: then nothing is to do */
    if (rest != 0 && rest == rest && !(bits & 1))
        bits += ((rest > 0) == (sum > 0)) ? 1 : UINT64_MAX;
    return emu_double(bits);
}

#endif
