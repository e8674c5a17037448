/* Sparse wgmma: metadata to places, and the product as dense ones of a row each. */
#include "sparse.h"

#include <string.h>

enum { ROWS = 16, CHUNKS = 8, FIRST_OF_TWO = 0x4, SECOND_OF_TWO = 0xe, MOST_N = 256 };

unsigned emu_sparse_selectors(unsigned bits)
{
    return bits == 8 ? 0 : 1;
}

/* The chunk's first element is element `begin` of its row; `to`: of what the chunk gives. */
static int chunk_places(unsigned bits, unsigned chunk, unsigned begin, uint8_t *to)
{
    unsigned first = chunk & 3, second = chunk >> 2;
    if (bits == 32) {
        to[0] = (uint8_t)(begin + (chunk == SECOND_OF_TWO));
        return chunk == FIRST_OF_TWO || chunk == SECOND_OF_TWO;
    }
    to[0] = (uint8_t)(begin + first);
    to[1] = (uint8_t)(begin + second);
    return first != second;
}

enum emu_fault_kind emu_sparse_places(unsigned bits, unsigned selector, const uint32_t *metadata,
                                      struct emu_sparse *sparse, struct emu_fault *fault)
{
    unsigned given = bits == 32 ? 1 : 2, across = bits == 8 ? 8 : 4; /* chunks of a row in one register */
    for (unsigned lane = 0; lane < 32; lane++) {
        if (bits != 8 && lane % 4 / 2 != selector)
            continue;
        unsigned row = lane / 4 + (bits == 8 ? 8 * (lane % 2) : 0), part = bits == 8 ? lane / 2 % 2 : lane % 2;
        for (unsigned i = 0; i < CHUNKS; i++) {
            unsigned chunk = metadata[lane] >> 4 * i & 15, at = part * across + i % across;
            if (chunk_places(bits, chunk, at * 2 * given, &sparse->place[row + i / across * 8][at * given]))
                continue;
            return emu_fail(fault, EMU_FAULT_ILLEGAL, 0,
                            "sparsity metadata 0x%08x of lane %u: bits %u to %u are 0x%x, which is no pattern: %s",
                            (unsigned)metadata[lane], lane, 4 * i, 4 * i + 3, chunk,
                            bits == 32 ? "tf32 has 0x4 for the first of two, 0xe for the second"
                                       : "two places of four, two bits each, must differ");
        }
    }
    return EMU_FAULT_NONE;
}

void emu_sparse_accumulate(enum emu_tc_kind kind, const struct emu_sparse *sparse, size_t n, const void *a,
                           const void *b, void *d)
{
    const struct emu_tc_row *row = &emu_tc_rows[kind];
    size_t bytes = emu_tc_bytes(row->a), result = emu_tc_bytes(row->d), k = row->k;
    _Alignas(64) uint8_t chosen[MOST_N * 32]; /* 32 bytes: k elements of any type */
    for (size_t r = 0; r < ROWS; r++) {
        const uint8_t *from = b;
        uint8_t *to = chosen;
        for (size_t j = 0; j < n; j++, from += 2 * k * bytes)
            for (size_t l = 0; l < k; l++, to += bytes)
                memcpy(to, from + sparse->place[r][l] * bytes, bytes);
        emu_tc_accumulate(kind, 1, n, (const uint8_t *)a + r * k * bytes, chosen, (uint8_t *)d + r * n * result);
    }
}
