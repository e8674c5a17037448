#include "tcgen05.h"

#include <string.h>

// ---- descriptors

const char *emu_tcgen05_kind_name(enum emu_tcgen05_kind kind)
{
    static const char *const names[] = {"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8"};
    return names[kind];
}

// Types of A and B, and of D, by their codes (9.7.16.4.2); -1: none that is emulated.
static int input_type(enum emu_tcgen05_kind kind, unsigned code)
{
    static const int types[4][3] = {
        [EMU_TCGEN05_F16] = {EMU_TC_F16, EMU_TC_BF16, -1},
        [EMU_TCGEN05_TF32] = {-1, -1, EMU_TC_TF32},
        [EMU_TCGEN05_F8F6F4] = {EMU_TC_E4M3, EMU_TC_E5M2, -1},
        [EMU_TCGEN05_I8] = {EMU_TC_U8, EMU_TC_S8, -1},
    };
    return code < 3 ? types[kind][code] : -1;
}

static int output_type(unsigned code)
{
    static const int types[4] = {EMU_TC_F16, EMU_TC_F32, EMU_TC_S32, -1};
    return types[code];
}

// N of each kind (table "kind and shapes"): multiples of 8, of 16 where B's bytes are transposed, of 16 above 32 for
// i8.
static int has_n(enum emu_tcgen05_kind kind, const struct emu_tcgen05_mma *mma)
{
    if (mma->n < 8 || mma->n > 256 || (mma->bytes == 1 && mma->trans_b && mma->n % 16))
        return 0;
    return kind != EMU_TCGEN05_I8 || mma->n <= 32 || mma->n % 16 == 0;
}

enum emu_fault_kind emu_tcgen05_decode(enum emu_tcgen05_kind kind, uint32_t bits, struct emu_tcgen05_mma *mma,
                                       struct emu_fault *fault)
{
    const char *name = emu_tcgen05_kind_name(kind);
    int a = input_type(kind, bits >> 7 & 7), b = input_type(kind, bits >> 10 & 7), d = output_type(bits >> 4 & 3);
    if (bits >> 2 & 1)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the instruction descriptor of %s says sparse (bit 2), which is not emulated", name);
    if (a < 0 || b < 0)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the instruction descriptor of %s has type %u for A or B, which is none of this kind or not "
                        "emulated (f16 0, bf16 1; tf32 2; e4m3 0, e5m2 1; u8 0, s8 1)",
                        name, a < 0 ? bits >> 7 & 7 : bits >> 10 & 7);
    *mma = (struct emu_tcgen05_mma){.m = (bits >> 24 & 31) * 16,
                                    .n = (bits >> 17 & 63) * 8,
                                    .bytes = emu_tc_bytes((enum emu_tc_type)a),
                                    .negate_a = (int)(bits >> 13 & 1),
                                    .negate_b = (int)(bits >> 14 & 1),
                                    .trans_a = (int)(bits >> 15 & 1),
                                    .trans_b = (int)(bits >> 16 & 1)};
    mma->k = 32 / mma->bytes;
    if (mma->m != 64 && mma->m != 128)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the instruction descriptor of %s has M = %u: cta_group::1 has 64 and 128", name, mma->m);
    if (!has_n(kind, mma))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the instruction descriptor of %s has N = %u, which these types do not have", name, mma->n);
    if (kind == EMU_TCGEN05_TF32 && (mma->trans_a || mma->trans_b))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the instruction descriptor of %s transposes A or B (bits 15 and 16), for which tf32 needs "
                        "128B swizzling with atoms of 32 bytes: that is not emulated",
                        name);
    if (kind == EMU_TCGEN05_I8 && (mma->negate_a || mma->negate_b))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0, "the instruction descriptor of %s negates A or B (bits 13 and 14)",
                        name);
    if (kind != EMU_TCGEN05_I8 && (bits >> 3 & 1))
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the instruction descriptor of %s saturates (bit 3), as integers alone do", name);
    mma->kind = d < 0 ? -1
                      : emu_tc_find(EMU_TC_WGMMA, 64, mma->k, (enum emu_tc_type)a, (enum emu_tc_type)b,
                                    (enum emu_tc_type)d, (int)(bits >> 3 & 1));
    if (mma->kind < 0)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the instruction descriptor of %s has type %u for D, which A and B do not go with", name,
                        bits >> 4 & 3);
    mma->d = (enum emu_tc_type)d;
    return EMU_FAULT_NONE;
}

enum emu_fault_kind emu_tcgen05_check(uint64_t descriptor, const char *which, struct emu_fault *fault)
{
    if ((descriptor >> 46 & 7) != 1)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the matrix descriptor of %s has %u in bits 46 to 48, which must be 1 on sm_100a", which,
                        (unsigned)(descriptor >> 46 & 7));
    if (descriptor >> 52 & 1)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the matrix descriptor of %s has a leading offset that is an address (bit 52), which is not "
                        "emulated",
                        which);
    if (descriptor >> 61 & 1)
        return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                        "the matrix descriptor of %s has swizzle mode %u, which is none, or 128B with atoms of 32 "
                        "bytes: that is not emulated (0 none, 2 128B, 4 64B, 6 32B)",
                        which, (unsigned)(descriptor >> 61));
    return EMU_FAULT_NONE;
}

// ---- places

unsigned emu_tensor_registers(enum emu_tensor_shape shape)
{
    return shape == EMU_TENSOR_16X128B ? 2 : shape == EMU_TENSOR_16X256B ? 4 : 1;
}

unsigned emu_tensor_rows(enum emu_tensor_shape shape)
{
    return shape == EMU_TENSOR_32X32B ? 32 : 16;
}

struct emu_place emu_tensor_place(enum emu_tensor_shape shape, unsigned thread, unsigned reg)
{
    switch (shape) {
    case EMU_TENSOR_16X64B:
        return (struct emu_place){thread / 4 + 8 * (thread % 2), thread / 2 % 2 + 2 * reg};
    case EMU_TENSOR_16X128B:
        return (struct emu_place){thread / 4 + 8 * (reg % 2), thread % 4 + 4 * (reg / 2)};
    case EMU_TENSOR_16X256B:
        return (struct emu_place){thread / 4 + 8 * (reg / 2 % 2), 2 * (thread % 4) + reg % 2 + 8 * (reg / 4)};
    default:
        return (struct emu_place){thread, reg};
    }
}

// ---- memory

enum { UNITS = EMU_TENSOR_COLUMNS / EMU_TENSOR_UNIT };

int emu_tensor_alloc(struct emu_tensor_memory *memory, uint64_t owner, uint32_t columns)
{
    uint32_t units = columns / EMU_TENSOR_UNIT, free = 0, first = 0;
    for (; first + free < UNITS && free < units;) {
        if (memory->owner[first + free]) {
            first += free + 1;
            free = 0;
        } else {
            free++;
        }
    }
    if (free < units)
        return -1;
    for (uint32_t i = first; i < first + units; i++) {
        memory->owner[i] = owner;
        memory->first[i] = (uint16_t)(first * EMU_TENSOR_UNIT);
    }
    for (unsigned lane = 0; lane < EMU_TENSOR_LANES; lane++)
        memset(&memory->word[lane][first * EMU_TENSOR_UNIT], 0xff, columns * sizeof(uint32_t));
    return (int)(first * EMU_TENSOR_UNIT);
}

int emu_tensor_owns(const struct emu_tensor_memory *memory, uint64_t owner, uint32_t column, uint32_t columns)
{
    if (!columns || column >= EMU_TENSOR_COLUMNS || columns > EMU_TENSOR_COLUMNS - column)
        return 0;
    for (uint32_t i = column / EMU_TENSOR_UNIT; i <= (column + columns - 1) / EMU_TENSOR_UNIT; i++)
        if (memory->owner[i] != owner)
            return 0;
    return 1;
}

int emu_tensor_free(struct emu_tensor_memory *memory, uint64_t owner, uint32_t column, uint32_t columns)
{
    if (!emu_tensor_owns(memory, owner, column, columns) || columns % EMU_TENSOR_UNIT || column % EMU_TENSOR_UNIT)
        return -1;
    uint32_t from = column / EMU_TENSOR_UNIT, end = (column + columns) / EMU_TENSOR_UNIT;
    for (uint32_t i = from; i < end; i++)
        if (memory->first[i] != column)
            return -1;
    if (end < UNITS && memory->owner[end] == owner && memory->first[end] == column)
        return -1; // the allocation has more
    for (uint32_t i = from; i < end; i++)
        memory->owner[i] = 0;
    return 0;
}

uint32_t emu_tensor_owned(const struct emu_tensor_memory *memory, uint64_t owner)
{
    uint32_t columns = 0;
    for (uint32_t i = 0; i < UNITS; i++)
        columns += memory->owner[i] == owner ? EMU_TENSOR_UNIT : 0;
    return columns;
}

void emu_tensor_drop(struct emu_tensor_memory *memory, uint64_t owner)
{
    for (uint32_t i = 0; i < UNITS; i++)
        memory->owner[i] = memory->owner[i] == owner ? 0 : memory->owner[i];
}

// ---- arithmetic

void emu_tensor_gather_a(const struct emu_tensor_memory *memory, const struct emu_tcgen05_mma *mma, unsigned lane,
                         unsigned column, void *dense)
{
    unsigned char *to = dense;
    for (unsigned row = 0; row < mma->m; row++, to += 32)
        memcpy(to, &memory->word[lane + emu_tensor_row_lane(mma->m, row)][column], 32);
}

enum { ROWS = 16, MOST_N = 256 };

// ROWS rows of D from `first` on as the arithmetic has them, elements of 4 or 2 bytes, from or to columns, whose low
// half holds one of 2 bytes (9.7.16.10.4.1).
static void move_d(struct emu_tensor_memory *memory, const struct emu_tcgen05_mma *mma, unsigned lane, unsigned column,
                   unsigned first, const uint32_t masked[4], uint32_t *d, int store)
{
    uint16_t *halves = (uint16_t *)(void *)d;
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned at = lane + emu_tensor_row_lane(mma->m, first + row);
        uint32_t *words = &memory->word[at][column];
        if (store && (masked[at / 32] >> at % 32 & 1))
            continue;
        for (unsigned n = 0; n < mma->n; n++) {
            size_t i = (size_t)row * mma->n + n;
            if (mma->d == EMU_TC_F16 && store)
                words[n] = halves[i];
            else if (mma->d == EMU_TC_F16)
                halves[i] = (uint16_t)words[n];
            else if (store)
                words[n] = d[i];
            else
                d[i] = words[n];
        }
    }
}

void emu_tensor_multiply(struct emu_tensor_memory *memory, const struct emu_tcgen05_mma *mma, unsigned lane,
                         unsigned column, void *a, void *b, int accumulate, const uint32_t masked[4])
{
    _Alignas(64) uint32_t d[ROWS * MOST_N];
    const struct emu_tc_row *row = &emu_tc_rows[mma->kind];
    if (mma->negate_a)
        emu_tc_negate(row->a, (size_t)mma->m * mma->k, a);
    if (mma->negate_b)
        emu_tc_negate(row->b, (size_t)mma->n * mma->k, b);
    for (unsigned first = 0; first < mma->m; first += ROWS) {
        if (accumulate)
            move_d(memory, mma, lane, column, first, masked, d, 0);
        else
            memset(d, 0, sizeof d);
        emu_tc_accumulate((enum emu_tc_kind)mma->kind, ROWS, mma->n, (unsigned char *)a + (size_t)first * 32, b, d);
        move_d(memory, mma, lane, column, first, masked, d, 1);
    }
}
