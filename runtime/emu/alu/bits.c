/* Bits, shifts, comparison of integers, selection and moves. */
#include "handlers.h"

#include "floats.h"

/* ---- Logic ------------------------------------------------------------------------------------------------------- */

EMU_BINARY32(and32, x &y)
EMU_BINARY32(or32, x | y)
EMU_BINARY32(xor32, x ^ y)
EMU_UNARY32(not16, ~x & 0xffff)
EMU_UNARY32(not32, ~x)
EMU_UNARY32(cnot32, x == 0)
EMU_BINARY64(and64, x &y)
EMU_BINARY64(or64, x | y)
EMU_BINARY64(xor64, x ^ y)
EMU_UNARY64(not64, ~x)
EMU_UNARY64(cnot64, x == 0)

EMU_HANDLER(and_pred)
{
    emu_put_pred(warp, op->d, emu_pred(warp, op->a) & emu_pred(warp, op->b));
    return op + 1;
}
EMU_HANDLER(or_pred)
{
    emu_put_pred(warp, op->d, emu_pred(warp, op->a) | emu_pred(warp, op->b));
    return op + 1;
}
EMU_HANDLER(xor_pred)
{
    emu_put_pred(warp, op->d, emu_pred(warp, op->a) ^ emu_pred(warp, op->b));
    return op + 1;
}
EMU_HANDLER(not_pred)
{
    emu_put_pred(warp, op->d, ~emu_pred(warp, op->a));
    return op + 1;
}
EMU_HANDLER(mov_pred)
{
    emu_put_pred(warp, op->d, emu_pred(warp, op->a));
    return op + 1;
}

/* imm: the truth table, as PTX numbers it: bit 4a + 2b + c */
static inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t r = 0;
    r |= table & 1 ? ~a & ~b & ~c : 0;
    r |= table & 2 ? ~a & ~b & c : 0;
    r |= table & 4 ? ~a & b & ~c : 0;
    r |= table & 8 ? ~a & b & c : 0;
    r |= table & 16 ? a & ~b & ~c : 0;
    r |= table & 32 ? a & ~b & c : 0;
    r |= table & 64 ? a & b & ~c : 0;
    r |= table & 128 ? a & b & c : 0;
    return r;
}

EMU_HANDLER(lop3_32)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES];
    uint32_t table = (uint32_t)op->imm;
    EMU_EACH r[i] = lop3(a[i], b[i], c[i], table);
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* lop3.and.b32 d|p, a, b, c, table, q: extra holds p, the source predicate and which */
EMU_HANDLER(lop3_pred)
{
    const struct emu_list *list = op->extra;
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES], bits = 0;
    uint32_t table = (uint32_t)op->imm;
    EMU_EACH
    {
        r[i] = lop3(a[i], b[i], c[i], table);
        bits |= r[i] ? 1u << i : 0;
    }
    uint32_t with = emu_pred(warp, list->at[1]);
    emu_put32(warp, op->d, r);
    emu_put_pred(warp, list->at[0], list->at[2] ? bits | with : bits & with);
    return op + 1;
}
const emu_handler emu_op_lop3_pred = lop3_pred;
const emu_handler emu_op_lop3 = lop3_32;

/* ---- Shifts ------------------------------------------------------------------------------------------------------ */

#define SHIFT64(name, e) EMU_BINARY(name, uint64_t, emu_put64, uint64_t, EMU_L, uint32_t, EMU_W, e)
#define SRA(T, x, y, most) ((T)(x) >> ((y) > (most) ? (most) : (y)))

EMU_BINARY32(shl16, y > 15 ? 0 : (x << y) & 0xffff)
EMU_BINARY32(shl32, y > 31 ? 0 : x << y)
SHIFT64(shl64, y > 63 ? 0 : x << y)
EMU_BINARY32(shr_u16, y > 15 ? 0 : x >> y)
EMU_BINARY32(shr_u32, y > 31 ? 0 : x >> y)
SHIFT64(shr_u64, y > 63 ? 0 : x >> y)
EMU_BINARY32(shr_s16, (uint32_t)SRA(int32_t, (int16_t)x, y, 15) & 0xffff)
EMU_BINARY32(shr_s32, SRA(int32_t, x, y, 31))
SHIFT64(shr_s64, SRA(int64_t, x, y, 63))

/* The same by a constant: imm, already limited to the width. */
EMU_UNARY32(shl32_by, x << op->imm)
EMU_UNARY32(shr_u32_by, x >> op->imm)
EMU_UNARY32(shr_s32_by, (int32_t)x >> op->imm)
EMU_UNARY64(shl64_by, x << op->imm)
EMU_UNARY64(shr_u64_by, x >> op->imm)
EMU_UNARY64(shr_s64_by, (int64_t)x >> op->imm)

emu_handler emu_shift_by(emu_handler run, uint64_t *amount)
{
    static const struct {
        emu_handler run, by;
        unsigned bits, arithmetic;
    } table[] = {{shl32, shl32_by, 32, 0}, {shr_u32, shr_u32_by, 32, 0}, {shr_s32, shr_s32_by, 32, 1},
                 {shl64, shl64_by, 64, 0}, {shr_u64, shr_u64_by, 64, 0}, {shr_s64, shr_s64_by, 64, 1}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].run != run)
            continue;
        if (*amount < table[i].bits)
            return table[i].by;
        if (!table[i].arithmetic)
            return NULL;
        *amount = table[i].bits - 1;
        return table[i].by;
    }
    return NULL;
}

static inline uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t n)
{
    return n == 0 ? high : n >= 32 ? low : high << n | low >> (32 - n);
}

static inline uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t n)
{
    return n == 0 ? low : n >= 32 ? high : low >> n | high << (32 - n);
}

EMU_TERNARY32(shf_l_wrap, funnel_left(x, y, z & 31))
EMU_TERNARY32(shf_l_clamp, funnel_left(x, y, z))
EMU_TERNARY32(shf_r_wrap, funnel_right(x, y, z & 31))
EMU_TERNARY32(shf_r_clamp, funnel_right(x, y, z))

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

static inline uint32_t reverse32(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

static inline uint32_t ones32(uint32_t x)
{
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f;
    return x * 0x01010101 >> 24;
}

static inline uint32_t zeros32(uint32_t x)
{
    return x ? (uint32_t)__builtin_clz(x) : 32;
}

static inline uint32_t zeros64(uint64_t x)
{
    return x ? (uint32_t)__builtin_clzll(x) : 64;
}

#define NARROW(name, e) EMU_UNARY(name, uint32_t, emu_put32, uint64_t, EMU_L, e)

EMU_UNARY32(brev32, reverse32(x))
EMU_UNARY64(brev64, (uint64_t)reverse32((uint32_t)x) << 32 | reverse32((uint32_t)(x >> 32)))
EMU_UNARY32(popc32, ones32(x))
NARROW(popc64, ones32((uint32_t)x) + ones32((uint32_t)(x >> 32)))
EMU_UNARY32(clz32, zeros32(x))
NARROW(clz64, zeros64(x))

/* The highest bit that is no sign; -1 where there is none. imm 1: the shift that brings it to the top. */
static inline uint32_t find32(uint32_t x, uint64_t shift)
{
    uint32_t zeros = zeros32(x);
    return zeros == 32 ? UINT32_MAX : shift ? zeros : 31 - zeros;
}

static inline uint32_t find64(uint64_t x, uint64_t shift)
{
    uint32_t zeros = zeros64(x);
    return zeros == 64 ? UINT32_MAX : shift ? zeros : 63 - zeros;
}

EMU_UNARY32(bfind_u32, find32(x, op->imm))
EMU_UNARY32(bfind_s32, find32((x >> 31) ? ~x : x, op->imm))
NARROW(bfind_u64, find64(x, op->imm))
NARROW(bfind_s64, find64((x >> 63) ? ~x : x, op->imm))

static inline uint64_t low_bits(uint32_t n)
{
    return n > 63 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Place and length of a field: their low 8 bits for 32-bit instructions; those of 64 bits take them as they are. */
static inline uint32_t field_number(uint32_t n, unsigned bits)
{
    return bits == 32 ? n & 0xff : n > 0xff ? 0xff : n;
}

/* The sign bit is that at the top of the field, or of the value where the field goes beyond it. */
static inline uint64_t extract(uint64_t x, uint32_t at, uint32_t length, unsigned bits, int is_signed)
{
    at = field_number(at, bits), length = field_number(length, bits);
    uint64_t field = at > bits - 1 ? 0 : (x & low_bits(bits)) >> at & low_bits(length);
    if (!is_signed || !length)
        return field;
    uint32_t top = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
    uint64_t negative = x >> top & 1;
    uint32_t have = at > bits - 1 ? 0 : length < bits - at ? length : bits - at;
    return negative ? field | ~low_bits(have) : field & low_bits(have);
}

#define EXTRACT64(name, s)                                                                                             \
    EMU_TERNARY(name, uint64_t, emu_put64, uint64_t, EMU_L, uint32_t, EMU_W, uint32_t, EMU_W, extract(x, y, z, 64, s))
EMU_TERNARY32(bfe_u32, extract(x, y, z, 32, 0))
EMU_TERNARY32(bfe_s32, extract(x, y, z, 32, 1))
EXTRACT64(bfe_u64, 0)
EXTRACT64(bfe_s64, 1)

static inline uint64_t insert(uint64_t field, uint64_t base, uint32_t at, uint32_t length, unsigned bits)
{
    at = field_number(at, bits), length = field_number(length, bits);
    if (at > bits - 1)
        return base;
    uint64_t mask = low_bits(length) << at;
    return (base & ~mask) | (field << at & mask);
}

EMU_HANDLER(bfi32)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c), *e = EMU_W(op->e);
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] = (uint32_t)insert(a[i], b[i], c[i], e[i], 32);
    emu_put32(warp, op->d, r);
    return op + 1;
}
EMU_HANDLER(bfi64)
{
    const uint64_t *a = EMU_L(op->a), *b = EMU_L(op->b);
    const uint32_t *c = EMU_W(op->c), *e = EMU_W(op->e);
    uint64_t r[EMU_LANES];
    EMU_EACH r[i] = insert(a[i], b[i], c[i], e[i], 64);
    emu_put64(warp, op->d, r);
    return op + 1;
}

/* The position of the n-th set bit of x from `base` on, upwards for n > 0, downwards for n < 0; n = 0: base itself if
   set. All ones where there is none. */
static inline uint32_t find_nth(uint32_t x, uint32_t base, uint32_t n)
{
    int32_t left = (int32_t)n;
    if (left == 0)
        return base < 32 && (x >> base & 1) ? base : UINT32_MAX;
    int step = left > 0 ? 1 : -1;
    left = left > 0 ? left : left == INT32_MIN ? INT32_MAX : -left;
    for (int64_t at = base; at >= 0 && at < 32; at += step)
        if ((x >> at & 1) && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}
EMU_TERNARY32(fns32, find_nth(x, y, z))

/* bmsk: a mask of y bits from bit x on; clamp limits both to 32, wrap takes the low 5 bits. */
static inline uint32_t bit_mask(uint32_t at, uint32_t n)
{
    return at > 31 ? 0 : (uint32_t)(low_bits(n) << at);
}
EMU_BINARY32(bmsk_clamp, bit_mask(x, y > 32 ? 32 : y))
EMU_BINARY32(bmsk_wrap, bit_mask(x & 31, y & 31))

/* szext: the low y bits with their sign. */
static inline uint32_t size_extend(uint32_t x, uint32_t n, int is_signed)
{
    if (n > 31)
        return x;
    if (!n)
        return 0;
    x &= (1u << n) - 1;
    return is_signed && (x >> (n - 1) & 1) ? x | ~((1u << n) - 1) : x;
}
EMU_BINARY32(szext_clamp_u, size_extend(x, y, 0))
EMU_BINARY32(szext_clamp_s, size_extend(x, y, 1))
EMU_BINARY32(szext_wrap_u, size_extend(x, y & 31, 0))
EMU_BINARY32(szext_wrap_s, size_extend(x, y & 31, 1))

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

static inline uint32_t pick(uint64_t bytes, uint32_t selector, int with_sign)
{
    uint32_t byte = (uint32_t)(bytes >> ((selector & 7) * 8)) & 0xff;
    return with_sign && (selector & 8) ? (byte & 0x80 ? 0xff : 0) : byte;
}

static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t s0, uint32_t s1, uint32_t s2, uint32_t s3, int sign)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    return pick(bytes, s0, sign) | pick(bytes, s1, sign) << 8 | pick(bytes, s2, sign) << 16 |
           pick(bytes, s3, sign) << 24;
}

static inline uint32_t least(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

static inline uint32_t most(uint32_t x, uint32_t y)
{
    return x > y ? x : y;
}

EMU_TERNARY32(prmt_plain, permute(x, y, z, z >> 4, z >> 8, z >> 12, 1))
EMU_TERNARY32(prmt_f4e, permute(x, y, z & 3, (z & 3) + 1, (z & 3) + 2, (z & 3) + 3, 0))
EMU_TERNARY32(prmt_b4e, permute(x, y, z & 3, ((z & 3) + 7) & 7, ((z & 3) + 6) & 7, ((z & 3) + 5) & 7, 0))
EMU_TERNARY32(prmt_rc8, permute(x, y, z & 3, z & 3, z & 3, z & 3, 0))
EMU_TERNARY32(prmt_ecl, permute(x, y, z & 3, most(z & 3, 1), most(z & 3, 2), 3, 0))
EMU_TERNARY32(prmt_ecr, permute(x, y, 0, least(z & 3, 1), least(z & 3, 2), z & 3, 0))
EMU_TERNARY32(prmt_rc16, permute(x, y, z & 1 ? 2 : 0, z & 1 ? 3 : 1, z & 1 ? 2 : 0, z & 1 ? 3 : 1, 0))

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

/* setp: d and a the destinations (0: none, which is the sink), e the predicate that is combined, imm how. set: imm 1
   gives 1.0 for true, else all ones; b holds the predicate. */
const struct emu_op *emu_setp_end(struct emu_warp *warp, const struct emu_op *op, uint32_t bits)
{
    uint32_t yes = bits, no = ~bits;
    if (op->imm) {
        uint32_t with = emu_pred(warp, op->e);
        switch (op->imm) {
        case PTX_MOD_AND:
            yes &= with, no &= with;
            break;
        case PTX_MOD_OR:
            yes |= with, no |= with;
            break;
        default:
            yes ^= with, no ^= with;
            break;
        }
    }
    emu_put_pred(warp, op->d, yes);
    if (op->a)
        emu_put_pred(warp, op->a, no);
    return op + 1;
}

#define COMPARE(name, T, S, AT, OPERATOR)                                                                              \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const T *b = AT(op->b), *c = AT(op->c);                                                                        \
        uint32_t bits = 0;                                                                                             \
        EMU_EACH bits |= (S)b[i] OPERATOR(S) c[i] ? emu_lane_bits[i] : 0;                                              \
        return emu_setp_end(warp, op, bits);                                                                           \
    }
#define COMPARES(suffix, T, S, AT)                                                                                     \
    COMPARE(eq_##suffix, T, S, AT, ==)                                                                                 \
    COMPARE(ne_##suffix, T, S, AT, !=)                                                                                 \
    COMPARE(lt_##suffix, T, S, AT, <)                                                                                  \
    COMPARE(le_##suffix, T, S, AT, <=)                                                                                 \
    COMPARE(gt_##suffix, T, S, AT, >)                                                                                  \
    COMPARE(ge_##suffix, T, S, AT, >=)
COMPARES(u32, uint32_t, uint32_t, EMU_W)
COMPARES(s32, uint32_t, int32_t, EMU_W)
COMPARES(s16, uint32_t, int16_t, EMU_W)
COMPARES(u64, uint64_t, uint64_t, EMU_L)
COMPARES(s64, uint64_t, int64_t, EMU_L)

/* set: the comparison is made by the setp handler in front, into a predicate of the lowering; this turns it into
   words. imm: what true is. */
EMU_HANDLER(set_word)
{
    uint32_t bits = emu_pred(warp, op->a), r[EMU_LANES], yes = (uint32_t)op->imm;
    EMU_EACH r[i] = bits & emu_lane_bits[i] ? yes : 0;
    emu_put32(warp, op->d, r);
    return op + 1;
}
const emu_handler emu_op_set_word = set_word;

EMU_HANDLER(selp32)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b);
    uint32_t bits = emu_pred(warp, op->c), r[EMU_LANES];
    EMU_EACH r[i] = bits & emu_lane_bits[i] ? a[i] : b[i];
    emu_put32(warp, op->d, r);
    return op + 1;
}
EMU_HANDLER(selp64)
{
    const uint64_t *a = EMU_L(op->a), *b = EMU_L(op->b);
    uint32_t bits = emu_pred(warp, op->c);
    uint64_t r[EMU_LANES];
    EMU_EACH r[i] = bits & emu_lane_bits[i] ? a[i] : b[i];
    emu_put64(warp, op->d, r);
    return op + 1;
}

#define SLCT64(name, e) EMU_TERNARY(name, uint64_t, emu_put64, uint64_t, EMU_L, uint64_t, EMU_L, uint32_t, EMU_W, e)
EMU_TERNARY32(slct32_s32, (int32_t)z >= 0 ? x : y)
EMU_TERNARY32(slct32_f32, emu_float(z) >= 0 ? x : y)
EMU_TERNARY32(slct32_ftz, emu_float(z) >= 0 || (z & 0x7f800000) == 0 ? x : y)
SLCT64(slct64_s32, (int32_t)z >= 0 ? x : y)
SLCT64(slct64_f32, emu_float(z) >= 0 ? x : y)
SLCT64(slct64_ftz, emu_float(z) >= 0 || (z & 0x7f800000) == 0 ? x : y)

/* ---- Moves ------------------------------------------------------------------------------------------------------- */

EMU_HANDLER(mov32)
{
    emu_put32(warp, op->d, EMU_W(op->a));
    return op + 1;
}
EMU_HANDLER(mov64)
{
    emu_put64(warp, op->d, EMU_L(op->a));
    return op + 1;
}
EMU_HANDLER(mov128)
{
    const uint64_t *a = EMU_L(op->a);
    uint64_t *d = EMU_L(op->d);
    uint32_t mask = emu_lanes(warp)->mask;
    EMU_EACH
    {
        if (mask >> i & 1)
            d[2 * i] = a[2 * i], d[2 * i + 1] = a[2 * i + 1];
    }
    return op + 1;
}
const emu_handler emu_op_mov32 = mov32, emu_op_mov64 = mov64, emu_op_mov128 = mov128, emu_op_mov_pred = mov_pred;

/* ---- Table ------------------------------------------------------------------------------------------------------- */

#define PAIR(OPCODE, BITS, OPERANDS, RUN) EMU_ROW(OPCODE, B##BITS, OPERANDS, RUN)
#define LOGIC(OPCODE, name)                                                                                            \
    EMU_ROW(OPCODE, B16, "www", name##32), EMU_ROW(OPCODE, B32, "www", name##32),                                      \
        EMU_ROW(OPCODE, B64, "lll", name##64), EMU_ROW(OPCODE, PRED, "ppp", name##_pred)
#define SETP(COMPARE_, TYPE, OPERANDS, RUN)                                                                            \
    {                                                                                                                  \
        .opcode = PTX_OP_SETP, .type0 = PTX_##TYPE, .compare = PTX_MOD_##COMPARE_, .operands = OPERANDS, .run = RUN    \
    }
#define SETPS(TYPE, OPERANDS, suffix)                                                                                  \
    SETP(EQ, TYPE, OPERANDS, eq_##suffix), SETP(NE, TYPE, OPERANDS, ne_##suffix),                                      \
        SETP(LT, TYPE, OPERANDS, lt_##suffix), SETP(LE, TYPE, OPERANDS, le_##suffix),                                  \
        SETP(GT, TYPE, OPERANDS, gt_##suffix), SETP(GE, TYPE, OPERANDS, ge_##suffix),                                  \
        SETP(LO, TYPE, OPERANDS, lt_##suffix), SETP(LS, TYPE, OPERANDS, le_##suffix),                                  \
        SETP(HI, TYPE, OPERANDS, gt_##suffix), SETP(HS, TYPE, OPERANDS, ge_##suffix)
#define EACH_TYPE(OPCODE, OPERANDS16, OPERANDS64, RUN32, RUN64)                                                        \
    EMU_ROW(OPCODE, B16, OPERANDS16, RUN32), EMU_ROW(OPCODE, U16, OPERANDS16, RUN32),                                  \
        EMU_ROW(OPCODE, S16, OPERANDS16, RUN32), EMU_ROW(OPCODE, B32, OPERANDS16, RUN32),                              \
        EMU_ROW(OPCODE, U32, OPERANDS16, RUN32), EMU_ROW(OPCODE, S32, OPERANDS16, RUN32),                              \
        EMU_ROW(OPCODE, F32, OPERANDS16, RUN32), EMU_ROW(OPCODE, B64, OPERANDS64, RUN64),                              \
        EMU_ROW(OPCODE, U64, OPERANDS64, RUN64), EMU_ROW(OPCODE, S64, OPERANDS64, RUN64),                              \
        EMU_ROW(OPCODE, F64, OPERANDS64, RUN64)
#define SLCT(TYPE, OPERANDS, RUN_S, RUN_F, RUN_FTZ)                                                                    \
    {.opcode = PTX_OP_SLCT,                                                                                            \
     .type0 = PTX_##TYPE,                                                                                              \
     .type1 = PTX_F32,                                                                                                 \
     .mask = PTX_FLAG(FTZ),                                                                                            \
     .bits = PTX_FLAG(FTZ),                                                                                            \
     .operands = OPERANDS,                                                                                             \
     .run = RUN_FTZ},                                                                                                  \
        {.opcode = PTX_OP_SLCT, .type0 = PTX_##TYPE, .type1 = PTX_S32, .operands = OPERANDS, .run = RUN_S},            \
    {                                                                                                                  \
        .opcode = PTX_OP_SLCT, .type0 = PTX_##TYPE, .type1 = PTX_F32, .operands = OPERANDS, .run = RUN_F               \
    }
#define SHF(OPERATION, SECOND, RUN)                                                                                    \
    {                                                                                                                  \
        .opcode = PTX_OP_SHF, .type0 = PTX_B32, .operation = PTX_MOD_##OPERATION, .second = PTX_MOD_##SECOND,          \
        .operands = "wwww", .run = RUN                                                                                 \
    }
#define BFIND(TYPE, OPERANDS, RUN)                                                                                     \
    {.opcode = PTX_OP_BFIND,                                                                                           \
     .type0 = PTX_##TYPE,                                                                                              \
     .mask = PTX_FLAG(SHIFTAMT),                                                                                       \
     .bits = PTX_FLAG(SHIFTAMT),                                                                                       \
     .operands = OPERANDS,                                                                                             \
     .run = RUN,                                                                                                       \
     .imm = 1},                                                                                                        \
        EMU_ROW(BFIND, TYPE, OPERANDS, RUN)

static const struct emu_row rows[] = {
    LOGIC(AND, and),
    LOGIC(OR, or),
    LOGIC(XOR, xor),
    EMU_ROW(NOT, B16, "ww", not16),
    EMU_ROW(NOT, B32, "ww", not32),
    EMU_ROW(NOT, B64, "ll", not64),
    EMU_ROW(NOT, PRED, "pp", not_pred),
    EMU_ROW(CNOT, B16, "ww", cnot32),
    EMU_ROW(CNOT, B32, "ww", cnot32),
    EMU_ROW(CNOT, B64, "ll", cnot64),
    EMU_ROW(SHL, B16, "www", shl16),
    EMU_ROW(SHL, B32, "www", shl32),
    EMU_ROW(SHL, B64, "llw", shl64),
    EMU_ROW(SHR, B16, "www", shr_u16),
    EMU_ROW(SHR, U16, "www", shr_u16),
    EMU_ROW(SHR, S16, "www", shr_s16),
    EMU_ROW(SHR, B32, "www", shr_u32),
    EMU_ROW(SHR, U32, "www", shr_u32),
    EMU_ROW(SHR, S32, "www", shr_s32),
    EMU_ROW(SHR, B64, "llw", shr_u64),
    EMU_ROW(SHR, U64, "llw", shr_u64),
    EMU_ROW(SHR, S64, "llw", shr_s64),
    SHF(L, WRAP, shf_l_wrap),
    SHF(L, CLAMP, shf_l_clamp),
    SHF(R, WRAP, shf_r_wrap),
    SHF(R, CLAMP, shf_r_clamp),
    EMU_ROW(BREV, B32, "ww", brev32),
    EMU_ROW(BREV, B64, "ll", brev64),
    EMU_ROW(POPC, B32, "ww", popc32),
    EMU_ROW(POPC, B64, "wl", popc64),
    EMU_ROW(CLZ, B32, "ww", clz32),
    EMU_ROW(CLZ, B64, "wl", clz64),
    BFIND(U32, "ww", bfind_u32),
    BFIND(S32, "ww", bfind_s32),
    BFIND(U64, "wl", bfind_u64),
    BFIND(S64, "wl", bfind_s64),
    EMU_ROW(BFE, U32, "wwww", bfe_u32),
    EMU_ROW(BFE, S32, "wwww", bfe_s32),
    EMU_ROW(BFE, U64, "llww", bfe_u64),
    EMU_ROW(BFE, S64, "llww", bfe_s64),
    EMU_ROW(BFI, B32, "wwwww", bfi32),
    EMU_ROW(BFI, B64, "lllww", bfi64),
    EMU_ROW(FNS, B32, "wwww", fns32),
    EMU_ROW_OP(BMSK, CLAMP, B32, "www", bmsk_clamp),
    EMU_ROW_OP(BMSK, WRAP, B32, "www", bmsk_wrap),
    EMU_ROW_OP(SZEXT, CLAMP, U32, "www", szext_clamp_u),
    EMU_ROW_OP(SZEXT, CLAMP, S32, "www", szext_clamp_s),
    EMU_ROW_OP(SZEXT, WRAP, U32, "www", szext_wrap_u),
    EMU_ROW_OP(SZEXT, WRAP, S32, "www", szext_wrap_s),
    EMU_ROW_OP(PRMT, F4E, B32, "wwww", prmt_f4e),
    EMU_ROW_OP(PRMT, B4E, B32, "wwww", prmt_b4e),
    EMU_ROW_OP(PRMT, RC8, B32, "wwww", prmt_rc8),
    EMU_ROW_OP(PRMT, ECL, B32, "wwww", prmt_ecl),
    EMU_ROW_OP(PRMT, ECR, B32, "wwww", prmt_ecr),
    EMU_ROW_OP(PRMT, RC16, B32, "wwww", prmt_rc16),
    EMU_ROW(PRMT, B32, "wwww", prmt_plain),
    SETPS(B16, "ppwwp", u32),
    SETPS(U16, "ppwwp", u32),
    SETPS(S16, "ppwwp", s16),
    SETPS(B32, "ppwwp", u32),
    SETPS(U32, "ppwwp", u32),
    SETPS(S32, "ppwwp", s32),
    SETPS(B64, "ppllp", u64),
    SETPS(U64, "ppllp", u64),
    SETPS(S64, "ppllp", s64),
    EACH_TYPE(SELP, "wwwp", "lllp", selp32, selp64),
    SLCT(B16, "wwww", slct32_s32, slct32_f32, slct32_ftz),
    SLCT(U16, "wwww", slct32_s32, slct32_f32, slct32_ftz),
    SLCT(S16, "wwww", slct32_s32, slct32_f32, slct32_ftz),
    SLCT(B32, "wwww", slct32_s32, slct32_f32, slct32_ftz),
    SLCT(U32, "wwww", slct32_s32, slct32_f32, slct32_ftz),
    SLCT(S32, "wwww", slct32_s32, slct32_f32, slct32_ftz),
    SLCT(F32, "wwww", slct32_s32, slct32_f32, slct32_ftz),
    SLCT(B64, "lllw", slct64_s32, slct64_f32, slct64_ftz),
    SLCT(U64, "lllw", slct64_s32, slct64_f32, slct64_ftz),
    SLCT(S64, "lllw", slct64_s32, slct64_f32, slct64_ftz),
    SLCT(F64, "lllw", slct64_s32, slct64_f32, slct64_ftz),
};

struct emu_rows emu_rows_bits(void)
{
    return (struct emu_rows){rows, sizeof rows / sizeof rows[0]};
}
