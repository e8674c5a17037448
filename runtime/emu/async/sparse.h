/* The sparse A of wgmma.mma_async.sp (PTX ISA 9.7.15.6): half of a row's elements, and metadata that says where they
   stand in the row.

   A row of A is divided into chunks; each has 4 bits of metadata, the lowest chunk in the lowest bits.
       8 and 16 bits   4 elements, 2 of them given: bits 0..1 are the place of the first, bits 2..3 that of the second.
                       Equal places are undefined; the order is free.
       tf32            2 elements, 1 of them given: 0b0100 the first, 0b1110 the second, all else is undefined.
   A register of metadata has 8 chunks. Lane l gives them for row q = l / 4 (and q + 8) of its warp's 16:
       16 bits, tf32   the pair of lanes that the selector names (0: l % 4 of 0 and 1, 1: of 2 and 3), h = l % 2:
                       chunks 4h .. 4h + 3 of row q in bits 0..15, those of row q + 8 in bits 16..31
       8 bits          every lane (the selector is 0): chunks 8h .. 8h + 7, h = l / 2 % 2, of row q + 8 (l % 2)

   What is given is multiplied with the elements of B at its places, as a dense wgmma of half the depth multiplies; the
   other elements of B are not looked at. So PTX; what an H200 computes has not been compared (ON_GPU=1 lets
   tests/emu/matrix/test_sparse.c do that). */
#ifndef EMU_SPARSE_H
#define EMU_SPARSE_H

#include "bytes.h"
#include "tensor_core.h"

/* Of a warp's rows: the place in a row of 2k elements of each of the k that are given. */
struct emu_sparse {
    uint8_t place[16][EMU_TC_MAX_K];
};

/* The largest selector that an instruction with elements of so many bits may name. */
unsigned emu_sparse_selectors(unsigned bits);

/* From the metadata of 32 lanes. bits: 8, 16, 32. ILLEGAL where it is undefined. */
enum emu_fault_kind emu_sparse_places(unsigned bits, unsigned selector, const uint32_t *metadata,
                                      struct emu_sparse *sparse, struct emu_fault *fault);

/* d[16][n] += a[16][k] * b[n][2k]^T of a wgmma's kind, k the row's; arrays as emu_tc_accumulate has them. */
void emu_sparse_accumulate(enum emu_tc_kind kind, const struct emu_sparse *sparse, size_t n, const void *a,
                           const void *b, void *d);

#endif
