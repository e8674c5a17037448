#include "dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const struct tw_dtype_info dtype_table[TW_DTYPE_COUNT] = {
#define X(ID, name, bits, kind, cuda_type, c_type, tensormap, dlpack_code)                                             \
    {name, bits, TW_KIND_##kind, cuda_type, c_type, tensormap, dlpack_code},
#include "dtypes.def"
#undef X
};

const struct tw_dtype_info *tw_dtype_info(enum tw_dtype dtype)
{
    return &dtype_table[dtype];
}

enum tw_dtype tw_dtype_from_name(const char *name)
{
    for (int i = 0; name && i < TW_DTYPE_COUNT; i++)
        if (strcmp(dtype_table[i].name, name) == 0)
            return (enum tw_dtype)i;
    return TW_DTYPE_COUNT;
}

enum tw_dtype tw_dtype_from_dlpack(int code, int bits)
{
    for (int i = 0; i < TW_DTYPE_COUNT; i++)
        if (dtype_table[i].dlpack_code == code && (int)dtype_table[i].bits == bits)
            return (enum tw_dtype)i;
    return TW_DTYPE_COUNT;
}

const char *tw_dtype_name(enum tw_dtype dtype)
{
    return (unsigned)dtype < TW_DTYPE_COUNT ? dtype_table[dtype].name : "?";
}

size_t tw_dtype_bytes(enum tw_dtype dtype)
{
    return dtype_table[dtype].bits / 8;
}

// A binary floating-point format of at most 16 bits. Codes of magnitudes grow with the value:
//
//      sign | exponent + bias | mantissa        code 0 is zero, exponent field 0 holds the subnormals
struct small_float {
    int mantissa_bits;
    int bias;
    uint32_t sign;     // the sign bit
    uint32_t largest;  // code of the largest finite magnitude
    uint32_t overflow; // code that a magnitude past it becomes
    uint32_t infinity; // code of infinity, 0 if the format has none
    uint32_t nan;      // code that NaN becomes
};

static const struct small_float bf16 = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7f80, 0x7fff};
static const struct small_float fp16 = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7c00, 0x7fff};
static const struct small_float e4m3 = {3, 7, 0x80, 0x7e, 0x7e, 0, 0x7f};
static const struct small_float e5m2 = {2, 15, 0x80, 0x7b, 0x7b, 0x7c, 0x7f};

static double widen(const struct small_float *f, uint32_t code)
{
    uint32_t magnitude = code & (f->sign - 1);
    uint32_t exponent = magnitude >> f->mantissa_bits;
    uint32_t mantissa = magnitude & ((1u << f->mantissa_bits) - 1);
    double value;
    if (magnitude > f->largest) {
        value = f->infinity && magnitude == f->infinity ? (double)INFINITY : (double)NAN;
    } else if (exponent == 0) {
        value = ldexp((double)mantissa, 1 - f->bias - f->mantissa_bits);
    } else {
        uint64_t bits = (uint64_t)((int)exponent - f->bias + 1023) << 52 | (uint64_t)mantissa
                                                                               << (52 - f->mantissa_bits);
        memcpy(&value, &bits, sizeof value);
    }
    return code & f->sign ? -value : value;
}

// sig / 2^shift, rounded to nearest even.
static uint64_t shift_round(uint64_t sig, int shift)
{
    if (shift > 60)
        return 0;
    uint64_t quotient = sig >> shift, rest = sig & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    return quotient + (rest > half || (rest == half && (quotient & 1)));
}

static uint32_t narrow(const struct small_float *f, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 63 ? f->sign : 0;
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t sig = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff && sig)
        return f->nan;
    if (exponent == 0x7ff)
        return sign | f->overflow;
    if (exponent == 0) // a subnormal double is far below half of the smallest value of any format here
        return sign;
    sig |= UINT64_C(1) << 52;
    exponent -= 1023;

    // A normal result has exponent field 1 + step; adding the significand, implicit bit included, to step << mantissa
    // gives its code, and a carry out of the rounding walks into the exponent by itself.
    int smallest = 1 - f->bias, step = exponent > smallest ? exponent - smallest : 0;
    int below = exponent < smallest ? smallest - exponent : 0;
    uint64_t code = ((uint64_t)step << f->mantissa_bits) + shift_round(sig, 52 - f->mantissa_bits + below);
    return sign | (code > f->largest ? f->overflow : (uint32_t)code);
}

static float round_tf32(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value) || isinf(value))
        return (float)value;
    // Round to 10 mantissa bits while still a double, so that there is one rounding: subnormal floats, whose quantum is
    // fixed at 2^-136, through an integer count of quanta; the rest on the bits of the double.
    if (fabs(value) < 0x1p-126)
        return (float)(nearbyint(value * 0x1p136) * 0x1p-136);
    uint64_t rounded = shift_round(bits & ~(UINT64_C(1) << 63), 42) << 42 | (bits & UINT64_C(1) << 63);
    memcpy(&value, &rounded, sizeof value);
    return (float)value;
}

// The integer nearest to value (ties to even) in [low, high]; both bounds are exact as doubles or one past the range.
static double clamp_integer(double value, double low, double high)
{
    if (isnan(value))
        return 0;
    value = nearbyint(value);
    return value < low ? low : value > high ? high : value;
}

#define LOAD(type)                                                                                                     \
    do {                                                                                                               \
        type v_;                                                                                                       \
        memcpy(&v_, element, sizeof v_);                                                                               \
        return (double)v_;                                                                                             \
    } while (0)

// Rows whose kind is an integer's or a boolean's need no more than their width.
static double load_integer(const struct tw_dtype_info *row, const void *element)
{
    bool is_signed = row->kind == TW_KIND_INT;
    if (row->kind == TW_KIND_BOOL)
        return *(const uint8_t *)element != 0;
    switch (row->bits) {
    case 8:
        return is_signed ? (double)*(const int8_t *)element : (double)*(const uint8_t *)element;
    case 16:
        if (is_signed)
            LOAD(int16_t);
        LOAD(uint16_t);
    case 32:
        if (is_signed)
            LOAD(int32_t);
        LOAD(uint32_t);
    default:
        if (is_signed)
            LOAD(int64_t);
        LOAD(uint64_t);
    }
}

double tw_dtype_load(enum tw_dtype dtype, const void *element)
{
    uint16_t word;
    switch (dtype) {
    case TW_BF16:
        memcpy(&word, element, sizeof word);
        return widen(&bf16, word);
    case TW_FP16:
        memcpy(&word, element, sizeof word);
        return widen(&fp16, word);
    case TW_FP8_E4M3:
        return widen(&e4m3, *(const uint8_t *)element);
    case TW_FP8_E5M2:
        return widen(&e5m2, *(const uint8_t *)element);
    case TW_FP32:
    case TW_TF32:
        LOAD(float);
    case TW_FP64:
        LOAD(double);
    default:
        return dtype < TW_DTYPE_COUNT ? load_integer(&dtype_table[dtype], element) : (double)NAN;
    }
}

#define STORE(type, v)                                                                                                 \
    do {                                                                                                               \
        type v_ = (type)(v);                                                                                           \
        memcpy(element, &v_, sizeof v_);                                                                               \
    } while (0)

static void store_integer(const struct tw_dtype_info *row, void *element, double value)
{
    bool is_signed = row->kind == TW_KIND_INT;
    int bits = (int)row->bits;
    double past = 2.0 * (double)(UINT64_C(1) << (is_signed ? bits - 2 : bits - 1)); // one more than the largest
    if (row->kind == TW_KIND_BOOL) {
        STORE(uint8_t, value != 0);
        return;
    }
    value = clamp_integer(value, is_signed ? -past : 0, bits < 64 ? past - 1 : past);
    uint64_t whole = value >= past ? (is_signed ? INT64_MAX : UINT64_MAX)
                     : value < 0   ? (uint64_t)(int64_t)value
                                   : (uint64_t)value;
    switch (bits) {
    case 8:
        STORE(uint8_t, whole);
        break;
    case 16:
        STORE(uint16_t, whole);
        break;
    case 32:
        STORE(uint32_t, whole);
        break;
    default:
        STORE(uint64_t, whole);
        break;
    }
}

void tw_dtype_store(enum tw_dtype dtype, void *element, double value)
{
    switch (dtype) {
    case TW_BF16:
        STORE(uint16_t, narrow(&bf16, value));
        break;
    case TW_FP16:
        STORE(uint16_t, narrow(&fp16, value));
        break;
    case TW_FP8_E4M3:
        STORE(uint8_t, narrow(&e4m3, value));
        break;
    case TW_FP8_E5M2:
        STORE(uint8_t, narrow(&e5m2, value));
        break;
    case TW_FP32:
        STORE(float, value);
        break;
    case TW_TF32:
        STORE(float, round_tf32(value));
        break;
    case TW_FP64:
        STORE(double, value);
        break;
    default:
        if (dtype < TW_DTYPE_COUNT)
            store_integer(&dtype_table[dtype], element, value);
        break;
    }
}
