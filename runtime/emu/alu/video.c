/* SIMD video instructions: vadd4, vabsdiff2 and the like, on two or four parts of a word. */
#include "alu.h"

enum {
    VIDEO_OPERATION = 0xff, /* of imm: enum video */
    VIDEO_COMPARE = 8,      /* shift: PTX_MOD_EQ, ... */
    VIDEO_FOUR = 1 << 16,   /* parts of 8 bits; else two of 16 */
    VIDEO_SIGNED_D = 1 << 17,
    VIDEO_SIGNED_A = 1 << 18,
    VIDEO_SIGNED_B = 1 << 19,
    VIDEO_SAT = 1 << 20,
    VIDEO_ADD = 1 << 21 /* the results are added to c */
};

enum video { VIDEO_ADD_PARTS, VIDEO_SUB, VIDEO_AVERAGE, VIDEO_DIFFERENCE, VIDEO_MIN, VIDEO_MAX, VIDEO_SET };

static const struct {
    uint16_t opcode;
    uint8_t operation, four;
} videos[] = {
#define VIDEO(name, operation) {PTX_OP_##name##2, operation, 0}, {PTX_OP_##name##4, operation, 1},
    VIDEO(VADD, VIDEO_ADD_PARTS) VIDEO(VSUB, VIDEO_SUB) VIDEO(VAVRG, VIDEO_AVERAGE) VIDEO(VABSDIFF, VIDEO_DIFFERENCE)
        VIDEO(VMIN, VIDEO_MIN) VIDEO(VMAX, VIDEO_MAX) VIDEO(VSET, VIDEO_SET)
#undef VIDEO
};

static int32_t part(uint32_t x, unsigned bits, unsigned at, int is_signed)
{
    uint32_t value = x >> (bits * at) & ((1u << bits) - 1);
    return is_signed && value >> (bits - 1) ? (int32_t)value - (1 << bits) : (int32_t)value;
}

static int32_t combine(uint64_t imm, int32_t a, int32_t b)
{
    switch (imm & VIDEO_OPERATION) {
    case VIDEO_ADD_PARTS:
        return a + b;
    case VIDEO_SUB:
        return a - b;
    case VIDEO_AVERAGE:
        return (a + b + (a + b >= 0)) >> 1;
    case VIDEO_DIFFERENCE:
        return a < b ? b - a : a - b;
    case VIDEO_MIN:
        return a < b ? a : b;
    case VIDEO_MAX:
        return a < b ? b : a;
    default:
        switch (imm >> VIDEO_COMPARE & 0xff) {
        case PTX_MOD_EQ:
            return a == b;
        case PTX_MOD_NE:
            return a != b;
        case PTX_MOD_LT:
            return a < b;
        case PTX_MOD_LE:
            return a <= b;
        case PTX_MOD_GT:
            return a > b;
        default:
            return a >= b;
        }
    }
}

static uint32_t video(uint64_t imm, uint32_t a, uint32_t b, uint32_t c)
{
    unsigned bits = imm & VIDEO_FOUR ? 8 : 16, count = 32 / bits;
    int32_t most = imm & VIDEO_SIGNED_D ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    int32_t least = imm & VIDEO_SIGNED_D ? -most - 1 : 0;
    uint32_t d = imm & VIDEO_ADD ? c : 0;
    for (unsigned i = 0; i < count; i++) {
        int32_t r =
            combine(imm, part(a, bits, i, (imm & VIDEO_SIGNED_A) != 0), part(b, bits, i, (imm & VIDEO_SIGNED_B) != 0));
        if (imm & VIDEO_SAT)
            r = r < least ? least : r > most ? most : r;
        if (imm & VIDEO_ADD)
            d += (uint32_t)r;
        else
            d |= ((uint32_t)r & ((1u << bits) - 1)) << (bits * i);
    }
    return d;
}

static const struct emu_op *run(struct emu_warp *warp, const struct emu_op *op)
{
    const uint32_t *a = EMU_W(op->a), *b = EMU_W(op->b), *c = EMU_W(op->c);
    uint32_t r[EMU_LANES];
    EMU_EACH r[i] = video(op->imm, a[i], b[i], c[i]);
    emu_put32(warp, op->d, r);
    return op + 1;
}

emu_handler emu_video(const struct ptx_instruction *in, uint64_t *imm)
{
    for (size_t i = 0; i < sizeof videos / sizeof videos[0]; i++) {
        if (videos[i].opcode != in->opcode)
            continue;
        int set = videos[i].operation == VIDEO_SET; /* has no type of the result */
        *imm = videos[i].operation | (uint64_t)in->compare << VIDEO_COMPARE;
        *imm |= videos[i].four ? VIDEO_FOUR : 0;
        *imm |= !set && in->type[0] == PTX_S32 ? VIDEO_SIGNED_D : 0;
        *imm |= in->type[set ? 0 : 1] == PTX_S32 ? VIDEO_SIGNED_A : 0;
        *imm |= in->type[set ? 1 : 2] == PTX_S32 ? VIDEO_SIGNED_B : 0;
        *imm |= in->mods & PTX_FLAG(SAT) ? VIDEO_SAT : 0;
        *imm |= in->operation == PTX_MOD_ADD ? VIDEO_ADD : 0;
        return run;
    }
    return NULL;
}
