// The element operations of bulk and tensor reductions, red.async among them (tma.h).
#include <math.h>
#include <string.h>

#include "tma.h"

unsigned emu_reduce_bytes(enum emu_reduce_type type)
{
    static const uint8_t bytes[EMU_REDUCE_TYPE_COUNT] = {
        [EMU_REDUCE_B32] = 4, [EMU_REDUCE_B64] = 8,     [EMU_REDUCE_U32] = 4, [EMU_REDUCE_S32] = 4,
        [EMU_REDUCE_U64] = 8, [EMU_REDUCE_S64] = 8,     [EMU_REDUCE_F16] = 2, [EMU_REDUCE_BF16] = 2,
        [EMU_REDUCE_F32] = 4, [EMU_REDUCE_F32_FTZ] = 4, [EMU_REDUCE_F64] = 8,
    };
    return bytes[type];
}

#define TYPE(t) (1u << EMU_REDUCE_##t)

int emu_reduce_valid(enum emu_reduce op, enum emu_reduce_type type)
{
    static const unsigned types[EMU_REDUCE_COUNT] = {
        [EMU_REDUCE_STORE] = ~0u,
        [EMU_REDUCE_ADD] = TYPE(U32) | TYPE(S32) | TYPE(U64) | TYPE(S64) | TYPE(F16) | TYPE(BF16) | TYPE(F32) |
                           TYPE(F32_FTZ) | TYPE(F64),
        [EMU_REDUCE_MIN] = TYPE(U32) | TYPE(S32) | TYPE(U64) | TYPE(S64) | TYPE(F16) | TYPE(BF16),
        [EMU_REDUCE_MAX] = TYPE(U32) | TYPE(S32) | TYPE(U64) | TYPE(S64) | TYPE(F16) | TYPE(BF16),
        [EMU_REDUCE_INC] = TYPE(U32),
        [EMU_REDUCE_DEC] = TYPE(U32),
        [EMU_REDUCE_AND] = TYPE(B32) | TYPE(B64),
        [EMU_REDUCE_OR] = TYPE(B32) | TYPE(B64),
        [EMU_REDUCE_XOR] = TYPE(B32) | TYPE(B64),
    };
    return (unsigned)op < EMU_REDUCE_COUNT && types[op] >> type & 1;
}

// A 16-bit float with `mantissa` bits of fraction (10: f16, 7: bf16) as a double; exact.
static double widen(uint16_t bits, int mantissa)
{
    int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1, most = (1 << exponent_bits) - 1;
    int exponent = bits >> mantissa & most, fraction = bits & ((1 << mantissa) - 1);
    double value = exponent == most ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent       ? ldexp((1 << mantissa) + fraction, exponent - bias - mantissa)
                                    : ldexp(fraction, 1 - bias - mantissa);
    return bits >> 15 ? -value : value;
}

// The nearest 16-bit float, ties to even. NaN is 0x7fff.
static uint16_t narrow(double value, int mantissa)
{
    int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1, most = (1 << exponent_bits) - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinite = (uint16_t)(most << mantissa);
    int exponent;
    double magnitude = fabs(value);
    if (isnan(value))
        return 0x7fff;
    if (isinf(value))
        return sign | infinite;
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &exponent); // magnitude = f 2^exponent, f in [1/2, 1)
    int unit = exponent - 1 - mantissa;
    if (unit < 1 - bias - mantissa)
        unit = 1 - bias - mantissa;
    double scaled = ldexp(magnitude, -unit), whole = floor(scaled), rest = scaled - whole;
    if (rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1))
        whole += 1;
    // whole 2^unit: a carry moves into the exponent by itself
    int64_t code = (int64_t)whole + ((int64_t)(unit - (1 - bias - mantissa)) << mantissa);
    return sign | (code >= infinite ? infinite : (uint16_t)code);
}

static uint16_t half_op(enum emu_reduce op, uint16_t a, uint16_t b, int mantissa)
{
    double x = widen(a, mantissa), y = widen(b, mantissa);
    if (op == EMU_REDUCE_ADD)
        return narrow(x + y, mantissa);
    if (isnan(x) || isnan(y))
        return !isnan(x) ? a : !isnan(y) ? b : 0x7fff;
    if (x == y) // +0 is more than -0
        return signbit(x) ? (op == EMU_REDUCE_MIN ? a : b) : (op == EMU_REDUCE_MIN ? b : a);
    return (x < y) == (op == EMU_REDUCE_MIN) ? a : b;
}

static float flush(float value)
{
    return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

static uint64_t integer_op(enum emu_reduce op, uint64_t a, uint64_t b, int below)
{
    switch (op) {
    case EMU_REDUCE_ADD:
        return a + b;
    case EMU_REDUCE_MIN:
        return below ? a : b;
    case EMU_REDUCE_MAX:
        return below ? b : a;
    case EMU_REDUCE_INC:
        return a >= b ? 0 : a + 1;
    case EMU_REDUCE_DEC:
        return a == 0 || a > b ? b : a - 1;
    case EMU_REDUCE_AND:
        return a & b;
    case EMU_REDUCE_OR:
        return a | b;
    case EMU_REDUCE_XOR:
        return a ^ b;
    default:
        return b;
    }
}

void emu_reduce_apply(enum emu_reduce op, enum emu_reduce_type type, void *into, const void *from, size_t count)
{
    unsigned bytes = emu_reduce_bytes(type);
    if (op == EMU_REDUCE_STORE) {
        memcpy(into, from, count * bytes);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = (uint8_t *)into + i * bytes;
        const uint8_t *with = (const uint8_t *)from + i * bytes;
        if (bytes == 2) {
            uint16_t a, b;
            memcpy(&a, at, 2);
            memcpy(&b, with, 2);
            a = half_op(op, a, b, type == EMU_REDUCE_F16 ? 10 : 7);
            memcpy(at, &a, 2);
        } else if (type == EMU_REDUCE_F32 || type == EMU_REDUCE_F32_FTZ) {
            float a, b;
            memcpy(&a, at, 4);
            memcpy(&b, with, 4);
            if (type == EMU_REDUCE_F32_FTZ)
                a = flush(flush(a) + flush(b));
            else
                a = a + b;
            if (isnan(a))
                memcpy(at, &(uint32_t){0x7fffffff}, 4);
            else
                memcpy(at, &a, 4);
        } else if (type == EMU_REDUCE_F64) {
            double a, b;
            memcpy(&a, at, 8);
            memcpy(&b, with, 8);
            double sum = a + b; /* a NaN stays as it is, quiet or not */
            memcpy(at, isnan(b) ? &b : isnan(a) ? &a : &sum, 8);
        } else if (bytes == 4) {
            uint32_t a, b;
            memcpy(&a, at, 4);
            memcpy(&b, with, 4);
            a = (uint32_t)integer_op(op, a, b, type == EMU_REDUCE_S32 ? (int32_t)a < (int32_t)b : a < b);
            memcpy(at, &a, 4);
        } else {
            uint64_t a, b;
            memcpy(&a, at, 8);
            memcpy(&b, with, 8);
            a = integer_op(op, a, b, type == EMU_REDUCE_S64 ? (int64_t)a < (int64_t)b : a < b);
            memcpy(at, &a, 8);
        }
    }
}
