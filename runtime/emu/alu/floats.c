#include "floats.h"

uint32_t emu_to_small(double x, unsigned exponent, unsigned mantissa, uint64_t flags, uint32_t nan)
{
    uint64_t bits = emu_bits64(x);
    uint32_t sign = (uint32_t)(bits >> 63) << (exponent + mantissa);
    if (x != x)
        return nan;
    int bias = (1 << (exponent - 1)) - 1;
    int top = exponent == 4 ? 15 : (1 << exponent) - 2; /* of finite numbers, biased */
    uint32_t largest = ((uint32_t)top << mantissa) | (exponent == 4 ? 6u : (1u << mantissa) - 1);
    uint32_t infinite = (flags & EMU_SATFINITE) || exponent == 4 ? largest : ((1u << exponent) - 1) << mantissa;
    if (flags & EMU_RELU && (bits >> 63))
        return 0;
    if (x - x != 0)
        return sign | infinite;
    int e = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | (e > -1023 ? UINT64_C(1) << 52 : 0);
    int shift = 52 - (int)mantissa; /* bits that fall off */
    int lowest = 1 - bias;
    if (e < lowest)
        shift += lowest - e;
    if (shift > 60) { /* below half of the smallest: keep only that something was there */
        m = m != 0;
        shift = 60;
    }
    uint64_t keep = m >> shift, rest = m & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    int negative = (int)(bits >> 63), up = 0;
    switch (flags & EMU_ROUNDING) {
    case EMU_RZ:
        break;
    case EMU_RM:
        up = negative && rest;
        break;
    case EMU_RP:
        up = !negative && rest;
        break;
    default:
        up = rest > half || (rest == half && (keep & 1));
        break;
    }
    keep += (uint64_t)up;
    /* keep holds the implicit bit, unless the result is subnormal */
    uint64_t result = e < lowest ? keep : keep + ((uint64_t)(e + bias - 1) << mantissa);
    if (result > largest) {
        int away = (flags & EMU_ROUNDING) == EMU_RN || (flags & EMU_ROUNDING) == (negative ? EMU_RM : EMU_RP);
        return sign | (away ? infinite : largest);
    }
    return sign | (uint32_t)result;
}
