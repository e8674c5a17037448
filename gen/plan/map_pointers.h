/* Tensors whose slices along dim 0 lie anywhere, as a batch of matrices may: the kernel has an array of addresses on
 * the device, one for each index, which no host knows.
 *
 * A tensor map has one address. But to it the hardware adds coordinate times stride for each dimension, in 64 bits, and
 * so a map that begins at BASE reaches a slice at any multiple of 16 by two coordinates. They stand where dim 0 does:
 *
 *     address - BASE     63        35 34          4 3  0
 *                       |   high     |     low     | 0  |     coordinates: high at strides of 2^35, low of 16 bytes
 *
 * A stride is below 2^40 and a coordinate below 2^31, which one dimension alone would not cover. That strides need not
 * grow outwards, the driver agrees to (TMA-STR-OVERLAP in runtime/tensormap/tensormap_rules.def); that the sum has 64
 * bits, ragged tensors of Triton (python/triton/tools/ragged_tma.py) stand on, which wrap around there by strides of
 * 2^34 elements. What a copy takes is as ever cut at the slice's own extents. No map is written on the device, and none
 * has to be fenced.
 *
 * A load whose box begins outside of its tensor touches the map's address on an H200, and fails where no memory is, as
 * at BASE (tests/gpu/probes, "outside"; what begins inside may end outside). So check.c refuses clusters, rows by
 * number and tiles of several boxes; coordinates that a program itself puts outside are its own, and BOUNDS tells. A
 * base that is memory, as the array of addresses itself, would lift that: slices below it are then reached by sums that
 * wrap around.
 */
#ifndef TW_GEN_PLAN_MAP_POINTERS_H
#define TW_GEN_PLAN_MAP_POINTERS_H

#include "plan/plan.h"

enum {
    POINTERS_BASE = 16,      /* of the map: 0 is refused by drivers before CUDA 12.6 */
    POINTERS_UNIT = 16,      /* bytes: what an address divides by */
    POINTERS_LOW_BITS = 31,  /* of its number of units that are the low coordinate */
    POINTERS_HIGH_BITS = 22, /* the others, of 57 bits of an address */
    POINTERS_SHIFT = POINTERS_LOW_BITS + 4
};

static inline int map_rank(const struct plan_tensor *t)
{
    return t->rank + t->pointers - (t->maps > 0);
}

/* How many maps of a tensor stand behind each other, as an array of them. */
static inline int map_count(const struct plan_tensor *t)
{
    return t->maps > 0 ? t->maps : 1;
}

/* The tensor's dim that is dim i of its map, counted from the innermost; -1: it is one of an address's. */
static inline int map_dim(const struct plan_tensor *t, int i)
{
    const int dim = t->rank - 1 - i;
    return t->pointers && dim < 1 ? -1 : dim;
}

/* Of such a dim of the map: its extent, and the bytes from one index to the next. */
static inline uint64_t map_pointer_extent(const struct plan_tensor *t, int i)
{
    return UINT64_C(1) << (i < t->rank ? POINTERS_LOW_BITS : POINTERS_HIGH_BITS);
}

static inline uint64_t map_pointer_stride(const struct plan_tensor *t, int i)
{
    return (uint64_t)POINTERS_UNIT << (i < t->rank ? 0 : POINTERS_LOW_BITS);
}

#endif
