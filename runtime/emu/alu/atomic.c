/* The read-modify-write of one lane. */
#include "alu.h"
#include "floats.h"

#define INTEGER(T, S)                                                                                                  \
    {                                                                                                                  \
        T old_value, with, swap, result;                                                                               \
        memcpy(&old_value, at, sizeof(T));                                                                             \
        memcpy(&with, b, sizeof(T));                                                                                   \
        memcpy(&swap, c, sizeof(T));                                                                                   \
        switch (operation) {                                                                                           \
        case PTX_MOD_ADD:                                                                                              \
            result = (T)(old_value + with);                                                                            \
            break;                                                                                                     \
        case PTX_MOD_MIN:                                                                                              \
            result = (S)with < (S)old_value ? with : old_value;                                                        \
            break;                                                                                                     \
        case PTX_MOD_MAX:                                                                                              \
            result = (S)with > (S)old_value ? with : old_value;                                                        \
            break;                                                                                                     \
        case PTX_MOD_INC:                                                                                              \
            result = (T)(old_value >= with ? 0 : old_value + 1);                                                       \
            break;                                                                                                     \
        case PTX_MOD_DEC:                                                                                              \
            result = (T)(old_value == 0 || old_value > with ? with : old_value - 1);                                   \
            break;                                                                                                     \
        case PTX_MOD_AND:                                                                                              \
            result = old_value & with;                                                                                 \
            break;                                                                                                     \
        case PTX_MOD_OR:                                                                                               \
            result = old_value | with;                                                                                 \
            break;                                                                                                     \
        case PTX_MOD_XOR:                                                                                              \
            result = old_value ^ with;                                                                                 \
            break;                                                                                                     \
        case PTX_MOD_EXCH:                                                                                             \
            result = with;                                                                                             \
            break;                                                                                                     \
        case PTX_MOD_CAS:                                                                                              \
            result = old_value == with ? swap : old_value;                                                             \
            break;                                                                                                     \
        default:                                                                                                       \
            return 1;                                                                                                  \
        }                                                                                                              \
        memcpy(old, &old_value, sizeof(T));                                                                            \
        memcpy(at, &result, sizeof(T));                                                                                \
        return 0;                                                                                                      \
    }

static uint32_t half(unsigned operation, int is_bf16, uint32_t x, uint32_t y)
{
    double p = is_bf16 ? (double)emu_bf16(x) : (double)emu_f16(x),
           q = is_bf16 ? (double)emu_bf16(y) : (double)emu_f16(y);
    if (operation == PTX_MOD_ADD)
        return is_bf16 ? emu_to_small(emu_add_odd(p, q), 8, 7, 0, EMU_NAN16)
                       : emu_to_small(emu_add_odd(p, q), 5, 10, 0, EMU_NAN16);
    if (p != p || q != q)
        return p != p && q != q ? EMU_NAN16 : p != p ? y : x;
    int first = p < q || (p == q && x >> 15 > y >> 15);
    return (operation == PTX_MOD_MIN) == first ? x : y;
}

static int halves(unsigned operation, unsigned type, void *at, const void *b, void *old)
{
    int is_bf16 = type == PTX_BF16 || type == PTX_BF16X2, count = ptx_types[type].lanes;
    uint16_t before[2] = {0}, with[2] = {0};
    memcpy(before, at, 2 * (size_t)count);
    memcpy(with, b, 2 * (size_t)count);
    memcpy(old, before, 2 * (size_t)count);
    for (int i = 0; i < count; i++)
        before[i] = (uint16_t)half(operation, is_bf16, before[i], with[i]);
    memcpy(at, before, 2 * (size_t)count);
    return 0;
}

static float flushed(float x)
{
    return emu_float(emu_flush32(emu_bits(x)));
}

int emu_atomic(unsigned operation, unsigned type, int is_global, void *at, const void *b, const void *c, void *old)
{
    switch (type) {
    case PTX_B16:
        INTEGER(uint16_t, uint16_t)
    case PTX_B32:
    case PTX_U32:
        INTEGER(uint32_t, uint32_t)
    case PTX_S32:
        INTEGER(uint32_t, int32_t)
    case PTX_B64:
    case PTX_U64:
        INTEGER(uint64_t, uint64_t)
    case PTX_S64:
        INTEGER(uint64_t, int64_t)
    case PTX_F32: {
        float x, y;
        uint32_t bits;
        memcpy(&x, at, 4);
        memcpy(&y, b, 4);
        memcpy(old, &x, 4);
        if (operation == PTX_MOD_EXCH)
            bits = emu_bits(y);
        else if (operation == PTX_MOD_ADD)
            bits = is_global ? emu_flush32(emu_canonical32(emu_bits(flushed(x) + flushed(y))))
                             : emu_canonical32(emu_bits(x + y));
        else
            bits = emu_bits(operation == PTX_MOD_MIN ? fminf(x, y) : fmaxf(x, y));
        memcpy(at, &bits, 4);
        return 0;
    }
    case PTX_F64: {
        double x, y;
        uint64_t bits;
        memcpy(&x, at, 8);
        memcpy(&y, b, 8);
        memcpy(old, &x, 8);
        bits = emu_bits64(y);
        /* In global memory a NaN stays as it is, quiet or not. */
        if (operation != PTX_MOD_EXCH && !(is_global && emu_is_nan64(bits)))
            bits = is_global && x != x ? emu_bits64(x) : emu_finish64(emu_bits64(x + y), emu_bits64(x), emu_bits64(y));
        memcpy(at, &bits, 8);
        return 0;
    }
    case PTX_F16:
    case PTX_F16X2:
    case PTX_BF16:
    case PTX_BF16X2:
        return halves(operation, type, at, b, old);
    case PTX_B128: {
        unsigned char before[16];
        memcpy(before, at, 16);
        memcpy(old, before, 16);
        if (operation == PTX_MOD_EXCH)
            memcpy(at, b, 16);
        else if (!memcmp(before, b, 16))
            memcpy(at, c, 16);
        return 0;
    }
    default:
        return 1;
    }
}
