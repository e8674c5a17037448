/* Arithmetic of f16, bf16 and pairs of them. Sums of products go through double rounded to odd, so that each result is
   rounded once. Flags in op->imm as floats.h has them; PAIR handlers work on both halves of a word. */
#include "handlers.h"
#include "floats.h"

enum format { F16, BF16 };

static inline double value(enum format format, uint32_t x, uint64_t flags)
{
    if (format == BF16)
        return (double)emu_bf16(x & 0xffff);
    if ((flags & EMU_FTZ) && !(x & 0x7c00))
        x &= 0x8000;
    return (double)emu_f16(x & 0xffff);
}

static inline uint32_t finish(enum format format, double x, uint64_t flags)
{
    uint32_t r = format == BF16 ? emu_to_small(x, 8, 7, flags & EMU_RELU, EMU_NAN16)
                                : emu_to_small(x, 5, 10, flags & EMU_RELU, EMU_NAN16);
    if ((flags & EMU_FTZ) && format == F16 && !(r & 0x7c00))
        r &= 0x8000;
    if (flags & EMU_SAT) {
        uint32_t one = format == BF16 ? 0x3f80 : 0x3c00;
        r = x != x || r >> 15 ? 0 : r > one ? one : r;
    }
    return r;
}

static inline uint32_t add(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)z;
    return finish(f, emu_add_odd(value(f, x, flags), value(f, y, flags)), flags);
}

static inline uint32_t sub(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)z;
    return finish(f, emu_add_odd(value(f, x, flags), -value(f, y, flags)), flags);
}

static inline uint32_t mul(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)z;
    return finish(f, value(f, x, flags) * value(f, y, flags), flags);
}

static inline uint32_t fused(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    return finish(f, emu_add_odd(value(f, x, flags) * value(f, y, flags), value(f, z, flags)), flags);
}

static inline uint32_t extreme(enum format f, uint32_t x, uint32_t y, uint64_t flags, int least)
{
    uint32_t infinite = f == BF16 ? 0x7f80 : 0x7c00;
    x &= 0xffff, y &= 0xffff;
    if (flags & EMU_FTZ) {
        x = x & infinite ? x : x & 0x8000;
        y = y & infinite ? y : y & 0x8000;
    }
    uint32_t sign = (x ^ y) & 0x8000;
    if (flags & EMU_ABS)
        x &= 0x7fff, y &= 0x7fff;
    int nan_x = (x & 0x7fff) > infinite, nan_y = (y & 0x7fff) > infinite;
    if ((nan_x && nan_y) || ((flags & EMU_NAN) && (nan_x || nan_y)))
        return EMU_NAN16;
    uint32_t p = x >> 15 ? ~x & 0xffff : x | 0x8000, q = y >> 15 ? ~y & 0xffff : y | 0x8000;
    uint32_t r = nan_x ? y : nan_y ? x : (p < q) == least ? x : y;
    return flags & EMU_XORSIGN ? (r & 0x7fff) | sign : r;
}

static inline uint32_t least(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)z;
    return extreme(f, x, y, flags, 1);
}

static inline uint32_t greatest(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)z;
    return extreme(f, x, y, flags, 0);
}

static inline uint32_t flushed(enum format f, uint32_t x, uint64_t flags)
{
    x &= 0xffff;
    return (flags & EMU_FTZ) && !(x & (f == BF16 ? 0x7f80u : 0x7c00u)) ? x & 0x8000 : x;
}

static inline uint32_t negate(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)y, (void)z;
    x = flushed(f, x, flags);
    return (x & 0x7fff) > (f == BF16 ? 0x7f80u : 0x7c00u) ? EMU_NAN16 : x ^ 0x8000;
}

static inline uint32_t absolute(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)y, (void)z;
    x = flushed(f, x, flags) & 0x7fff;
    return x > (f == BF16 ? 0x7f80u : 0x7c00u) ? EMU_NAN16 : x;
}

static inline uint32_t exponential(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)y, (void)z;
    return finish(f, exp2(value(f, x, flags)), flags);
}

static inline uint32_t tangent(enum format f, uint32_t x, uint32_t y, uint32_t z, uint64_t flags)
{
    (void)y, (void)z;
    return finish(f, tanh(value(f, x, flags)), flags);
}

/* ---- Quick ways -------------------------------------------------------------------------------------------------- */

/* Sums and products without flags, in floats and without branches, so that the compiler makes vectors of them. A
   product of two f16 is a float, and so is that of two bf16 that is a normal float or has a factor of zero; *odd gains
   a bit where that does not hold, or where something is no number, and then the result is not used. A sum is rounded to
   odd first, as in floats.h. */
static inline float quick_value(enum format format, uint32_t x)
{
    if (format == BF16)
        return emu_float(x << 16);
    uint32_t bits = emu_bits(emu_float((x & 0x7fff) << 13) * 0x1p112f);
    bits |= (x & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    return emu_float(bits | (x & 0x8000) << 16);
}

static inline uint32_t quick_finish(enum format format, uint32_t x)
{
    uint32_t magnitude = x & 0x7fffffff, sign = x >> 16 & 0x8000, r;
    if (format == BF16) {
        r = (x + 0x7fff + (x >> 16 & 1)) >> 16;
        return magnitude > 0x7f800000 ? EMU_NAN16 : r;
    }
    uint32_t normal = magnitude - 0x38000000;
    normal = (normal + 0xfff + (normal >> 13 & 1)) >> 13;
    uint32_t subnormal = emu_bits(emu_float(magnitude) + 0.5f) - 0x3f000000;
    r = magnitude >= 0x38800000 ? normal : subnormal;
    r = (magnitude >= 0x47800000 ? 0x7c00 : r) | sign;
    return magnitude > 0x7f800000 ? EMU_NAN16 : r;
}

static inline uint32_t quick_sum(float x, float y)
{
    float sum = x + y, back = sum - x, rest = (x - (sum - back)) + (y - back);
    uint32_t bits = emu_bits(sum), inexact = (uint32_t)(rest > 0) | (uint32_t)(rest < 0);
    uint32_t outward = (uint32_t)((rest > 0) == (sum > 0));
    return bits + ((inexact & ~bits & 1) ? 2 * outward - 1 : 0);
}

static inline float quick_product(enum format format, uint32_t x, uint32_t y, uint32_t *odd)
{
    float product = quick_value(format, x) * quick_value(format, y);
    if (format == BF16) {
        uint32_t magnitude = emu_bits(product) & 0x7fffffff;
        uint32_t nothing = (uint32_t) !(x & 0x7fff) | (uint32_t) !(y & 0x7fff);
        *odd |= (uint32_t)(magnitude - 0x00800000 >= 0x7f000000) & ~nothing;
    }
    return product;
}

static inline uint32_t quick_add(enum format f, uint32_t x, uint32_t y, uint32_t z, uint32_t *odd)
{
    (void)z, (void)odd;
    return quick_finish(f, quick_sum(quick_value(f, x), quick_value(f, y)));
}

static inline uint32_t quick_sub(enum format f, uint32_t x, uint32_t y, uint32_t z, uint32_t *odd)
{
    (void)z, (void)odd;
    return quick_finish(f, quick_sum(quick_value(f, x), -quick_value(f, y)));
}

static inline uint32_t quick_mul(enum format f, uint32_t x, uint32_t y, uint32_t z, uint32_t *odd)
{
    (void)z;
    return quick_finish(f, emu_bits(quick_product(f, x, y, odd)));
}

static inline uint32_t quick_fused(enum format f, uint32_t x, uint32_t y, uint32_t z, uint32_t *odd)
{
    return quick_finish(f, quick_sum(quick_product(f, x, y, odd), quick_value(f, z)));
}

#define QUICK(name, FORMAT, FUNCTION)                                                                                  \
    EMU_HANDLER(name##_quick)                                                                                          \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);                                        \
        uint32_t r[EMU_LANES], odd = 0;                                                                                \
        EMU_EACH r[i] = quick_##FUNCTION(FORMAT, a[i] & 0xffff, b[i] & 0xffff, c[i] & 0xffff, &odd);                   \
        if (EMU_UNLIKELY(odd))                                                                                         \
            return name(warp, op);                                                                                     \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }                                                                                                                  \
    EMU_HANDLER(name##_pair_quick)                                                                                     \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);                                        \
        uint32_t r[EMU_LANES], odd = 0;                                                                                \
        EMU_EACH r[i] = quick_##FUNCTION(FORMAT, a[i] & 0xffff, b[i] & 0xffff, c[i] & 0xffff, &odd);                   \
        EMU_EACH r[i] |= quick_##FUNCTION(FORMAT, a[i] >> 16, b[i] >> 16, c[i] >> 16, &odd) << 16;                     \
        if (EMU_UNLIKELY(odd))                                                                                         \
            return name##_pair(warp, op);                                                                              \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }

/* y and z are the lanes of b and c, which for fewer operands are the sink's: read and not used. */
#define HALF(name, FORMAT, FUNCTION)                                                                                   \
    EMU_HANDLER(name)                                                                                                  \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);                                        \
        uint32_t r[EMU_LANES];                                                                                         \
        EMU_EACH r[i] = FUNCTION(FORMAT, a[i], b[i], c[i], op->imm);                                                   \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }                                                                                                                  \
    EMU_HANDLER(name##_pair)                                                                                           \
    {                                                                                                                  \
        const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);                                        \
        uint32_t r[EMU_LANES];                                                                                         \
        EMU_EACH r[i] = FUNCTION(FORMAT, a[i], b[i], c[i], op->imm) |                                                  \
                        FUNCTION(FORMAT, a[i] >> 16, b[i] >> 16, c[i] >> 16, op->imm) << 16;                           \
        emu_put32(warp, op->d, r);                                                                                     \
        return op + 1;                                                                                                 \
    }
#define HALVES(name)                                                                                                   \
    HALF(name##_f16, F16, name)                                                                                        \
    HALF(name##_bf16, BF16, name)
HALVES(add)
HALVES(sub)
HALVES(mul)
HALVES(fused)
HALVES(least)
HALVES(greatest)
HALVES(negate)
HALVES(absolute)
HALVES(exponential)
HALVES(tangent)
#define QUICKS(name)                                                                                                   \
    QUICK(name##_f16, F16, name)                                                                                       \
    QUICK(name##_bf16, BF16, name)
QUICKS(add)
QUICKS(sub)
QUICKS(mul)
QUICKS(fused)

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static inline int compare(unsigned how, double x, double y)
{
    int unordered = x != x || y != y;
    switch (how) {
    case PTX_MOD_EQ:
        return x == y;
    case PTX_MOD_NE:
        return x < y || x > y;
    case PTX_MOD_LT:
        return x < y;
    case PTX_MOD_LE:
        return x <= y;
    case PTX_MOD_GT:
        return x > y;
    case PTX_MOD_GE:
        return x >= y;
    case PTX_MOD_EQU:
        return unordered || x == y;
    case PTX_MOD_NEU:
        return x != y;
    case PTX_MOD_LTU:
        return unordered || x < y;
    case PTX_MOD_LEU:
        return unordered || x <= y;
    case PTX_MOD_GTU:
        return unordered || x > y;
    case PTX_MOD_GEU:
        return unordered || x >= y;
    case PTX_MOD_NUM:
        return !unordered;
    default:
        return unordered;
    }
}

static inline uint32_t combine(uint32_t bits, unsigned how, uint32_t with)
{
    switch (how) {
    case PTX_MOD_AND:
        return bits & with;
    case PTX_MOD_OR:
        return bits | with;
    case PTX_MOD_XOR:
        return bits ^ with;
    default:
        return bits;
    }
}

/* extra: {compare, boolean, FTZ, BF16, pair}. One value: d the outcome, a its opposite. A pair: d of the low halves, a
   of the high ones. e is the predicate that is combined. */
const struct emu_op *emu_setp_half(struct emu_warp *warp, const struct emu_op *op)
{
    const uint32_t *how = ((const struct emu_list *)op->extra)->at;
    const uint32_t *b = EMU_W(op->b), *c = EMU_W(op->c);
    enum format format = how[3] ? BF16 : F16;
    uint64_t flags = how[2] ? EMU_FTZ : 0;
    uint32_t low = 0, high = 0;
    EMU_EACH
    {
        low |= compare(how[0], value(format, b[i], flags), value(format, c[i], flags)) ? emu_lane_bits[i] : 0;
        if (how[4])
            high |= compare(how[0], value(format, b[i] >> 16, flags), value(format, c[i] >> 16, flags))
                        ? emu_lane_bits[i]
                        : 0;
    }
    uint32_t with = how[1] ? emu_pred(warp, op->e) : 0;
    emu_put_pred(warp, op->d, combine(low, how[1], with));
    if (op->a)
        emu_put_pred(warp, op->a, combine(how[4] ? high : ~low, how[1], with));
    return op + 1;
}

/* set into halves or words, from the predicates of emu_setp_half. a, b: of low and high; imm: what true is in the low
   half (or the word), and shifted by 32 in the high half. */
const struct emu_op *emu_set_half(struct emu_warp *warp, const struct emu_op *op)
{
    uint32_t low = emu_pred(warp, op->a), high = emu_pred(warp, op->b), r[EMU_LANES];
    uint32_t yes_low = (uint32_t)op->imm, yes_high = (uint32_t)(op->imm >> 32);
    EMU_EACH r[i] = (low & emu_lane_bits[i] ? yes_low : 0) | (high & emu_lane_bits[i] ? yes_high : 0);
    emu_put32(warp, op->d, r);
    return op + 1;
}

/* ---- Table ------------------------------------------------------------------------------------------------------- */

#define FTZ PTX_FLAG(FTZ)
#define SAT PTX_FLAG(SAT)
#define RELU PTX_FLAG(RELU)
#define ROW(OPCODE, TYPE, MASK, BITS, OPERANDS, RUN, IMM)                                                              \
    {                                                                                                                  \
        .opcode = PTX_OP_##OPCODE, .type0 = PTX_##TYPE, .mask = (MASK), .bits = (BITS), .operands = OPERANDS,          \
        .run = RUN, .imm = (IMM)                                                                                       \
    }
#define FLAGGED(OPCODE, TYPE, OPERANDS, RUN)                                                                           \
    ROW(OPCODE, TYPE, FTZ | SAT | RELU, 0, OPERANDS, RUN, 0),                                                          \
        ROW(OPCODE, TYPE, FTZ | SAT | RELU, FTZ, OPERANDS, RUN, EMU_FTZ),                                              \
        ROW(OPCODE, TYPE, FTZ | SAT | RELU, SAT, OPERANDS, RUN, EMU_SAT),                                              \
        ROW(OPCODE, TYPE, FTZ | SAT | RELU, FTZ | SAT, OPERANDS, RUN, EMU_FTZ | EMU_SAT),                              \
        ROW(OPCODE, TYPE, FTZ | SAT | RELU, RELU, OPERANDS, RUN, EMU_RELU),                                            \
        ROW(OPCODE, TYPE, FTZ | SAT | RELU, FTZ | RELU, OPERANDS, RUN, EMU_FTZ | EMU_RELU)
#define FORMATS(OPCODE, OPERANDS, name)                                                                                \
    FLAGGED(OPCODE, F16, OPERANDS, name##_f16), FLAGGED(OPCODE, F16X2, OPERANDS, name##_f16_pair),                     \
        FLAGGED(OPCODE, BF16, OPERANDS, name##_bf16), FLAGGED(OPCODE, BF16X2, OPERANDS, name##_bf16_pair)
/* The forms without flags; they are before the others. */
#define QUICK_FORMATS(OPCODE, OPERANDS, name)                                                                          \
    ROW(OPCODE, F16, FTZ | SAT | RELU, 0, OPERANDS, name##_f16_quick, 0),                                              \
        ROW(OPCODE, F16X2, FTZ | SAT | RELU, 0, OPERANDS, name##_f16_pair_quick, 0),                                   \
        ROW(OPCODE, BF16, FTZ | SAT | RELU, 0, OPERANDS, name##_bf16_quick, 0),                                        \
        ROW(OPCODE, BF16X2, FTZ | SAT | RELU, 0, OPERANDS, name##_bf16_pair_quick, 0)
#define SIGNED (PTX_FLAG(XORSIGN) | PTX_FLAG(ABS))
#define EXTREMES(OPCODE, TYPE, RUN, FLUSH, IMM)                                                                        \
    ROW(OPCODE, TYPE, FTZ | SIGNED | PTX_FLAG(NAN), (FLUSH), "www", RUN, (IMM)),                                       \
        ROW(OPCODE, TYPE, FTZ | SIGNED | PTX_FLAG(NAN), (FLUSH) | PTX_FLAG(NAN), "www", RUN, (IMM) | EMU_NAN),         \
        ROW(OPCODE, TYPE, FTZ | SIGNED | PTX_FLAG(NAN), (FLUSH) | SIGNED, "www", RUN, (IMM) | EMU_XORSIGN | EMU_ABS),  \
        ROW(OPCODE, TYPE, FTZ | SIGNED | PTX_FLAG(NAN), (FLUSH) | SIGNED | PTX_FLAG(NAN), "www", RUN,                  \
            (IMM) | EMU_XORSIGN | EMU_ABS | EMU_NAN)
#define EXTREME(OPCODE, name)                                                                                          \
    EXTREMES(OPCODE, F16, name##_f16, 0, 0), EXTREMES(OPCODE, F16, name##_f16, FTZ, EMU_FTZ),                          \
        EXTREMES(OPCODE, F16X2, name##_f16_pair, 0, 0), EXTREMES(OPCODE, F16X2, name##_f16_pair, FTZ, EMU_FTZ),        \
        EXTREMES(OPCODE, BF16, name##_bf16, 0, 0), EXTREMES(OPCODE, BF16X2, name##_bf16_pair, 0, 0)

static const struct emu_row rows[] = {
    QUICK_FORMATS(ADD, "www", add),
    QUICK_FORMATS(SUB, "www", sub),
    QUICK_FORMATS(MUL, "www", mul),
    QUICK_FORMATS(FMA, "wwww", fused),
    FORMATS(ADD, "www", add),
    FORMATS(SUB, "www", sub),
    FORMATS(MUL, "www", mul),
    FORMATS(FMA, "wwww", fused),
    FORMATS(NEG, "ww", negate),
    FORMATS(ABS, "ww", absolute),
    FORMATS(EX2, "ww", exponential),
    FORMATS(TANH, "ww", tangent),
    EXTREME(MIN, least),
    EXTREME(MAX, greatest),
};

struct emu_rows emu_rows_half(void)
{
    return (struct emu_rows){rows, sizeof rows / sizeof rows[0]};
}
