/* Arithmetic of f64. */
#include "handlers.h"
#include "floats.h"
#include "vectors.h"

/* first, second: whose NaN comes before the other's */
#define DOUBLE2(name, e, first, second)                                                                                \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint64_t *a = EMU_L(op->a), *b = EMU_L(op->b);                                                           \
        uint64_t r[EMU_LANES];                                                                                         \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            double x = emu_double(a[i]), y = emu_double(b[i]);                                                         \
            r[i] = emu_finish64(emu_bits64(e), first[i], second[i]);                                                   \
        }                                                                                                              \
        emu_put64(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }                                                                                                                  \
    EMU_HANDLER(name##_any)                                                                                            \
    {                                                                                                                  \
        const uint64_t *a = EMU_L(op->a), *b = EMU_L(op->b);                                                           \
        uint64_t r[EMU_LANES];                                                                                         \
        fesetround(emu_fe(op->imm));                                                                                   \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            volatile double x = emu_double(a[i]), y = emu_double(b[i]);                                                \
            volatile double z = e;                                                                                     \
            r[i] = emu_finish64(emu_bits64(z), first[i], second[i]);                                                   \
        }                                                                                                              \
        fesetround(FE_TONEAREST);                                                                                      \
        emu_put64(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }
DOUBLE2(add, x + y, b, a)
DOUBLE2(sub, x - y, b, a)
DOUBLE2(mul, x *y, b, a)
DOUBLE2(div, x / y, a, b)

#if defined(__x86_64__) && defined(__GNUC__)
/* To nearest, with the instruction where the machine has it. */
__attribute__((target("avx2,fma"))) static const struct emu_op *fma_hard(struct emu_warp *warp, const struct emu_op *op)
{
    const uint64_t *a = EMU_L(op->a), *b = EMU_L(op->b), *c = EMU_L(op->c);
    uint64_t r[EMU_LANES];
    EMU_EACH
    {
        uint64_t sum = emu_bits64(__builtin_fma(emu_double(a[i]), emu_double(b[i]), emu_double(c[i])));
        r[i] = emu_is_nan64(c[i]) ? emu_quiet64(c[i]) : emu_finish64(sum, b[i], a[i]);
    }
    emu_put64(warp, op->d, r);
    return op + 1;
}
#endif

EMU_HANDLER(fma_any)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (!op->imm && emu_vectors() >= EMU_VECTORS_AVX2)
        return fma_hard(warp, op);
#endif
    const uint64_t *a = EMU_L(op->a), *b = EMU_L(op->b), *c = EMU_L(op->c);
    uint64_t r[EMU_LANES];
    if (op->imm)
        fesetround(emu_fe(op->imm));
    EMU_EACH
    {
        volatile double x = emu_double(a[i]), y = emu_double(b[i]), z = emu_double(c[i]);
        r[i] = emu_is_nan64(c[i]) ? emu_quiet64(c[i]) : emu_finish64(emu_bits64(fma(x, y, z)), b[i], a[i]);
    }
    if (op->imm)
        fesetround(FE_TONEAREST);
    emu_put64(warp, op->d, r);
    return op + 1;
}

#define DOUBLE1(name, e)                                                                                               \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint64_t *a = EMU_L(op->a);                                                                              \
        uint64_t r[EMU_LANES];                                                                                         \
        if (op->imm)                                                                                                   \
            fesetround(emu_fe(op->imm));                                                                               \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            volatile double x = emu_double(a[i]);                                                                      \
            volatile double z = e;                                                                                     \
            r[i] = emu_finish64(emu_bits64(z), a[i], a[i]);                                                            \
        }                                                                                                              \
        if (op->imm)                                                                                                   \
            fesetround(FE_TONEAREST);                                                                                  \
        emu_put64(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }
DOUBLE1(rcp, 1.0 / x)
DOUBLE1(sqrt_any, sqrt(x))
DOUBLE1(rsqrt_approx, 1.0 / sqrt(x))

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the high word alone, subnormals flushed on both sides. */
static inline uint64_t high_word(uint64_t x)
{
    return x & UINT64_C(0x7ff0000000000000) ? x & ~UINT64_C(0xffffffff) : x & UINT64_C(0x8000000000000000);
}

#define DOUBLE_HIGH(name, e)                                                                                           \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint64_t *a = EMU_L(op->a);                                                                              \
        uint64_t r[EMU_LANES];                                                                                         \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            uint64_t bits = high_word(a[i]);                                                                           \
            double x = emu_double(bits);                                                                               \
            r[i] = high_word(emu_finish64(emu_bits64(e), bits, bits));                                                 \
        }                                                                                                              \
        emu_put64(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }
DOUBLE_HIGH(rcp_approx, 1.0 / x)
DOUBLE_HIGH(rsqrt_approx_ftz, 1.0 / sqrt(x))

EMU_UNARY64(abs_double, emu_is_nan64(x) ? emu_quiet64(x) : x &INT64_MAX)
EMU_UNARY64(neg_double, emu_is_nan64(x) ? emu_quiet64(x) : x ^ UINT64_C(0x8000000000000000))
EMU_BINARY64(copysign_double, (x & UINT64_C(0x8000000000000000)) | (y & INT64_MAX))

static inline uint64_t extreme(uint64_t x, uint64_t y, int least)
{
    int nan_x = emu_is_nan64(x), nan_y = emu_is_nan64(y);
    if (nan_x || nan_y)
        return nan_x ? emu_quiet64(y) : x;
    uint64_t p = x >> 63 ? ~x : x | UINT64_C(1) << 63, q = y >> 63 ? ~y : y | UINT64_C(1) << 63;
    return (p < q) == least ? x : y;
}
EMU_BINARY64(min_double, extreme(x, y, 1))
EMU_BINARY64(max_double, extreme(x, y, 0))

#define FLOAT_COMPARE(ID, name, e)                                                                                     \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint64_t *b = EMU_L(op->b), *c = EMU_L(op->c);                                                           \
        uint32_t bits = 0;                                                                                             \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            double x = emu_double(b[i]), y = emu_double(c[i]);                                                         \
            bits |= (e) ? emu_lane_bits[i] : 0;                                                                        \
        }                                                                                                              \
        return emu_setp_end(warp, op, bits);                                                                           \
    }
#define FLOAT_TEST(ID, name, e)                                                                                        \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint64_t *a = EMU_L(op->a);                                                                              \
        uint32_t bits = 0;                                                                                             \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            uint64_t x = a[i] & INT64_MAX;                                                                             \
            bits |= (e) ? emu_lane_bits[i] : 0;                                                                        \
        }                                                                                                              \
        emu_put_pred(warp, op->d, bits);                                                                               \
        return op + 1;                                                                                                 \
    }
#define INFINITE_BITS UINT64_C(0x7ff0000000000000)
#define NORMAL_BITS (UINT64_C(1) << 52)
#include "float_predicates.def"
#undef FLOAT_COMPARE
#undef FLOAT_TEST

#define EXACT(OPCODE, ROUNDING, OPERANDS, RUN, IMM)                                                                    \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .type0 = PTX_F64, .rounding = PTX_MOD_##ROUNDING, .operands = OPERANDS, .run = RUN, \
        .imm = (IMM)                                                                                                   \
    }
#define ARITHMETIC(OPCODE, OPERANDS, RUN, RUN_ANY)                                                                     \
    EXACT(OPCODE, RZ, OPERANDS, RUN_ANY, EMU_RZ), EXACT(OPCODE, RM, OPERANDS, RUN_ANY, EMU_RM),                        \
        EXACT(OPCODE, RP, OPERANDS, RUN_ANY, EMU_RP), EXACT(OPCODE, NONE, OPERANDS, RUN, 0)
#define SETP(COMPARE_, RUN)                                                                                            \
    {                                                                                                                  \
        .opcode = PTX_OP_SETP, .type0 = PTX_F64, .compare = PTX_MOD_##COMPARE_, .operands = "ppllp", .run = RUN        \
    }
#define TEST(OPERATION, RUN) EMU_ROW_OP(TESTP, OPERATION, F64, "pl", RUN)

static const struct emu_row rows[] = {
    ARITHMETIC(ADD, "lll", add, add_any),
    ARITHMETIC(SUB, "lll", sub, sub_any),
    ARITHMETIC(MUL, "lll", mul, mul_any),
    ARITHMETIC(DIV, "lll", div, div_any),
    ARITHMETIC(FMA, "llll", fma_any, fma_any),
    ARITHMETIC(MAD, "llll", fma_any, fma_any),
    EMU_ROW_IF(RCP, F64, PTX_FLAG(APPROX), PTX_FLAG(APPROX), "ll", rcp_approx),
    ARITHMETIC(RCP, "ll", rcp, rcp),
    ARITHMETIC(SQRT, "ll", sqrt_any, sqrt_any),
    EMU_ROW_IF(RSQRT, F64, PTX_FLAG(FTZ), PTX_FLAG(FTZ), "ll", rsqrt_approx_ftz),
    EMU_ROW(RSQRT, F64, "ll", rsqrt_approx),
    EMU_ROW(ABS, F64, "ll", abs_double),
    EMU_ROW(NEG, F64, "ll", neg_double),
    EMU_ROW(COPYSIGN, F64, "lll", copysign_double),
    EMU_ROW(MIN, F64, "lll", min_double),
    EMU_ROW(MAX, F64, "lll", max_double),
#define FLOAT_COMPARE(ID, name, e) SETP(ID, name),
#define FLOAT_TEST(ID, name, e) TEST(ID, name),
#include "float_predicates.def"
#undef FLOAT_COMPARE
#undef FLOAT_TEST
};

struct emu_rows emu_rows_double(void)
{
    return (struct emu_rows){rows, sizeof rows / sizeof rows[0]};
}
