// Which lane and register of a warp holds which element of a matrix, and where the elements of a wgmma operand lie in
// shared memory (PTX ISA 9.7.14.5, 9.7.15.5). Everything moves between registers or shared memory and dense arrays.
//
// Registers are arrays of 32 lanes. Dense arrays are packed bytes, row by row:
//     A  [rows][K]  K contiguous            B  [N][K]  K contiguous (that is B transposed: column n of B is a row here)
//     C, D  [rows][N]  N contiguous
// An element has `bits` bits: 8, 16, 32 or 64; several fill a 32-bit register from its low end.
//
// The patterns below are for one warp. A warp of a warpgroup has 16 rows of wgmma's 64: warp w has rows 16w..16w+15,
// and within them the layout of mma.sync.
//
//   A, 16 x K (16-bit elements, K = 16; p = 32 / bits elements a register, here 2)
//
//              k 0..1     2..3    4..5    6..7    8..9     10..11  12..13  14..15
//     row 0    lane 0,a0  1,a0    2,a0    3,a0    0,a2     1,a2    2,a2    3,a2
//     row 1    lane 4,a0  5,a0    6,a0    7,a0    4,a2     5,a2    6,a2    7,a2
//     ...
//     row 8    lane 0,a1  1,a1    2,a1    3,a1    0,a3     1,a3    2,a3    3,a3
//     ...
//     register i of lane l, element e:  row = l / 4 + 8 (i % 2),   k = p (l % 4) + e + 4 p (i / 2)
//
//   B, K x 8      register i of lane l, element e:  n = l / 4,   k = p (l % 4) + e + 4 p i
//
//   C and D, 16 x N: 32-bit elements              n 0     1     2     3     4     5     6     7    | 8 ...
//     register i of lane l:             row 0     0,c0  0,c1  1,c0  1,c1  2,c0  2,c1  3,c0  3,c1  | 0,c4  0,c5 ...
//     row = l / 4 + 8 (i / 2 % 2)       row 8     0,c2  0,c3  1,c2  1,c3  2,c2  2,c3  3,c2  3,c3  | 0,c6  0,c7 ...
//     n = 2 (l % 4) + i % 2 + 8 (i / 4)
//     16-bit elements: two a register, register i holds what registers 2i and 2i + 1 hold above.
//
//   m8n8k4 of f64: A row = l / 4, k = l % 4; B n = l / 4, k = l % 4; C, D register i: row = l / 4, n = 2 (l % 4) + i.
//   (m16n8k4, k8 and k16 of f64 are the patterns above with p = 1 and 64-bit registers.)
#ifndef EMU_FRAGMENTS_H
#define EMU_FRAGMENTS_H

#include "bytes.h"

// ---- mma.sync, and a warp's part of wgmma

// A fragment of `registers` 32-bit registers into a[16][K], K = 64 * registers / bits / ... = registers / 2 * 4 * 32 /
// bits elements. bits: 8, 16, 32.
void emu_fragment_gather_a(const uint32_t *const *reg, unsigned registers, unsigned bits, void *a);

// B fragment of an n8 tile into b[8][K], K = registers * 4 * 32 / bits.
void emu_fragment_gather_b(const uint32_t *const *reg, unsigned registers, unsigned bits, void *b);

// C or D of 16 x n. bits 32: n / 2 registers; bits 16: n / 4 registers. Scatter writes the lanes of `mask` only.
void emu_fragment_gather_c(const uint32_t *const *reg, unsigned n, unsigned bits, void *c);
void emu_fragment_scatter_d(uint32_t *const *reg, unsigned n, unsigned bits, uint32_t mask, const void *d);

// f64, 64-bit registers. m is 8 (k 4) or 16 (k 4, 8, 16): a[m][k] from m / 8 * k / 4 registers, b[8][k] from k / 4, c
// and d[m][8] from m / 4.
void emu_fragment_gather_a64(const uint64_t *const *reg, unsigned m, unsigned k, uint64_t *a);
void emu_fragment_gather_b64(const uint64_t *const *reg, unsigned k, uint64_t *b);
void emu_fragment_gather_c64(const uint64_t *const *reg, unsigned m, uint64_t *c);
void emu_fragment_scatter_d64(uint64_t *const *reg, unsigned m, uint32_t mask, const uint64_t *d);

// Where one element is, for pictures and tests: the row and column of element e of register i of a lane.
struct emu_place {
    unsigned row, column;
};
struct emu_place emu_fragment_place_a(unsigned bits, unsigned lane, unsigned reg, unsigned element); // row, k
struct emu_place emu_fragment_place_b(unsigned bits, unsigned lane, unsigned reg, unsigned element); // n, k
struct emu_place emu_fragment_place_c(unsigned bits, unsigned lane, unsigned reg, unsigned element); // row, n

// ---- ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16-bit elements
//
//   ldmatrix .x4: lane 8j + r holds the address of row r of matrix j; register j of every lane then holds of matrix j
//       plain   row l / 4, elements 2 (l % 4) and + 1         .trans  rows 2 (l % 4) and + 1, element l / 4
//
// The caller reads (or writes) the rows: row[8 * j + r] is 16 bytes of shared memory.
void emu_ldmatrix(const uint8_t (*row)[16], unsigned matrices, int trans, uint32_t *const *reg, uint32_t mask);
void emu_stmatrix(const uint32_t *const *reg, unsigned matrices, int trans, uint8_t (*row)[16]);

// movmatrix.sync.aligned.m8n8.trans.b16: to[] is the transpose of from[]. They may be the same array.
void emu_movmatrix(const uint32_t *from, uint32_t *to);

// ---- wgmma operands in shared memory
//
//   The matrix descriptor of sm_90a, sizes and addresses in units of 16 bytes:
//
//     63 62      51   49      45            32      29            16      13             0
//     +-----+---+-------+---+----------------+---+----------------+---+----------------+
//     | swz |   | base  |   |      SBO       |   |      LBO       |   |     start      |
//     +-----+---+-------+---+----------------+---+----------------+---+----------------+
//     swz: 0 none, 1 128B, 2 64B, 3 32B (span s = 128, 64, 32 bytes)
//
//   Byte address of the element at (row, k), x its byte along the contiguous direction, before the swizzle:
//     K-major,  none     start + row/8 SBO + x/16 LBO + row%8 16 + x%16            x = k bytes
//     K-major,  swizzled start + row/8 SBO + row%8 s + x
//     MN-major, none     start + x/16 SBO + k/8 LBO + k%8 16 + x%16                x = row bytes
//     MN-major, swizzled start + x/s LBO + k/8 SBO + k%8 s + x%s
//   and then bits 4.. ^= bits 7.. as the swizzle says, on the absolute shared address less the base offset's 128-byte
//   lines. An H200 read the same addresses in 648 descriptors (every swizzle, both majors, every base offset).
struct emu_descriptor {
    uint32_t start;    // bytes, shared address modulo 2^18
    uint32_t lbo, sbo; // bytes
    uint32_t base;     // 0..7
    uint32_t span;     // bytes; 0: no swizzle
    uint32_t mask;     // of address bits that the swizzle exchanges
};
void emu_descriptor_decode(uint64_t bits, struct emu_descriptor *descriptor);

// An operand, or a part of it.
struct emu_operand {
    uint64_t descriptor;
    unsigned bytes;     // of an element: 1, 2 or 4
    int mn_major;       // 1: imm-trans; 16-bit elements only
    unsigned first_row; // of M or N
    unsigned rows;      // 16 for a warp's part of A; N for B
    unsigned k;         // elements: 32 / bytes
};

// Shared address (offset in the block's window, modulo 2^18) of the 16 bytes, or for MN-major the element, at (row, k).
uint32_t emu_operand_address(const struct emu_operand *operand, unsigned row, unsigned k);

// Gathers rows first_row .. first_row + rows - 1 into dense[rows][k]. `shared` is the block's window from offset 0 on,
// `bytes` long. BOUNDS where a part lies outside.
enum emu_fault_kind emu_operand_gather(const struct emu_operand *operand, const uint8_t *shared, size_t bytes,
                                       void *dense, struct emu_fault *fault);

// Calls `piece` for the ranges of shared memory that the operand covers, by row, 16 bytes or more each: what
// a hazard engine wants to know. Stops where it returns another value than 0, and returns that.
int emu_operand_pieces(const struct emu_operand *operand, int (*piece)(void *context, uint32_t address, uint32_t bytes),
                       void *context);

#endif
