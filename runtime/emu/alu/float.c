/* Arithmetic of f32: exact IEEE results in all roundings; .approx functions through the C library, well within PTX's
   bounds. */
#include "handlers.h"
#include "floats.h"
#include "vectors.h"

/* ---- Sums, products ---------------------------------------------------------------------------------------------- */

#define FLOAT2(name, e)                                                                                                \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b);                                                           \
        uint32_t r[EMU_LANES];                                                                                         \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            float x = emu_float(a[i]), y = emu_float(b[i]);                                                            \
            r[i] = emu_canonical32(emu_bits(e));                                                                       \
        }                                                                                                              \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }                                                                                                                  \
    EMU_HANDLER(name##_ftz)                                                                                            \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b);                                                           \
        uint32_t r[EMU_LANES];                                                                                         \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            float x = emu_float(emu_flush32(a[i])), y = emu_float(emu_flush32(b[i]));                                  \
            r[i] = emu_flush32(emu_canonical32(emu_bits(e)));                                                          \
        }                                                                                                              \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }                                                                                                                  \
    EMU_HANDLER(name##_any)                                                                                            \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b);                                                           \
        uint32_t r[EMU_LANES];                                                                                         \
        fesetround(emu_fe(op->imm));                                                                                   \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            volatile float x = emu_float(op->imm & EMU_FTZ ? emu_flush32(a[i]) : a[i]);                                \
            volatile float y = emu_float(op->imm & EMU_FTZ ? emu_flush32(b[i]) : b[i]);                                \
            volatile float z = e;                                                                                      \
            r[i] = emu_bits(z);                                                                                        \
        }                                                                                                              \
        fesetround(FE_TONEAREST);                                                                                      \
        EMU_EACH r[i] = emu_finish32(r[i], op->imm);                                                                   \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }
FLOAT2(add, x + y)
FLOAT2(sub, x - y)
FLOAT2(mul, x *y)
FLOAT2(div, x / y)

/* div.approx multiplies by a reciprocal, which of more than 2^126 is 0. */
static inline float quotient_approx(float x, float y)
{
    return fabsf(y) > 0x1p126f && !isinf(y) ? x * copysignf(0, y) : x / y;
}

EMU_HANDLER(div_approx)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b);
    uint32_t r[EMU_LANES];
    EMU_EACH
    {
        float x = emu_float(op->imm & EMU_FTZ ? emu_flush32(a[i]) : a[i]);
        float y = emu_float(op->imm & EMU_FTZ ? emu_flush32(b[i]) : b[i]);
        r[i] = emu_finish32(emu_bits(quotient_approx(x, y)), op->imm);
    }
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* fma through double: the product is exact, the sum is rounded to odd, and so the last rounding is the only one. */
static inline float fused(uint32_t a, uint32_t b, uint32_t c)
{
    return (float)emu_add_odd((double)emu_float(a) * (double)emu_float(b), (double)emu_float(c));
}

EMU_HANDLER(fma_plain)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] = emu_canonical32(emu_bits(fused(a[i], b[i], c[i])));
    emu_put32(warp, op->d, r);
    return op + 1;
}

EMU_HANDLER(fma_ftz)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] =
        emu_flush32(emu_canonical32(emu_bits(fused(emu_flush32(a[i]), emu_flush32(b[i]), emu_flush32(c[i])))));
    emu_put32(warp, op->d, r);
    return op + 1;
}

EMU_HANDLER(fma_any)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES];
    int ftz = (op->imm & EMU_FTZ) != 0;
    double odd[EMU_LANES];
    EMU_EACH
    {
        float x = emu_float(ftz ? emu_flush32(a[i]) : a[i]), y = emu_float(ftz ? emu_flush32(b[i]) : b[i]);
        float z = emu_float(ftz ? emu_flush32(c[i]) : c[i]);
        odd[i] = emu_add_odd((double)x * (double)y, (double)z);
        /* x + y = 0 has the sign of the rounding */
        if (odd[i] == 0 && (op->imm & EMU_ROUNDING) == EMU_RM && (double)x * (double)y != 0)
            odd[i] = -0.0;
        if (odd[i] == 0 && (op->imm & EMU_ROUNDING) == EMU_RM && (double)x * (double)y == 0 && z == 0 &&
            signbit((double)x * (double)y) != signbit((double)z))
            odd[i] = -0.0;
    }
    fesetround(emu_fe(op->imm));
    EMU_EACH
    {
        volatile double from = odd[i];
        volatile float z = (float)from;
        r[i] = emu_bits(z);
    }
    fesetround(FE_TONEAREST);
    EMU_EACH r[i] = emu_finish32(r[i], op->imm);
    emu_put32(warp, op->d, r);
    return op + 1;
}

#if defined(__x86_64__) && defined(__GNUC__)
/* The same with the instruction where the machine has it. */
__attribute__((target("avx2,fma"))) static const struct emu_op *fma_plain_hard(struct emu_warp *warp,
                                                                               const struct emu_op *op)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] = emu_canonical32(emu_bits(__builtin_fmaf(emu_float(a[i]), emu_float(b[i]), emu_float(c[i]))));
    emu_put32(warp, op->d, r);
    return op + 1;
}

__attribute__((target("avx2,fma"))) static const struct emu_op *fma_ftz_hard(struct emu_warp *warp,
                                                                             const struct emu_op *op)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES];
    EMU_EACH
    {
        float x = emu_float(emu_flush32(a[i])), y = emu_float(emu_flush32(b[i])), z = emu_float(emu_flush32(c[i]));
        r[i] = emu_flush32(emu_canonical32(emu_bits(__builtin_fmaf(x, y, z))));
    }
    emu_put32(warp, op->d, r);
    return op + 1;
}

emu_handler emu_faster(emu_handler run)
{
    if (emu_vectors() < EMU_VECTORS_AVX2)
        return run;
    return run == fma_plain ? fma_plain_hard : run == fma_ftz ? fma_ftz_hard : run;
}
#else
emu_handler emu_faster(emu_handler run)
{
    return run;
}
#endif

/* ---- Functions of one number ------------------------------------------------------------------------------------- */

#define FLOAT1(name, e)                                                                                                \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a);                                                                              \
        uint32_t r[EMU_LANES];                                                                                         \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            float x = emu_float(op->imm & EMU_FTZ ? emu_flush32(a[i]) : a[i]);                                         \
            r[i] = emu_finish32(emu_bits(e), op->imm);                                                                 \
        }                                                                                                              \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }
FLOAT1(rcp, 1.0f / x)
FLOAT1(sqrt_rn, sqrtf(x))
FLOAT1(rsqrt_approx, (float)(1.0 / sqrt((double)x)))
FLOAT1(sin_approx, sinf(x))
FLOAT1(cos_approx, cosf(x))
FLOAT1(lg2_approx, log2f(x))
FLOAT1(ex2_approx, exp2f(x))
FLOAT1(tanh_approx, tanhf(x))

#define FLOAT1_ANY(name, e)                                                                                            \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a);                                                                              \
        uint32_t r[EMU_LANES];                                                                                         \
        fesetround(emu_fe(op->imm));                                                                                   \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            volatile float x = emu_float(op->imm & EMU_FTZ ? emu_flush32(a[i]) : a[i]);                                \
            volatile float z = e;                                                                                      \
            r[i] = emu_bits(z);                                                                                        \
        }                                                                                                              \
        fesetround(FE_TONEAREST);                                                                                      \
        EMU_EACH r[i] = emu_finish32(r[i], op->imm);                                                                   \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }
FLOAT1_ANY(rcp_any, 1.0f / x)
FLOAT1_ANY(sqrt_any, sqrtf(x))

EMU_HANDLER(abs_float)
{
    const uint32_t *a = EMU_W(op->a);
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] = emu_canonical32((op->imm & EMU_FTZ ? emu_flush32(a[i]) : a[i]) & 0x7fffffff);
    emu_put32(warp, op->d, r);
    return op + 1;
}

EMU_HANDLER(neg_float)
{
    const uint32_t *a = EMU_W(op->a);
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] = emu_canonical32((op->imm & EMU_FTZ ? emu_flush32(a[i]) : a[i]) ^ 0x80000000);
    emu_put32(warp, op->d, r);
    return op + 1;
}

EMU_BINARY32(copysign_float, (x & 0x80000000) | (y & 0x7fffffff))

/* ---- Least and greatest ------------------------------------------------------------------------------------------ */

/* Whether x is less than y where -0 is less than +0; neither is a NaN. */
static inline int before(uint32_t x, uint32_t y)
{
    uint32_t p = x >> 31 ? ~x : x | 0x80000000, q = y >> 31 ? ~y : y | 0x80000000;
    return p < q;
}

static inline uint32_t extreme(uint32_t x, uint32_t y, uint64_t flags, int least)
{
    if (flags & EMU_FTZ)
        x = emu_flush32(x), y = emu_flush32(y);
    uint32_t sign = (x ^ y) & 0x80000000;
    if (flags & EMU_ABS)
        x &= 0x7fffffff, y &= 0x7fffffff;
    int nan_x = (x & 0x7fffffff) > 0x7f800000, nan_y = (y & 0x7fffffff) > 0x7f800000;
    if ((nan_x && nan_y) || ((flags & EMU_NAN) && (nan_x || nan_y)))
        return EMU_NAN32;
    uint32_t r = nan_x ? y : nan_y ? x : before(x, y) == least ? x : y;
    return flags & EMU_XORSIGN ? (r & 0x7fffffff) | sign : r;
}

EMU_BINARY32(min_float, extreme(x, y, op->imm, 1))
EMU_BINARY32(max_float, extreme(x, y, op->imm, 0))

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

#define FLOAT_COMPARE(ID, name, e)                                                                                     \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint32_t *b = EMU_W(op->b), *c = EMU_W(op->c);                                                           \
        uint32_t bits = 0;                                                                                             \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            float x = emu_float(b[i]), y = emu_float(c[i]);                                                            \
            bits |= (e) ? emu_lane_bits[i] : 0;                                                                        \
        }                                                                                                              \
        return emu_setp_end(warp, op, bits);                                                                           \
    }                                                                                                                  \
    EMU_HANDLER(name##_ftz)                                                                                            \
    {                                                                                                                  \
        const uint32_t *b = EMU_W(op->b), *c = EMU_W(op->c);                                                           \
        uint32_t bits = 0;                                                                                             \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            float x = emu_float(emu_flush32(b[i])), y = emu_float(emu_flush32(c[i]));                                  \
            bits |= (e) ? emu_lane_bits[i] : 0;                                                                        \
        }                                                                                                              \
        return emu_setp_end(warp, op, bits);                                                                           \
    }
#define FLOAT_TEST(ID, name, e)                                                                                        \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a);                                                                              \
        uint32_t bits = 0;                                                                                             \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            uint32_t x = a[i] & 0x7fffffff;                                                                            \
            bits |= (e) ? emu_lane_bits[i] : 0;                                                                        \
        }                                                                                                              \
        emu_put_pred(warp, op->d, bits);                                                                               \
        return op + 1;                                                                                                 \
    }
#define INFINITE_BITS UINT32_C(0x7f800000)
#define NORMAL_BITS UINT32_C(0x800000)
#include "float_predicates.def"
#undef FLOAT_COMPARE
#undef FLOAT_TEST

/* ---- Table ------------------------------------------------------------------------------------------------------- */

#define FTZ PTX_FLAG(FTZ)
#define SAT PTX_FLAG(SAT)
#define EXACT(OPCODE, ROUNDING, MASK, BITS, OPERANDS, RUN, IMM)                                                        \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .type0 = PTX_F32, .rounding = PTX_MOD_##ROUNDING, .mask = (MASK), .bits = (BITS),   \
        .operands = OPERANDS, .run = RUN, .imm = (IMM)                                                                 \
    }
#define ROUNDED(OPCODE, OPERANDS, RUN, MASK, BITS, IMM)                                                                \
    EXACT(OPCODE, RZ, MASK, BITS, OPERANDS, RUN, (IMM) | EMU_RZ),                                                      \
        EXACT(OPCODE, RM, MASK, BITS, OPERANDS, RUN, (IMM) | EMU_RM),                                                  \
        EXACT(OPCODE, RP, MASK, BITS, OPERANDS, RUN, (IMM) | EMU_RP)
/* All forms of an operation with .rnd, .ftz and .sat. */
#define ARITHMETIC(OPCODE, OPERANDS, RUN, RUN_FTZ, RUN_ANY)                                                            \
    ROUNDED(OPCODE, OPERANDS, RUN_ANY, FTZ | SAT, 0, 0), ROUNDED(OPCODE, OPERANDS, RUN_ANY, FTZ | SAT, FTZ, EMU_FTZ),  \
        ROUNDED(OPCODE, OPERANDS, RUN_ANY, FTZ | SAT, SAT, EMU_SAT),                                                   \
        ROUNDED(OPCODE, OPERANDS, RUN_ANY, FTZ | SAT, FTZ | SAT, EMU_FTZ | EMU_SAT),                                   \
        EXACT(OPCODE, NONE, FTZ | SAT, FTZ | SAT, OPERANDS, RUN_ANY, EMU_FTZ | EMU_SAT),                               \
        EXACT(OPCODE, NONE, FTZ | SAT, SAT, OPERANDS, RUN_ANY, EMU_SAT),                                               \
        EXACT(OPCODE, NONE, FTZ | SAT, FTZ, OPERANDS, RUN_FTZ, 0), EXACT(OPCODE, NONE, FTZ | SAT, 0, OPERANDS, RUN, 0)
#define FUNCTION(OPCODE, RUN, RUN_ANY)                                                                                 \
    ROUNDED(OPCODE, "ww", RUN_ANY, FTZ, 0, 0), ROUNDED(OPCODE, "ww", RUN_ANY, FTZ, FTZ, EMU_FTZ),                      \
        EXACT(OPCODE, NONE, FTZ, FTZ, "ww", RUN, EMU_FTZ), EXACT(OPCODE, NONE, FTZ, 0, "ww", RUN, 0)
#define APPROX(OPCODE, RUN) EXACT(OPCODE, NONE, FTZ, FTZ, "ww", RUN, EMU_FTZ), EXACT(OPCODE, NONE, FTZ, 0, "ww", RUN, 0)
#define SETP(COMPARE_, RUN)                                                                                            \
    {.opcode = PTX_OP_SETP,                                                                                            \
     .type0 = PTX_F32,                                                                                                 \
     .compare = PTX_MOD_##COMPARE_,                                                                                    \
     .mask = FTZ,                                                                                                      \
     .bits = FTZ,                                                                                                      \
     .operands = "ppwwp",                                                                                              \
     .run = RUN##_ftz},                                                                                                \
    {                                                                                                                  \
        .opcode = PTX_OP_SETP, .type0 = PTX_F32, .compare = PTX_MOD_##COMPARE_, .operands = "ppwwp", .run = RUN        \
    }
#define TEST(OPERATION, RUN) EMU_ROW_OP(TESTP, OPERATION, F32, "pw", RUN)
#define EXTREME(OPCODE, RUN, MORE, IMM)                                                                                \
    EXACT(OPCODE, NONE, EXTREMES, (MORE), "www", RUN, (IMM)),                                                          \
        EXACT(OPCODE, NONE, EXTREMES, (MORE) | FTZ, "www", RUN, (IMM) | EMU_FTZ)
#define EXTREMES (FTZ | PTX_FLAG(NAN) | PTX_FLAG(XORSIGN) | PTX_FLAG(ABS))
#define SIGNED (PTX_FLAG(XORSIGN) | PTX_FLAG(ABS))
#define ALL_EXTREMES(OPCODE, RUN)                                                                                      \
    EXTREME(OPCODE, RUN, 0, 0), EXTREME(OPCODE, RUN, PTX_FLAG(NAN), EMU_NAN),                                          \
        EXTREME(OPCODE, RUN, SIGNED, EMU_XORSIGN | EMU_ABS),                                                           \
        EXTREME(OPCODE, RUN, PTX_FLAG(NAN) | SIGNED, EMU_NAN | EMU_XORSIGN | EMU_ABS)

static const struct emu_row rows[] = {
    ARITHMETIC(ADD, "www", add, add_ftz, add_any),
    ARITHMETIC(SUB, "www", sub, sub_ftz, sub_any),
    ARITHMETIC(MUL, "www", mul, mul_ftz, mul_any),
    EXACT(DIV, NONE, FTZ | PTX_FLAG(APPROX), PTX_FLAG(APPROX), "www", div_approx, 0),
    EXACT(DIV, NONE, FTZ | PTX_FLAG(APPROX), FTZ | PTX_FLAG(APPROX), "www", div_approx, EMU_FTZ),
    ARITHMETIC(DIV, "www", div, div_ftz, div_any), /* .full too */
    ARITHMETIC(FMA, "wwww", fma_plain, fma_ftz, fma_any),
    ARITHMETIC(MAD, "wwww", fma_plain, fma_ftz, fma_any),
    FUNCTION(RCP, rcp, rcp_any),
    FUNCTION(SQRT, sqrt_rn, sqrt_any),
    APPROX(RSQRT, rsqrt_approx),
    APPROX(SIN, sin_approx),
    APPROX(COS, cos_approx),
    APPROX(LG2, lg2_approx),
    APPROX(EX2, ex2_approx),
    APPROX(TANH, tanh_approx),
    APPROX(ABS, abs_float),
    APPROX(NEG, neg_float),
    EMU_ROW(COPYSIGN, F32, "www", copysign_float),
    ALL_EXTREMES(MIN, min_float),
    ALL_EXTREMES(MAX, max_float),
#define FLOAT_COMPARE(ID, name, e) SETP(ID, name),
#define FLOAT_TEST(ID, name, e) TEST(ID, name),
#include "float_predicates.def"
#undef FLOAT_COMPARE
#undef FLOAT_TEST
};

struct emu_rows emu_rows_float(void)
{
    return (struct emu_rows){rows, sizeof rows / sizeof rows[0]};
}
