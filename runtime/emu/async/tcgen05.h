// What tcgen05 instructions (sm_100a) say by their descriptors and addresses, and the tensor memory of a
// multiprocessor: which columns are whose, and where a lane's registers lie in it (PTX ISA 9.7.16). Nothing here knows
// of warps.
//
//   Tensor memory is 128 lanes of 512 columns of 32 bits; an address has the lane above the column:
//
//     31            16 15             0
//     +---------------+---------------+       Warp w of a block reaches lanes 32 (w % 4) .. + 31 (9.7.16.8.1).
//     |     lane      |    column     |
//     +---------------+---------------+
//
//   The instruction descriptor of tcgen05.mma without block scaling (9.7.16.4.2):
//
//     31 30 29 28      24 23 22      17 16 15 14 13 12   10 9     7 6 5    4 3 2 1  0
//     +----+--+----------+--+----------+--+--+--+--+-------+-------+-+------+-+-+----+
//     | ws |  | M / 16   |  |  N / 8   |tB|tA|nB|nA| type B| type A| |type D|s|p| sel|
//     +----+--+----------+--+----------+--+--+--+--+-------+-------+-+------+-+-+----+
//     s: saturate (integers), p: sparse, t: transposed (MN-major), n: negated, ws and sel: of other variants
//
//   The shared memory descriptor is wgmma's (fragments.h) but for bits 46..48, which are 0b001, bit 52, which makes the
//   leading offset an address, and a third bit of the swizzle, 61, which is set for 128B with atoms of 32 bytes alone.
#ifndef EMU_TCGEN05_H
#define EMU_TCGEN05_H

#include "fragments.h"
#include "hooks.h"
#include "tensor_core.h"

enum {
    EMU_TENSOR_LANES = 128,
    EMU_TENSOR_COLUMNS = 512,
    EMU_TENSOR_UNIT = 32 /* columns: allocations are multiples of it */
};

// ---- descriptors

enum emu_tcgen05_kind { EMU_TCGEN05_F16, EMU_TCGEN05_TF32, EMU_TCGEN05_F8F6F4, EMU_TCGEN05_I8 };
const char *emu_tcgen05_kind_name(enum emu_tcgen05_kind kind); // "kind::f16"

// What one tcgen05.mma multiplies.
struct emu_tcgen05_mma {
    unsigned m, n, k; // 64 or 128; 8 to 256; 32 bytes of elements
    unsigned bytes;   // of an element of A and B
    int kind;         // enum emu_tc_kind
    int trans_a, trans_b, negate_a, negate_b;
    enum emu_tc_type d; // F32, F16 or S32: one element a column
};

// Takes the descriptor of an instruction of that kind apart. ILLEGAL, with a sentence that says what: a combination
// that the PTX ISA does not have, or one that is not emulated (sparse, 4- and 6-bit types).
enum emu_fault_kind emu_tcgen05_decode(enum emu_tcgen05_kind kind, uint32_t bits, struct emu_tcgen05_mma *mma,
                                       struct emu_fault *fault);

// Whether a matrix descriptor is one that is emulated, for an operand called `which` ("A"); ILLEGAL where not. Then it
// is an emu_operand's as it stands.
enum emu_fault_kind emu_tcgen05_check(uint64_t descriptor, const char *which, struct emu_fault *fault);

// ---- places

// Shapes of tcgen05.ld and st: lanes x bits, of one repetition.
enum emu_tensor_shape { EMU_TENSOR_32X32B, EMU_TENSOR_16X64B, EMU_TENSOR_16X128B, EMU_TENSOR_16X256B };

// 32-bit registers a thread has of one repetition (1, 1, 2, 4), and lanes of tensor memory (32 or 16).
unsigned emu_tensor_registers(enum emu_tensor_shape shape);
unsigned emu_tensor_rows(enum emu_tensor_shape shape);

// Where register `reg` of a thread lies: lane and column counted from the instruction's address (9.7.16.2.3.1).
//   32x32b    lane t,              column i
//   16x64b    lane t/4 + 8 (t%2),  column t/2%2 + 2 i
//   16x128b   lane t/4 + 8 (i%2),  column t%4 + 4 (i/2)
//   16x256b   lane t/4 + 8 (i/2%2), column 2 (t%4) + i%2 + 8 (i/4)
// With pack::16b and unpack::16b column c of these is the low halves of columns 2 c and 2 c + 1.
struct emu_place emu_tensor_place(enum emu_tensor_shape shape, unsigned thread, unsigned reg);

// The lane that holds row `row` of D, and of A in tensor memory, behind the address's lane: all 128 in order, or for m
// 64 the first 16 of each 32 (layouts D and F, 9.7.16.10.5).
static inline unsigned emu_tensor_row_lane(unsigned m, unsigned row)
{
    return m == 64 ? row / 16 * 32 + row % 16 : row;
}

// ---- memory

// The tensor memory of one multiprocessor.
struct emu_tensor_memory {
    uint64_t owner[EMU_TENSOR_COLUMNS / EMU_TENSOR_UNIT]; // of each unit: the block's number + 1; 0: free
    uint16_t first[EMU_TENSOR_COLUMNS / EMU_TENSOR_UNIT]; // column at which its allocation begins
    uint32_t word[EMU_TENSOR_LANES][EMU_TENSOR_COLUMNS];
};

// Columns for a block, owner its number + 1, filled with 0xff bytes: the first column, or -1: not so many are free side
// by side. columns: a power of two, 32 to 512.
int emu_tensor_alloc(struct emu_tensor_memory *memory, uint64_t owner, uint32_t columns);

// Gives an allocation back. -1: the owner has none of so many columns there.
int emu_tensor_free(struct emu_tensor_memory *memory, uint64_t owner, uint32_t column, uint32_t columns);

// Whether all of these columns are the owner's; how many it has in all.
int emu_tensor_owns(const struct emu_tensor_memory *memory, uint64_t owner, uint32_t column, uint32_t columns);
uint32_t emu_tensor_owned(const struct emu_tensor_memory *memory, uint64_t owner);
void emu_tensor_drop(struct emu_tensor_memory *memory, uint64_t owner); // all of its columns become free

// ---- arithmetic

// A from tensor memory, 8 columns from `column` on, into dense[m][k]; lane: of the address.
void emu_tensor_gather_a(const struct emu_tensor_memory *memory, const struct emu_tcgen05_mma *mma, unsigned lane,
                         unsigned column, void *dense);

// D at (lane, column) becomes a * b, plus what was there where accumulate is set. a[m][k] and b[n][k] are dense and may
// be changed. masked: bits of lanes that keep what they have (disable-output-lane).
void emu_tensor_multiply(struct emu_tensor_memory *memory, const struct emu_tcgen05_mma *mma, unsigned lane,
                         unsigned column, void *a, void *b, int accumulate, const uint32_t masked[4]);

#endif
