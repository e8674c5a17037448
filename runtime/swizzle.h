// Shared-memory swizzles: what swizzles.def says, and the permutation itself.
#ifndef TW_SWIZZLE_H
#define TW_SWIZZLE_H

#include <stdint.h>

enum tw_swizzle {
#define X(ID, name, span, align, mask, tensormap, wgmma) TW_SWIZZLE_##ID,
#include "swizzles.def"
#undef X
    TW_SWIZZLE_COUNT
};

// One row of swizzles.def, which says what the columns mean.
struct tw_swizzle_info {
    const char *name;   // as in specs
    uint32_t span;      // bytes, 0: no limit
    uint32_t align;     // bytes
    uint32_t mask;      // address bits exchanged
    uint32_t tensormap; // CUtensorMapSwizzle
    uint32_t wgmma;     // layout code of the wgmma descriptor
};

static const struct tw_swizzle_info tw_swizzles[TW_SWIZZLE_COUNT] = {
#define X(ID, name, span, align, mask, tensormap, wgmma) {name, span, align, mask, tensormap, wgmma},
#include "swizzles.def"
#undef X
};

// Where the byte that belongs at the absolute shared-memory address `byte_address` lies. Its own inverse.
//
//      address bit   9 8 7 6 5 4 3..0
//      32B               7 . . ^7        bit 4 ^= bit 7
//      64B             8 7 . ^8 ^7       bits 5:4 ^= bits 8:7
//      128B          9 8 7 ^9 ^8 ^7      bits 6:4 ^= bits 9:7
static inline uint32_t tw_swizzle(enum tw_swizzle swizzle, uint32_t byte_address)
{
    return byte_address ^ (byte_address >> 3 & tw_swizzles[swizzle].mask);
}

#endif
