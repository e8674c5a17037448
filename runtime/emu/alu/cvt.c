/* Conversions. The common ones have a loop of their own; the rest goes through 64-bit integers or double, one lane at a
   time, driven by a struct emu_cvt. */
#include "handlers.h"
#include "floats.h"

/* ---- Integer to integer ------------------------------------------------------------------------------------------ */

EMU_UNARY(u32_to_64, uint64_t, emu_put64, uint32_t, EMU_W, x)
EMU_UNARY(s32_to_64, uint64_t, emu_put64, uint32_t, EMU_W, (uint64_t)(int64_t)(int32_t)x)
EMU_UNARY(s16_to_64, uint64_t, emu_put64, uint32_t, EMU_W, (uint64_t)(int64_t)(int16_t)x)
EMU_UNARY(low_32, uint32_t, emu_put32, uint64_t, EMU_L, x)
EMU_UNARY(low_16_of_64, uint32_t, emu_put32, uint64_t, EMU_L, x & 0xffff)
EMU_UNARY32(same_32, x)
EMU_UNARY64(same_64, x)
EMU_UNARY32(low_16, x & 0xffff)
EMU_UNARY32(s16_to_32, (uint32_t)(int32_t)(int16_t)x)
EMU_UNARY32(low_8, x & 0xff)
EMU_UNARY32(s8_to_32, (uint32_t)(int32_t)(int8_t)x)

static inline uint64_t extend(uint64_t x, unsigned bits, int is_signed)
{
    unsigned away = 64 - bits;
    x <<= away;
    return is_signed ? (uint64_t)((int64_t)x >> away) : x >> away;
}

static inline int64_t least_of(unsigned bits)
{
    return (int64_t)(UINT64_MAX << (bits - 1));
}

static inline uint64_t most_of(unsigned bits, int is_signed)
{
    return is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
}

static uint64_t saturate(uint64_t x, const struct emu_cvt *cvt)
{
    uint64_t most = most_of(cvt->to_bits, cvt->to_signed);
    if (!cvt->from_signed || (int64_t)x >= 0)
        return x > most ? most : x;
    if (!cvt->to_signed)
        return 0;
    return (int64_t)x < least_of(cvt->to_bits) ? (uint64_t)least_of(cvt->to_bits) : x;
}

/* ---- Lanes in and out -------------------------------------------------------------------------------------------- */

static void fetch(struct emu_warp *warp, uint32_t at, int wide, uint64_t *x)
{
    if (wide) {
        memcpy(x, EMU_L(at), 2 * EMU_SLOT);
    } else {
        const uint32_t *a = EMU_W(at);
        EMU_EACH x[i] = a[i];
    }
}

static void store(struct emu_warp *warp, uint32_t at, unsigned bits, const uint64_t *x)
{
    if (bits == 64) {
        emu_put64(warp, at, x);
        return;
    }
    uint32_t r[EMU_LANES];
    uint32_t keep = bits == 16 ? 0xffff : UINT32_MAX;
    EMU_EACH r[i] = (uint32_t)x[i] & keep;
    emu_put32(warp, at, r);
}

EMU_HANDLER(int_to_int)
{
    const struct emu_cvt *cvt = op->extra;
    uint64_t x[EMU_LANES];
    fetch(warp, op->a, cvt->from_wide, x);
    EMU_EACH
    {
        uint64_t v = extend(x[i], cvt->from_bits, cvt->from_signed);
        if (cvt->flags & EMU_SAT)
            v = saturate(v, cvt);
        x[i] = extend(v, cvt->to_bits, cvt->to_signed);
    }
    store(warp, op->d, cvt->register_bits, x);
    return op + 1;
}

/* ---- Floats ------------------------------------------------------------------------------------------------------ */

static double from_float(uint64_t x, unsigned type, uint64_t flags)
{
    switch (type) {
    case PTX_F16:
        return (double)emu_f16((uint32_t)x & 0xffff);
    case PTX_BF16:
        return (double)emu_bf16((uint32_t)x & 0xffff);
    case PTX_F32:
        return (double)emu_float(flags & EMU_FTZ ? emu_canonical32(emu_flush32((uint32_t)x)) : (uint32_t)x);
    case PTX_E4M3:
        return emu_from_bits((uint32_t)x & 0xff, 4, 3);
    case PTX_E5M2:
        return emu_from_bits((uint32_t)x & 0xff, 5, 2);
    default:
        return emu_double(x);
    }
}

static double clamp_unit(double x)
{
    return x > 1 ? 1 : x > 0 ? x : 0;
}

/* To any float type; x is exact, or rounded to odd. */
static uint64_t to_float(double x, unsigned type, uint64_t flags)
{
    if (flags & EMU_SAT)
        x = clamp_unit(x);
    switch (type) {
    case PTX_F16:
        return emu_to_small(x, 5, 10, flags, EMU_NAN16);
    case PTX_BF16:
        return emu_to_small(x, 8, 7, flags, EMU_NAN16);
    case PTX_E4M3:
        return emu_to_small(x, 4, 3, flags, 0x7f);
    case PTX_E5M2:
        return emu_to_small(x, 5, 2, flags, 0x7f);
    case PTX_F32: {
        if (x != x)
            return EMU_NAN32;
        uint32_t r = emu_to_small(x, 8, 23, flags, EMU_NAN32);
        return flags & EMU_FTZ ? emu_flush32(r) : r;
    }
    default:
        return emu_quiet64(emu_bits64(x));
    }
}

static double to_integral(double x, uint64_t flags)
{
    switch (flags & EMU_ROUNDING) {
    case EMU_RZ:
        return trunc(x);
    case EMU_RM:
        return floor(x);
    case EMU_RP:
        return ceil(x);
    default:
        return nearbyint(x);
    }
}

/* An f64 NaN in a smaller format: sign, quiet, the top of its payload. */
static inline uint32_t nan_of_f64(uint64_t x, unsigned exponent, unsigned mantissa)
{
    uint32_t sign = (uint32_t)(x >> 63) << (exponent + mantissa);
    uint32_t top = ((1u << exponent) - 1) << mantissa, payload = (uint32_t)(emu_quiet64(x) << 12 >> (64 - mantissa));
    return sign | top | payload;
}

EMU_HANDLER(float_to_float)
{
    const struct emu_cvt *cvt = op->extra;
    uint64_t x[EMU_LANES];
    fetch(warp, op->a, cvt->from_wide, x);
    /* to f16, .ftz flushes nothing: f16 has room for no f32 that it would */
    uint64_t from_flags = cvt->to == PTX_F16 ? cvt->flags & ~(uint64_t)EMU_FTZ : cvt->flags;
    EMU_EACH
    {
        if (cvt->from == PTX_F64 && cvt->to != PTX_F64 && emu_is_nan64(x[i]) && !(cvt->flags & EMU_SAT)) {
            x[i] = cvt->to == PTX_F32    ? nan_of_f64(x[i], 8, 23)
                   : cvt->to == PTX_BF16 ? nan_of_f64(x[i], 8, 7)
                                         : nan_of_f64(x[i], 5, 10);
            continue;
        }
        double v = from_float(x[i], cvt->from, from_flags);
        uint64_t flags = cvt->flags;
        if (cvt->integral) {
            v = to_integral(v, flags);
            flags &= ~(uint64_t)EMU_ROUNDING;
        }
        x[i] = to_float(v, cvt->to, flags);
    }
    store(warp, op->d, cvt->register_bits, x);
    return op + 1;
}

EMU_HANDLER(float_to_int)
{
    const struct emu_cvt *cvt = op->extra;
    uint64_t x[EMU_LANES];
    unsigned bits = cvt->to_bits;
    uint64_t most = most_of(bits, cvt->to_signed);
    double limit = ldexp(1, (int)bits - (cvt->to_signed ? 1 : 0)); /* the first that is too large */
    fetch(warp, op->a, cvt->from_wide, x);
    EMU_EACH
    {
        double v = to_integral(from_float(x[i], cvt->from, cvt->flags), cvt->flags);
        uint64_t r;
        if (v != v)
            r = bits == 64 || cvt->from == PTX_F64 ? UINT64_C(1) << (bits - 1) : 0;
        else if (v >= limit)
            r = most;
        else if (cvt->to_signed)
            r = v < -limit ? (uint64_t)least_of(bits) : (uint64_t)(int64_t)v;
        else
            r = v <= 0 ? 0 : (uint64_t)v;
        x[i] = extend(r, bits, cvt->to_signed);
    }
    store(warp, op->d, cvt->register_bits, x);
    return op + 1;
}

/* A 64-bit magnitude as a double that is exact or rounded to odd. */
static double magnitude_odd(uint64_t x)
{
    if (x >> 53)
        return (double)(x >> 11 | ((x & 0x7ff) != 0)) * 2048.0;
    return (double)x;
}

EMU_HANDLER(int_to_float)
{
    const struct emu_cvt *cvt = op->extra;
    uint64_t x[EMU_LANES];
    fetch(warp, op->a, cvt->from_wide, x);
    if (cvt->to == PTX_F64) {
        fesetround(emu_fe(cvt->flags));
        EMU_EACH
        {
            volatile uint64_t v = extend(x[i], cvt->from_bits, cvt->from_signed);
            volatile double d = cvt->from_signed ? (double)(int64_t)v : (double)v;
            x[i] = v ? emu_bits64(d) : 0; /* a compiler's way of converting may give -0 when rounding down */
        }
        fesetround(FE_TONEAREST);
        EMU_EACH x[i] = cvt->flags & EMU_SAT ? emu_bits64(clamp_unit(emu_double(x[i]))) : x[i];
    } else {
        EMU_EACH
        {
            uint64_t v = extend(x[i], cvt->from_bits, cvt->from_signed);
            int negative = cvt->from_signed && (int64_t)v < 0;
            double d = magnitude_odd(negative ? 0 - v : v);
            x[i] = to_float(negative ? -d : d, cvt->to, cvt->flags);
        }
    }
    store(warp, op->d, cvt->register_bits, x);
    return op + 1;
}

EMU_UNARY32(s16_to_f32, emu_bits((float)(int16_t)x))
EMU_UNARY32(u16_to_f32, emu_bits((float)(uint16_t)x))
EMU_UNARY32(s8_to_f32, emu_bits((float)(int8_t)x))
EMU_UNARY32(u8_to_f32, emu_bits((float)(uint8_t)x))
EMU_UNARY(s32_to_f64, uint64_t, emu_put64, uint32_t, EMU_W, emu_bits64((double)(int32_t)x))
EMU_UNARY(u32_to_f64, uint64_t, emu_put64, uint32_t, EMU_W, emu_bits64((double)x))

/* Of an integral float: limited to the type's range, a NaN 0. Without branches, so that vectors are made of them. */
static inline uint32_t limited_s32(float x)
{
    int inside = (x >= -0x1p31f) & (x < 0x1p31f);
    uint32_t r = (uint32_t)(int32_t)(inside ? x : 0.0f);
    r = x >= 0x1p31f ? INT32_MAX : r;
    return x < -0x1p31f ? (uint32_t)INT32_MIN : r;
}

static inline uint32_t limited_u32(float x)
{
    int low = (x > 0.0f) & (x < 0x1p31f), high = (x >= 0x1p31f) & (x < 0x1p32f);
    uint32_t r = (uint32_t)(int32_t)(low ? x : high ? x - 0x1p31f : 0.0f);
    r = high ? r | 0x80000000 : r;
    return x >= 0x1p32f ? UINT32_MAX : r;
}

EMU_UNARY32(f32_to_s32_rz, limited_s32(emu_float(x)))
EMU_UNARY32(f32_to_u32_rz, limited_u32(emu_float(x)))
EMU_UNARY32(f32_to_s32_rn, limited_s32(nearbyintf(emu_float(x))))
EMU_UNARY32(f32_to_u32_rn, limited_u32(nearbyintf(emu_float(x))))
EMU_UNARY32(s32_to_f32, emu_bits((float)(int32_t)x))
EMU_UNARY32(u32_to_f32, emu_bits((float)x))
EMU_UNARY32(f16_to_f32, emu_canonical32(emu_bits(emu_f16(x & 0xffff))))
EMU_UNARY32(bf16_to_f32, x << 16)
EMU_UNARY32(f32_to_f16, emu_to_f16(x))
EMU_UNARY32(f32_to_bf16, emu_to_bf16(x))
EMU_UNARY(f32_to_f64, uint64_t, emu_put64, uint32_t, EMU_W, emu_quiet64(emu_bits64((double)emu_float(x))))
EMU_UNARY(f64_to_f32, uint32_t, emu_put32, uint64_t, EMU_L,
          emu_is_nan64(x) ? nan_of_f64(x, 8, 23) : emu_bits((float)emu_double(x)))
EMU_BINARY32(f32_to_f16x2, emu_to_f16(y) | emu_to_f16(x) << 16)
EMU_BINARY32(f32_to_bf16x2, emu_to_bf16(y) | emu_to_bf16(x) << 16)

/* Two values to a pair of small floats: the first operand goes to the high part. */
EMU_HANDLER(pair)
{
    const struct emu_cvt *cvt = op->extra;
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b);
    uint32_t r[EMU_LANES];
    EMU_EACH
    {
        uint32_t high, low;
        if (cvt->from == PTX_F16X2) {
            high = (uint32_t)to_float((double)emu_f16(a[i] >> 16), cvt->to, cvt->flags);
            low = (uint32_t)to_float((double)emu_f16(a[i] & 0xffff), cvt->to, cvt->flags);
        } else {
            high = (uint32_t)to_float(from_float(a[i], PTX_F32, cvt->flags), cvt->to, cvt->flags);
            low = (uint32_t)to_float(from_float(b[i], PTX_F32, cvt->flags), cvt->to, cvt->flags);
        }
        r[i] = low | high << cvt->to_bits;
    }
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* A pair of 8-bit floats to f16x2: always exact. */
EMU_HANDLER(unpair)
{
    const struct emu_cvt *cvt = op->extra;
    const uint32_t *a = EMU_W(op->a);
    uint32_t r[EMU_LANES];
    EMU_EACH
    {
        uint32_t low = (uint32_t)to_float(from_float(a[i], cvt->from, 0), PTX_F16, cvt->flags);
        uint32_t high = (uint32_t)to_float(from_float(a[i] >> 8, cvt->from, 0), PTX_F16, cvt->flags);
        r[i] = low | high << 16;
    }
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* tf32 keeps 10 bits of the mantissa, in the place that f32 has them. imm: 0 nearest even, 1 nearest away, 2 zero.
   .rna is integer arithmetic on whatever the bits mean, NaN too. */
EMU_HANDLER(to_tf32)
{
    const struct emu_cvt *cvt = op->extra;
    const uint32_t *a = EMU_W(op->a);
    uint32_t r[EMU_LANES];
    EMU_EACH
    {
        uint32_t x = a[i], add = op->imm == 0 ? 0xfff + (x >> 13 & 1) : op->imm == 1 ? 0x1000 : 0;
        uint32_t sign = x & 0x80000000;
        int is_nan = (x & 0x7fffffff) > 0x7f800000;
        if (is_nan && op->imm != 1)
            r[i] = EMU_NAN32 & ~0x1fffu;
        else if ((x & 0x7fffffff) == 0x7f800000)
            r[i] = x;
        else
            r[i] = (x + add) & ~0x1fffu;
        if (cvt->flags & EMU_SATFINITE && (r[i] & 0x7f800000) == 0x7f800000 && (!is_nan || op->imm == 1))
            r[i] -= 0x2000;
        if (cvt->flags & EMU_RELU && sign && !is_nan)
            r[i] = 0;
    }
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* cvt.pack.sat.T.s32 d, a, b {, c}: a and b saturated to T, b low; with c its low half goes up by both. */
EMU_HANDLER(pack)
{
    const struct emu_cvt *cvt = op->extra;
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES], bits = cvt->to_bits, keep = (uint32_t)most_of(bits, 0);
    EMU_EACH
    {
        uint32_t high = (uint32_t)saturate((uint64_t)(int64_t)(int32_t)a[i], cvt) & keep;
        uint32_t low = (uint32_t)saturate((uint64_t)(int64_t)(int32_t)b[i], cvt) & keep;
        r[i] = low | high << bits | (bits == 8 ? c[i] << 16 : 0);
    }
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* ---- Choice ------------------------------------------------------------------------------------------------------ */

static unsigned rounding_flags(unsigned rounding)
{
    switch (rounding) {
    case PTX_MOD_RZ:
    case PTX_MOD_RZI:
        return EMU_RZ;
    case PTX_MOD_RM:
    case PTX_MOD_RMI:
        return EMU_RM;
    case PTX_MOD_RP:
    case PTX_MOD_RPI:
        return EMU_RP;
    default:
        return EMU_RN;
    }
}

static int is_float(unsigned type)
{
    unsigned kind = ptx_types[type].kind;
    return kind == PTX_KIND_FLOAT || kind == PTX_KIND_BFLOAT || kind == PTX_KIND_TF32 || kind == PTX_KIND_NARROW;
}

static emu_handler int_handler(const struct emu_cvt *cvt, unsigned source_register)
{
    if (cvt->flags & EMU_SAT)
        return int_to_int;
    unsigned from = cvt->from_bits, to = cvt->to_bits, reg = cvt->register_bits;
    unsigned kept = from < to ? from : to; /* bits that matter; what is above them is filled by a sign */
    int sign = from < to ? cvt->from_signed : cvt->to_signed;
    if (from < to && !cvt->from_signed)
        sign = 0;
    if (kept == 64)
        return same_64;
    if (from < to && sign && to < reg && !cvt->to_signed)
        return int_to_int; /* sign to the type's width, zeros above */
    if (source_register == 64)
        return kept == 32 && reg == 32 ? low_32 : kept == 16 && reg == 16 ? low_16_of_64 : int_to_int;
    if (reg == 64)
        return kept == 32 ? (sign ? s32_to_64 : u32_to_64) : kept == 16 && sign ? s16_to_64 : int_to_int;
    if (kept == 32)
        return same_32;
    if (kept == 16)
        return reg == 16 || !sign ? low_16 : s16_to_32;
    return !sign ? low_8 : reg == 32 ? s8_to_32 : int_to_int;
}

emu_handler emu_cvt_choose(const struct ptx_instruction *instruction, unsigned to_register, unsigned from_register,
                           struct emu_cvt *cvt, uint64_t *imm)
{
    unsigned to = instruction->type[0], from = instruction->type[1];
    memset(cvt, 0, sizeof *cvt);
    cvt->to = (uint8_t)to;
    cvt->from = (uint8_t)from;
    cvt->to_bits = ptx_types[to].bits;
    cvt->from_bits = ptx_types[from].bits;
    cvt->to_signed = ptx_types[to].kind == PTX_KIND_SIGNED;
    cvt->from_signed = ptx_types[from].kind == PTX_KIND_SIGNED;
    cvt->register_bits = (uint8_t)to_register;
    cvt->from_wide = from_register == 64;
    cvt->flags = (uint16_t)(rounding_flags(instruction->rounding) | (instruction->mods & PTX_FLAG(FTZ) ? EMU_FTZ : 0) |
                            (instruction->mods & PTX_FLAG(SAT) ? EMU_SAT : 0) |
                            (instruction->mods & PTX_FLAG(RELU) ? EMU_RELU : 0) |
                            (instruction->mods & PTX_FLAG(SATFINITE) ? EMU_SATFINITE : 0));
    *imm = 0;
    if (instruction->opcode == PTX_OP_CVT_PACK)
        return pack;
    int plain = !cvt->flags;
    if (to == PTX_TF32) {
        *imm = instruction->rounding == PTX_MOD_RNA ? 1 : instruction->rounding == PTX_MOD_RZ ? 2 : 0;
        return to_tf32;
    }
    if (to == PTX_F16X2 && (from == PTX_E4M3X2 || from == PTX_E5M2X2)) {
        cvt->from = from == PTX_E4M3X2 ? PTX_E4M3 : PTX_E5M2;
        return unpair;
    }
    if (to == PTX_F16X2 || to == PTX_BF16X2 || to == PTX_E4M3X2 || to == PTX_E5M2X2) {
        if (plain && to == PTX_F16X2)
            return f32_to_f16x2;
        if (plain && to == PTX_BF16X2)
            return f32_to_bf16x2;
        cvt->to = to == PTX_F16X2 ? PTX_F16 : to == PTX_BF16X2 ? PTX_BF16 : to == PTX_E4M3X2 ? PTX_E4M3 : PTX_E5M2;
        cvt->to_bits = ptx_types[cvt->to].bits;
        return pair;
    }
    if (!is_float(to) && !is_float(from))
        return int_handler(cvt, from_register);
    if (!is_float(to)) { /* a subnormal gives 0, flushed or not */
        unsigned rounding = cvt->flags & ~(unsigned)EMU_FTZ;
        if (from == PTX_F32 && cvt->to_bits == 32 && to_register == 32 && rounding == EMU_RZ)
            return cvt->to_signed ? f32_to_s32_rz : f32_to_u32_rz;
        if (from == PTX_F32 && cvt->to_bits == 32 && to_register == 32 && rounding == EMU_RN)
            return cvt->to_signed ? f32_to_s32_rn : f32_to_u32_rn;
        return float_to_int;
    }
    if (!is_float(from)) {
        if (plain && to == PTX_F32 && from_register == 32 && cvt->from_bits == 32)
            return cvt->from_signed ? s32_to_f32 : u32_to_f32;
        if (to == PTX_F32 && from_register == 32 && cvt->from_bits < 32 && !(cvt->flags & EMU_SAT)) /* exact */
            return cvt->from_bits == 16 ? (cvt->from_signed ? s16_to_f32 : u16_to_f32)
                                        : (cvt->from_signed ? s8_to_f32 : u8_to_f32);
        if (to == PTX_F64 && from_register == 32 && cvt->from_bits == 32 && !(cvt->flags & EMU_SAT))
            return cvt->from_signed ? s32_to_f64 : u32_to_f64;
        return int_to_float;
    }
    unsigned r = instruction->rounding;
    cvt->integral = r == PTX_MOD_RNI || r == PTX_MOD_RZI || r == PTX_MOD_RMI || r == PTX_MOD_RPI;
    if (plain && !cvt->integral) {
        if (to == PTX_F32 && from == PTX_F16)
            return f16_to_f32;
        if (to == PTX_F32 && from == PTX_BF16)
            return bf16_to_f32;
        if (to == PTX_F16 && from == PTX_F32)
            return f32_to_f16;
        if (to == PTX_BF16 && from == PTX_F32)
            return f32_to_bf16;
        if (to == PTX_F64 && from == PTX_F32)
            return f32_to_f64;
        if (to == PTX_F32 && from == PTX_F64)
            return f64_to_f32;
        if (to == from && cvt->to_bits == 32)
            return same_32;
    }
    return float_to_float;
}
