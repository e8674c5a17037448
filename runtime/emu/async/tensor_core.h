/* What an H200's tensor cores compute, bit for bit: d = a * b + c of one wgmma or mma.sync instruction.

   tensor_core.def says how each kind adds. Two facts hold for all kinds of way FUSED:
   - The exponent of a product is the sum of its factors' exponents, not that of its normalised value; a subnormal
     factor has the exponent of the least normal number. Zeros have none. The alignment is to the largest exponent of
     products and c, but never below 2^-133: float results end there.
   - A zero result is +0, a NaN 0x7fffffff or 0x7fff, whatever the signs and payloads were. Infinity times zero and
     infinity less infinity are NaN. Subnormal operands and results are kept. tf32 ignores the low 13 bits.
   In CHAIN a NaN keeps its payload, quieted: that of b before the accumulator's before a's.

   All functions are pure and thread-safe. The rounding mode of the thread must be to nearest. */
#ifndef EMU_TENSOR_CORE_H
#define EMU_TENSOR_CORE_H

#include <stddef.h>
#include <stdint.h>

enum emu_tc_engine { EMU_TC_WGMMA, EMU_TC_MMA };

enum emu_tc_type {
    EMU_TC_BF16,
    EMU_TC_F16,
    EMU_TC_TF32,
    EMU_TC_E4M3,
    EMU_TC_E5M2,
    EMU_TC_S8,
    EMU_TC_U8,
    EMU_TC_F64,
    EMU_TC_F32,
    EMU_TC_S32
};

enum emu_tc_way { EMU_TC_FUSED, EMU_TC_HALVES, EMU_TC_INTEGER, EMU_TC_CHAIN };
enum emu_tc_round { EMU_TC_NONE, EMU_TC_F32_RZ, EMU_TC_E8M13_RZ, EMU_TC_F16_RNE };

enum emu_tc_kind {
#define TC(name, ...) EMU_TC_##name,
#include "tensor_core.def"
#undef TC
    EMU_TC_KINDS
};

/* The largest k of a row. */
enum { EMU_TC_MAX_K = 32 };

struct emu_tc_row {
    const char *name;
    enum emu_tc_engine engine;
    unsigned m, n, k;         /* of one instruction; n of wgmma: its granule */
    enum emu_tc_type a, b, d; /* d is c's type too */
    int saturate;
    enum emu_tc_way way;
    int fraction;
    enum emu_tc_round round;
};

extern const struct emu_tc_row emu_tc_rows[EMU_TC_KINDS];

/* Bytes of an element in memory: 1, 2, 4 or 8. */
unsigned emu_tc_bytes(enum emu_tc_type type);

/* The kind of an instruction, or -1: none such on sm_90a, or none modelled (mma.sync of m8n8k4 f16, 4-bit and 1-bit
   integers, sparse operands). m: 64 of wgmma, 16 or 8 of mma.sync. n does not matter. */
int emu_tc_find(enum emu_tc_engine engine, unsigned m, unsigned k, enum emu_tc_type a, enum emu_tc_type b,
                enum emu_tc_type d, int saturate);

/* One instruction's arithmetic: d[m][n] += a[m][k] * b[n][k]^T, k the row's, any m and n. Dense arrays in the order of
   fragments.h (k contiguous in a and b), elements of the row's types, little endian, aligned to their size; d holds c
   before and the result after; it overlaps neither a nor b. scale-d = 0 is d filled with zero bytes by the caller;
   imm-scale-a and -b of -1 are emu_tc_negate of the operand. */
void emu_tc_accumulate(enum emu_tc_kind kind, size_t m, size_t n, const void *a, const void *b, void *d);

/* The same, each element by itself in integer arithmetic: what emu_tc_accumulate is checked against. Slow. */
void emu_tc_accumulate_plain(enum emu_tc_kind kind, size_t m, size_t n, const void *a, const void *b, void *d);

/* Flips the sign bit of `count` elements of a floating-point type. */
void emu_tc_negate(enum emu_tc_type type, size_t count, void *elements);

#endif
