/* Integer arithmetic. 16-bit values stand in the low half of their lane, the high half is zero. */
#include "handlers.h"

__extension__ typedef unsigned __int128 wide_u;
__extension__ typedef __int128 wide_s;

static inline uint32_t sext16(uint32_t x) /* of the low half */
{
    return (uint32_t)(int32_t)(int16_t)x;
}

static inline uint32_t min_s(uint32_t x, uint32_t y)
{
    return (int32_t)x < (int32_t)y ? x : y;
}

static inline uint32_t max_s(uint32_t x, uint32_t y)
{
    return (int32_t)x > (int32_t)y ? x : y;
}

static inline uint32_t halves(uint32_t low, uint32_t high)
{
    return (low & 0xffff) | high << 16;
}

static inline uint32_t saturate_s32(int64_t x)
{
    return x > INT32_MAX ? (uint32_t)INT32_MAX : x < INT32_MIN ? (uint32_t)INT32_MIN : (uint32_t)x;
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

EMU_BINARY32(add16, (x + y) & 0xffff)
EMU_BINARY32(add32, x + y)
EMU_BINARY64(add64, x + y)
EMU_BINARY32(add16x2, halves(x + y, (x >> 16) + (y >> 16)))
EMU_BINARY32(add_sat, saturate_s32((int64_t)(int32_t)x + (int32_t)y))
EMU_BINARY32(sub16, (x - y) & 0xffff)
EMU_BINARY32(sub32, x - y)
EMU_BINARY64(sub64, x - y)
EMU_BINARY32(sub_sat, saturate_s32((int64_t)(int32_t)x - (int32_t)y))

/* The condition code: a bit a lane. It is the carry of the adder, also of a subtraction, which is an addition of the
   complement: 1 where there is no borrow. PTX speaks of a borrow, but CUDA's own division reads the code of sub.cc with
   addc and wants it so, as GPUs have it. imm: CARRY_IN, CARRY_OUT. */
enum { CARRY_IN = 1, CARRY_OUT = 2 };

#define CARRY_SUM(name, T, WIDE, PUT, AT, BITS, SIGN, FLIP)                                                            \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const T *a = AT(op->a), *b = AT(op->b);                                                                        \
        T r[EMU_LANES];                                                                                                \
        uint32_t carry = op->imm & CARRY_IN ? emu_carry(warp) ^ FLIP : 0, out = 0;                                     \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            WIDE sum = (WIDE)a[i] SIGN b[i] SIGN(carry >> i & 1);                                                      \
            r[i] = (T)sum;                                                                                             \
            out |= (uint32_t)(sum >> BITS & 1) << i;                                                                   \
        }                                                                                                              \
        PUT(warp, op->d, r);                                                                                           \
        if (op->imm & CARRY_OUT)                                                                                       \
            emu_put_carry(warp, out ^ FLIP);                                                                           \
        return op + 1;                                                                                                 \
    }
CARRY_SUM(add32_carry, uint32_t, uint64_t, emu_put32, EMU_W, 32, +, 0u)
CARRY_SUM(add64_carry, uint64_t, wide_u, emu_put64, EMU_L, 64, +, 0u)
CARRY_SUM(sub32_carry, uint32_t, uint64_t, emu_put32, EMU_W, 32, -, UINT32_MAX)
CARRY_SUM(sub64_carry, uint64_t, wide_u, emu_put64, EMU_L, 64, -, UINT32_MAX)

/* ---- Products ---------------------------------------------------------------------------------------------------- */

static inline uint64_t high_u64(uint64_t x, uint64_t y)
{
    return (uint64_t)((wide_u)x * y >> 64);
}

static inline uint64_t high_s64(uint64_t x, uint64_t y)
{
    return (uint64_t)((wide_u)((wide_s)(int64_t)x * (int64_t)y) >> 64);
}

static inline uint32_t high_s32(uint32_t x, uint32_t y)
{
    return (uint32_t)((uint64_t)((int64_t)(int32_t)x * (int32_t)y) >> 32);
}

static inline uint32_t high_u32(uint32_t x, uint32_t y)
{
    return (uint32_t)((uint64_t)x * y >> 32);
}

#define WIDE_S(x, y) ((uint64_t)((int64_t)(int32_t)(x) * (int32_t)(y)))
#define WIDE_U(x, y) ((uint64_t)(x) * (y))
#define BINARY_WIDE(name, e) EMU_BINARY(name, uint64_t, emu_put64, uint32_t, EMU_W, uint32_t, EMU_W, e)
#define TERNARY_WIDE(name, e)                                                                                          \
    EMU_TERNARY(name, uint64_t, emu_put64, uint32_t, EMU_W, uint32_t, EMU_W, uint64_t, EMU_L, e)

EMU_BINARY32(mul16_lo, (x * y) & 0xffff)
EMU_BINARY32(mul_hi_u16, x *y >> 16)
EMU_BINARY32(mul_hi_s16, (sext16(x) * sext16(y) >> 16) & 0xffff)
EMU_BINARY32(mul32_lo, x *y)
EMU_BINARY32(mul_hi_u32, high_u32(x, y))
EMU_BINARY32(mul_hi_s32, high_s32(x, y))
EMU_BINARY64(mul64_lo, x *y)
EMU_BINARY64(mul_hi_u64, high_u64(x, y))
EMU_BINARY64(mul_hi_s64, high_s64(x, y))
EMU_BINARY32(mul_wide_u16, x *y)
EMU_BINARY32(mul_wide_s16, sext16(x) * sext16(y))
BINARY_WIDE(mul_wide_u32, WIDE_U(x, y))
BINARY_WIDE(mul_wide_s32, WIDE_S(x, y))

EMU_TERNARY32(mad16_lo, (x * y + z) & 0xffff)
EMU_TERNARY32(mad_hi_u16, ((x * y >> 16) + z) & 0xffff)
EMU_TERNARY32(mad_hi_s16, ((sext16(x) * sext16(y) >> 16) + z) & 0xffff)
EMU_TERNARY32(mad32_lo, x *y + z)
EMU_TERNARY32(mad_hi_u32, high_u32(x, y) + z)
EMU_TERNARY32(mad_hi_s32, high_s32(x, y) + z)
EMU_TERNARY32(mad_hi_sat, saturate_s32((int64_t)(int32_t)high_s32(x, y) + (int32_t)z))
EMU_TERNARY64(mad64_lo, x *y + z)
EMU_TERNARY64(mad_hi_u64, high_u64(x, y) + z)
EMU_TERNARY64(mad_hi_s64, high_s64(x, y) + z)
EMU_TERNARY32(mad_wide_u16, x *y + z)
EMU_TERNARY32(mad_wide_s16, sext16(x) * sext16(y) + z)
TERNARY_WIDE(mad_wide_u32, WIDE_U(x, y) + z)
TERNARY_WIDE(mad_wide_s32, WIDE_S(x, y) + z)

#define CARRY_MAD(name, T, WIDE, PUT, AT, BITS, PRODUCT)                                                               \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const T *a = AT(op->a), *b = AT(op->b), *c = AT(op->c);                                                        \
        T r[EMU_LANES];                                                                                                \
        uint32_t carry = op->imm & CARRY_IN ? emu_carry(warp) : 0, out = 0;                                            \
        EMU_EACH                                                                                                       \
        {                                                                                                              \
            T x = a[i], y = b[i];                                                                                      \
            WIDE sum = (WIDE)(T)(PRODUCT) + c[i] + (carry >> i & 1);                                                   \
            r[i] = (T)sum;                                                                                             \
            out |= (uint32_t)(sum >> BITS & 1) << i;                                                                   \
        }                                                                                                              \
        PUT(warp, op->d, r);                                                                                           \
        if (op->imm & CARRY_OUT)                                                                                       \
            emu_put_carry(warp, out);                                                                                  \
        return op + 1;                                                                                                 \
    }
CARRY_MAD(mad32_lo_carry, uint32_t, uint64_t, emu_put32, EMU_W, 32, x *y)
CARRY_MAD(mad_hi_u32_carry, uint32_t, uint64_t, emu_put32, EMU_W, 32, high_u32(x, y))
CARRY_MAD(mad_hi_s32_carry, uint32_t, uint64_t, emu_put32, EMU_W, 32, high_s32(x, y))
CARRY_MAD(mad64_lo_carry, uint64_t, wide_u, emu_put64, EMU_L, 64, x *y)
CARRY_MAD(mad_hi_u64_carry, uint64_t, wide_u, emu_put64, EMU_L, 64, high_u64(x, y))
CARRY_MAD(mad_hi_s64_carry, uint64_t, wide_u, emu_put64, EMU_L, 64, high_s64(x, y))

/* The low 24 bits of both; lo: bits 31..0 of the 48-bit product, hi: bits 47..16. */
static inline uint64_t product24_u(uint32_t x, uint32_t y)
{
    return (uint64_t)(x & 0xffffff) * (y & 0xffffff);
}

static inline uint64_t product24_s(uint32_t x, uint32_t y)
{
    return (uint64_t)((int64_t)((int32_t)(x << 8) >> 8) * ((int32_t)(y << 8) >> 8));
}

EMU_BINARY32(mul24_lo_u, product24_u(x, y))
EMU_BINARY32(mul24_hi_u, product24_u(x, y) >> 16)
EMU_BINARY32(mul24_lo_s, product24_s(x, y))
EMU_BINARY32(mul24_hi_s, product24_s(x, y) >> 16)
EMU_TERNARY32(mad24_lo_u, product24_u(x, y) + z)
EMU_TERNARY32(mad24_hi_u, (product24_u(x, y) >> 16) + z)
EMU_TERNARY32(mad24_lo_s, product24_s(x, y) + z)
EMU_TERNARY32(mad24_hi_s, (product24_s(x, y) >> 16) + z)
EMU_TERNARY32(mad24_hi_sat, saturate_s32((int64_t)(int32_t)(uint32_t)(product24_s(x, y) >> 16) + (int32_t)z))

static inline uint32_t distance_s(uint32_t x, uint32_t y)
{
    return (int32_t)x < (int32_t)y ? y - x : x - y;
}

EMU_TERNARY32(sad_u16, ((x < y ? y - x : x - y) + z) & 0xffff)
EMU_TERNARY32(sad_s16, (distance_s(sext16(x), sext16(y)) + z) & 0xffff)
EMU_TERNARY32(sad_u32, (x < y ? y - x : x - y) + z)
EMU_TERNARY32(sad_s32, distance_s(x, y) + z)
EMU_TERNARY64(sad_u64, (x < y ? y - x : x - y) + z)
EMU_TERNARY64(sad_s64, ((int64_t)x < (int64_t)y ? y - x : x - y) + z)

/* Division by zero gives all ones, as quotient and as remainder; the smallest number by -1 gives itself. */
static inline uint32_t quotient_s32(uint32_t x, uint32_t y)
{
    return y == 0 ? UINT32_MAX : y == UINT32_MAX ? 0 - x : (uint32_t)((int32_t)x / (int32_t)y);
}

static inline uint32_t remainder_s32(uint32_t x, uint32_t y)
{
    return y == 0 ? UINT32_MAX : y == UINT32_MAX ? 0 : (uint32_t)((int32_t)x % (int32_t)y);
}

static inline uint64_t quotient_s64(uint64_t x, uint64_t y)
{
    return y == 0 ? UINT64_MAX : y == UINT64_MAX ? 0 - x : (uint64_t)((int64_t)x / (int64_t)y);
}

static inline uint64_t remainder_s64(uint64_t x, uint64_t y)
{
    return y == 0 ? UINT64_MAX : y == UINT64_MAX ? 0 : (uint64_t)((int64_t)x % (int64_t)y);
}

EMU_BINARY32(div_u16, y ? (uint32_t)(x / y) : 0xffffu)
EMU_BINARY32(div_s16, quotient_s32(sext16(x), sext16(y)) & 0xffff)
EMU_BINARY32(div_u32, y ? x / y : UINT32_MAX)
EMU_BINARY32(div_s32, quotient_s32(x, y))
EMU_BINARY64(div_u64, y ? x / y : UINT64_MAX)
EMU_BINARY64(div_s64, quotient_s64(x, y))
EMU_BINARY32(rem_u16, y ? x % y : 0xffffu)
EMU_BINARY32(rem_s16, remainder_s32(sext16(x), sext16(y)) & 0xffff)
EMU_BINARY32(rem_u32, y ? x % y : UINT32_MAX)
EMU_BINARY32(rem_s32, remainder_s32(x, y))
EMU_BINARY64(rem_u64, y ? x % y : UINT64_MAX)
EMU_BINARY64(rem_s64, remainder_s64(x, y))

/* ---- Signs, least and greatest ----------------------------------------------------------------------------------- */

EMU_UNARY32(abs16, ((x & 0x8000) ? 0 - x : x) & 0xffff)
EMU_UNARY32(abs32, (x >> 31) ? 0 - x : x)
EMU_UNARY64(abs64, (x >> 63) ? 0 - x : x)
EMU_UNARY32(neg16, (0 - x) & 0xffff)
EMU_UNARY32(neg32, 0 - x)
EMU_UNARY64(neg64, 0 - x)
EMU_BINARY32(min_u32, x < y ? x : y)
EMU_BINARY32(max_u32, x > y ? x : y)
EMU_BINARY32(min_s16, min_s(sext16(x), sext16(y)) & 0xffff)
EMU_BINARY32(max_s16, max_s(sext16(x), sext16(y)) & 0xffff)
EMU_BINARY32(min_s32, min_s(x, y))
EMU_BINARY32(max_s32, max_s(x, y))
EMU_BINARY32(min_s32_relu, max_s(min_s(x, y), 0))
EMU_BINARY32(max_s32_relu, max_s(max_s(x, y), 0))
EMU_BINARY64(min_u64, x < y ? x : y)
EMU_BINARY64(max_u64, x > y ? x : y)
EMU_BINARY64(min_s64, (int64_t)x < (int64_t)y ? x : y)
EMU_BINARY64(max_s64, (int64_t)x > (int64_t)y ? x : y)

static inline uint32_t least_u16(uint32_t x, uint32_t y)
{
    x &= 0xffff, y &= 0xffff;
    return x < y ? x : y;
}

static inline uint32_t most_u16(uint32_t x, uint32_t y)
{
    x &= 0xffff, y &= 0xffff;
    return x > y ? x : y;
}

EMU_BINARY32(min_u16x2, halves(least_u16(x, y), least_u16(x >> 16, y >> 16)))
EMU_BINARY32(max_u16x2, halves(most_u16(x, y), most_u16(x >> 16, y >> 16)))
EMU_BINARY32(min_s16x2, halves(min_s(sext16(x), sext16(y)), min_s(sext16(x >> 16), sext16(y >> 16))))
EMU_BINARY32(max_s16x2, halves(max_s(sext16(x), sext16(y)), max_s(sext16(x >> 16), sext16(y >> 16))))
EMU_BINARY32(min_s16x2_relu,
             halves(max_s(min_s(sext16(x), sext16(y)), 0), max_s(min_s(sext16(x >> 16), sext16(y >> 16)), 0)))
EMU_BINARY32(max_s16x2_relu,
             halves(max_s(max_s(sext16(x), sext16(y)), 0), max_s(max_s(sext16(x >> 16), sext16(y >> 16)), 0)))

/* ---- Dot products ------------------------------------------------------------------------------------------------ */

static inline uint32_t part(uint32_t x, unsigned bits, unsigned index, int is_signed)
{
    uint32_t top = x << (32 - bits - index * bits);
    return is_signed ? (uint32_t)((int32_t)top >> (32 - bits)) : top >> (32 - bits);
}

/* imm: bit 0 a is signed, bit 1 b is signed, bit 2 dp2a.hi */
EMU_TERNARY32(dp4a, z + part(x, 8, 0, op->imm & 1) * part(y, 8, 0, op->imm & 2) +
                        part(x, 8, 1, op->imm & 1) * part(y, 8, 1, op->imm & 2) +
                        part(x, 8, 2, op->imm & 1) * part(y, 8, 2, op->imm & 2) +
                        part(x, 8, 3, op->imm & 1) * part(y, 8, 3, op->imm & 2))
EMU_TERNARY32(dp2a, z + part(x, 16, 0, op->imm & 1) * part(y, 8, op->imm & 4 ? 2 : 0, op->imm & 2) +
                        part(x, 16, 1, op->imm & 1) * part(y, 8, op->imm & 4 ? 3 : 1, op->imm & 2))

/* ---- Table ------------------------------------------------------------------------------------------------------- */

#define BOTH(OPCODE, OPERATION, BITS, OPERANDS, RUN)                                                                   \
    EMU_ROW_OP(OPCODE, OPERATION, U##BITS, OPERANDS, RUN), EMU_ROW_OP(OPCODE, OPERATION, S##BITS, OPERANDS, RUN)
#define CARRY(OPCODE, OPERATION, TYPE, FLAGS, OPERANDS, RUN, IMM)                                                      \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .type0 = PTX_##TYPE, .operation = PTX_MOD_##OPERATION, .mask = PTX_FLAG(CC),        \
        .bits = (FLAGS), .operands = OPERANDS, .run = RUN, .imm = (IMM)                                                \
    }
#define CARRIES(OPCODE, NEXT, OPERATION, BITS, OPERANDS, RUN_U, RUN_S)                                                 \
    CARRY(OPCODE, OPERATION, U##BITS, PTX_FLAG(CC), OPERANDS, RUN_U, CARRY_OUT),                                       \
        CARRY(OPCODE, OPERATION, S##BITS, PTX_FLAG(CC), OPERANDS, RUN_S, CARRY_OUT),                                   \
        CARRY(NEXT, OPERATION, U##BITS, 0, OPERANDS, RUN_U, CARRY_IN),                                                 \
        CARRY(NEXT, OPERATION, S##BITS, 0, OPERANDS, RUN_S, CARRY_IN),                                                 \
        CARRY(NEXT, OPERATION, U##BITS, PTX_FLAG(CC), OPERANDS, RUN_U, CARRY_IN | CARRY_OUT),                          \
        CARRY(NEXT, OPERATION, S##BITS, PTX_FLAG(CC), OPERANDS, RUN_S, CARRY_IN | CARRY_OUT)
#define DP(OPCODE, OPERATION, A, B, RUN, IMM)                                                                          \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .operation = PTX_MOD_##OPERATION, .type0 = PTX_##A, .type1 = PTX_##B,               \
        .operands = "wwww", .run = RUN, .imm = (IMM)                                                                   \
    }
#define DPS(OPCODE, OPERATION, RUN, IMM)                                                                               \
    DP(OPCODE, OPERATION, U32, U32, RUN, IMM), DP(OPCODE, OPERATION, S32, U32, RUN, (IMM) + 1),                        \
        DP(OPCODE, OPERATION, U32, S32, RUN, (IMM) + 2), DP(OPCODE, OPERATION, S32, S32, RUN, (IMM) + 3)

#define SAT PTX_FLAG(SAT)
#define RELU PTX_FLAG(RELU)

static const struct emu_row rows[] = {
    /* with .cc before without: the first row that matches is taken */
    CARRIES(ADD, ADDC, NONE, 32, "www", add32_carry, add32_carry),
    CARRIES(ADD, ADDC, NONE, 64, "lll", add64_carry, add64_carry),
    CARRIES(SUB, SUBC, NONE, 32, "www", sub32_carry, sub32_carry),
    CARRIES(SUB, SUBC, NONE, 64, "lll", sub64_carry, sub64_carry),
    CARRIES(MAD, MADC, LO, 32, "wwww", mad32_lo_carry, mad32_lo_carry),
    CARRIES(MAD, MADC, HI, 32, "wwww", mad_hi_u32_carry, mad_hi_s32_carry),
    CARRIES(MAD, MADC, LO, 64, "llll", mad64_lo_carry, mad64_lo_carry),
    CARRIES(MAD, MADC, HI, 64, "llll", mad_hi_u64_carry, mad_hi_s64_carry),
    BOTH(ADD, NONE, 16, "www", add16),
    EMU_ROW_IF(ADD, S32, SAT, SAT, "www", add_sat),
    BOTH(ADD, NONE, 32, "www", add32),
    BOTH(ADD, NONE, 64, "lll", add64),
    BOTH(ADD, NONE, 16X2, "www", add16x2),
    BOTH(SUB, NONE, 16, "www", sub16),
    EMU_ROW_IF(SUB, S32, SAT, SAT, "www", sub_sat),
    BOTH(SUB, NONE, 32, "www", sub32),
    BOTH(SUB, NONE, 64, "lll", sub64),
    BOTH(MUL, LO, 16, "www", mul16_lo),
    BOTH(MUL, LO, 32, "www", mul32_lo),
    BOTH(MUL, LO, 64, "lll", mul64_lo),
    EMU_ROW_OP(MUL, HI, U16, "www", mul_hi_u16),
    EMU_ROW_OP(MUL, HI, S16, "www", mul_hi_s16),
    EMU_ROW_OP(MUL, HI, U32, "www", mul_hi_u32),
    EMU_ROW_OP(MUL, HI, S32, "www", mul_hi_s32),
    EMU_ROW_OP(MUL, HI, U64, "lll", mul_hi_u64),
    EMU_ROW_OP(MUL, HI, S64, "lll", mul_hi_s64),
    EMU_ROW_OP(MUL, WIDE, U16, "www", mul_wide_u16),
    EMU_ROW_OP(MUL, WIDE, S16, "www", mul_wide_s16),
    EMU_ROW_OP(MUL, WIDE, U32, "lww", mul_wide_u32),
    EMU_ROW_OP(MUL, WIDE, S32, "lww", mul_wide_s32),
    {.opcode = PTX_OP_MAD,
     .type0 = PTX_S32,
     .operation = PTX_MOD_HI,
     .mask = SAT,
     .bits = SAT,
     .operands = "wwww",
     .run = mad_hi_sat},
    BOTH(MAD, LO, 16, "wwww", mad16_lo),
    BOTH(MAD, LO, 32, "wwww", mad32_lo),
    BOTH(MAD, LO, 64, "llll", mad64_lo),
    EMU_ROW_OP(MAD, HI, U16, "wwww", mad_hi_u16),
    EMU_ROW_OP(MAD, HI, S16, "wwww", mad_hi_s16),
    EMU_ROW_OP(MAD, HI, U32, "wwww", mad_hi_u32),
    EMU_ROW_OP(MAD, HI, S32, "wwww", mad_hi_s32),
    EMU_ROW_OP(MAD, HI, U64, "llll", mad_hi_u64),
    EMU_ROW_OP(MAD, HI, S64, "llll", mad_hi_s64),
    EMU_ROW_OP(MAD, WIDE, U16, "wwww", mad_wide_u16),
    EMU_ROW_OP(MAD, WIDE, S16, "wwww", mad_wide_s16),
    EMU_ROW_OP(MAD, WIDE, U32, "lwwl", mad_wide_u32),
    EMU_ROW_OP(MAD, WIDE, S32, "lwwl", mad_wide_s32),
    EMU_ROW_OP(MUL24, LO, U32, "www", mul24_lo_u),
    EMU_ROW_OP(MUL24, HI, U32, "www", mul24_hi_u),
    EMU_ROW_OP(MUL24, LO, S32, "www", mul24_lo_s),
    EMU_ROW_OP(MUL24, HI, S32, "www", mul24_hi_s),
    {.opcode = PTX_OP_MAD24,
     .type0 = PTX_S32,
     .operation = PTX_MOD_HI,
     .mask = SAT,
     .bits = SAT,
     .operands = "wwww",
     .run = mad24_hi_sat},
    EMU_ROW_OP(MAD24, LO, U32, "wwww", mad24_lo_u),
    EMU_ROW_OP(MAD24, HI, U32, "wwww", mad24_hi_u),
    EMU_ROW_OP(MAD24, LO, S32, "wwww", mad24_lo_s),
    EMU_ROW_OP(MAD24, HI, S32, "wwww", mad24_hi_s),
    EMU_ROW(SAD, U16, "wwww", sad_u16),
    EMU_ROW(SAD, S16, "wwww", sad_s16),
    EMU_ROW(SAD, U32, "wwww", sad_u32),
    EMU_ROW(SAD, S32, "wwww", sad_s32),
    EMU_ROW(SAD, U64, "llll", sad_u64),
    EMU_ROW(SAD, S64, "llll", sad_s64),
    EMU_ROW(DIV, U16, "www", div_u16),
    EMU_ROW(DIV, S16, "www", div_s16),
    EMU_ROW(DIV, U32, "www", div_u32),
    EMU_ROW(DIV, S32, "www", div_s32),
    EMU_ROW(DIV, U64, "lll", div_u64),
    EMU_ROW(DIV, S64, "lll", div_s64),
    EMU_ROW(REM, U16, "www", rem_u16),
    EMU_ROW(REM, S16, "www", rem_s16),
    EMU_ROW(REM, U32, "www", rem_u32),
    EMU_ROW(REM, S32, "www", rem_s32),
    EMU_ROW(REM, U64, "lll", rem_u64),
    EMU_ROW(REM, S64, "lll", rem_s64),
    EMU_ROW(ABS, S16, "ww", abs16),
    EMU_ROW(ABS, S32, "ww", abs32),
    EMU_ROW(ABS, S64, "ll", abs64),
    EMU_ROW(NEG, S16, "ww", neg16),
    EMU_ROW(NEG, S32, "ww", neg32),
    EMU_ROW(NEG, S64, "ll", neg64),
    EMU_ROW_IF(MIN, S32, RELU, RELU, "www", min_s32_relu),
    EMU_ROW_IF(MAX, S32, RELU, RELU, "www", max_s32_relu),
    EMU_ROW_IF(MIN, S16X2, RELU, RELU, "www", min_s16x2_relu),
    EMU_ROW_IF(MAX, S16X2, RELU, RELU, "www", max_s16x2_relu),
    EMU_ROW(MIN, U16, "www", min_u32),
    EMU_ROW(MAX, U16, "www", max_u32),
    EMU_ROW(MIN, S16, "www", min_s16),
    EMU_ROW(MAX, S16, "www", max_s16),
    EMU_ROW(MIN, U32, "www", min_u32),
    EMU_ROW(MAX, U32, "www", max_u32),
    EMU_ROW(MIN, S32, "www", min_s32),
    EMU_ROW(MAX, S32, "www", max_s32),
    EMU_ROW(MIN, U64, "lll", min_u64),
    EMU_ROW(MAX, U64, "lll", max_u64),
    EMU_ROW(MIN, S64, "lll", min_s64),
    EMU_ROW(MAX, S64, "lll", max_s64),
    EMU_ROW(MIN, U16X2, "www", min_u16x2),
    EMU_ROW(MAX, U16X2, "www", max_u16x2),
    EMU_ROW(MIN, S16X2, "www", min_s16x2),
    EMU_ROW(MAX, S16X2, "www", max_s16x2),
    DPS(DP4A, NONE, dp4a, 0),
    DPS(DP2A, LO, dp2a, 0),
    DPS(DP2A, HI, dp2a, 4),
};

struct emu_rows emu_rows_int(void)
{
    return (struct emu_rows){rows, sizeof rows / sizeof rows[0]};
}
