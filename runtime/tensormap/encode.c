// The 1024 bits of a tensor map, as an H200's driver (580.159.04, CUDA 13.0) writes them: learned from 30,000 of its
// answers, all of whose bytes the encoder below gives. Bits are counted from bit 0 of word 0, words are 64 bits,
// little-endian. Blank bits are 0.
//
//   word      63                              32 31                               0
//           +-----------------------------------+-----------------------------------+
//     0     |                            address (57 bits)                          |
//           +-----------------------------------+-----------------------------------+
//     1     |           stride[0] / 16          |   options                         |
//           +-----------------------------------+-----------------------------------+
//     2     |           stride[2] / 16          |           stride[1] / 16          |
//           +-----------------------------------+-----------------------------------+
//     3     |               | h3 | h2 | h1 | h0 |           stride[3] / 16          |  h: bits 32-35 of stride / 16
//           +-----------------------------------+-----------------------------------+
//     4     |             dim[1] - 1            |             dim[0] - 1            |
//           +-----------------------------------+-----------------------------------+
//     5     |             dim[3] - 1            |             dim[2] - 1            |
//           +-----------------------------------+-----------------------------------+
//     6     |    box 0 |  e4 e3 e2 e1 e0        |             dim[4] - 1            |  e: estride - 1, 3 bits each,
//           +-----------------------------------+-----------------------------------+     from bit 416 on
//     7     |                                 box                                   |  box: from bit 440 on
//           +-----------------------------------+-----------------------------------+
//     8     |                                   |     shared memory of a box, bytes |
//           +-----------------------------------+-----------------------------------+
//     9     |                                   |     its alignment, bytes          |
//           +-----------------------------------+-----------------------------------+
//   10-15   |                                   0                                   |
//           +-----------------------------------------------------------------------+
//
//   options, bits 64-95:
//
//       31 ....... 19 18 17  16   15  14 13  12 11  10  9  8  7  6  5  4  3  2  1   0
//      +-------------+-----+----+---+-------+------+------------+--------+---------+------+
//      |             | l2  |tf32|nan|swizzle|inter-|    type    | rank-1 |         |im2col|
//      |             |     |    |   |       | leave|            |        |         |      |
//      +-------------+-----+----+---+-------+------+------------+--------+---------+------+
//
//   box, bits 440-489:
//
//             489     480 479 .. 472 471 .. 464 463 .. 456 455 .. 448 447 .. 440
//            +-----------+----------+----------+----------+----------+----------+
//      tiled |           |  box[4]  |  box[3]  |  box[2]  |  box[1]  |  box[0]  |  each - 1
//            +-----------+----------+----------+----------+----------+----------+
//     im2col | pixels-1  |   upper corners     |   lower corners     | channels |  channels - 1
//            +-----------+---------------------+---------------------+----------+
//                          rank 3: W 16 bits; rank 4: W 8, H 8; rank 5: W 5, H 5, D 5; two's complement, W lowest
//
// im2col_wide has the bits of im2col with corners of 0 in H and D; its mode is in no bit.
#include "tensormap_args.h"

static void put(uint64_t map[16], unsigned bit, unsigned width, uint64_t value)
{
    value &= UINT64_MAX >> (64 - width);
    map[bit / 64] |= value << bit % 64;
    if (bit % 64 + width > 64)
        map[bit / 64 + 1] |= value >> (64 - bit % 64);
}

// Extent i less 1 and stride i, 0 past the rank.
static inline uint64_t dim_of(const struct tw_tensormap_call *c, unsigned i)
{
    return i < c->rank ? c->dim[i] - 1 : 0;
}

static inline uint64_t stride_of(const struct tw_tensormap_call *c, unsigned i)
{
    return i + 1 < c->rank ? c->stride[i] : 0;
}

// What extents less 1 and strides put into a word. The word is a constant, and so is all but its own patches: it is
// made in registers and stored once, which a loop over a table, or over copies of the extents, would not do.
static inline __attribute__((always_inline)) uint64_t patches_of(unsigned number, const struct tw_tensormap_call *c)
{
    uint64_t all = 0;
#define DIM dim_of
#define STRIDE stride_of
#define PATCH(source, index, from, width, word, at)                                                                    \
    if ((word) == number)                                                                                              \
        all |= ((source(c, index) >> (from)) & (UINT64_MAX >> (64 - (width)))) << (at);
#include "tensormap_patches.def"
#undef PATCH
#undef STRIDE
#undef DIM
    return all;
}

int tw_tensormap_encode(const struct tw_tensormap_call *call, int cc, uint64_t map[16])
{
    const struct tw_tensormap_call *c = call;
    int status = tw_tensormap_check(c, cc, NULL);
    if (status != TW_OK)
        return status;
    const struct tmap_dtype *dtype = tw_tmap_dtype(c->dtype);
    if (dtype->hardware < 0 || c->swizzle > 3 || (c->func == TW_TENSORMAP_IM2COL_WIDE && cc >= 100))
        return TW_ERROR_UNSUPPORTED;

    uint64_t steps = 0;
    for (unsigned i = 0; i < c->rank; i++)
        steps |= (uint64_t)(c->estride[i] - 1) << 3 * i;
    map[0] = c->addr;
    map[1] = (uint64_t)(c->func != TW_TENSORMAP_TILED) | (uint64_t)(c->rank - 1) << 4 | (uint64_t)dtype->hardware << 7 |
             (uint64_t)c->interleave << 11 | (uint64_t)c->swizzle << 13 | (uint64_t)c->oob << 15 |
             (uint64_t)dtype->tf32 << 16 | (uint64_t)c->l2 << 17 | patches_of(1, c);
    map[2] = patches_of(2, c);
    map[3] = patches_of(3, c);
    map[4] = patches_of(4, c);
    map[5] = patches_of(5, c);
    map[6] = patches_of(6, c) | steps << 32;
    for (int i = 7; i < 16; i++)
        map[i] = 0;
    if (c->func == TW_TENSORMAP_TILED) {
        map[6] |= (uint64_t)(c->box[0] - 1) << 56;
        for (unsigned i = 1; i < c->rank; i++)
            map[7] |= (uint64_t)(c->box[i] - 1) << 8 * (i - 1);
    } else {
        unsigned width = tw_tmap_corner_bits(c->rank);
        put(map, 440, 8, c->channels - 1);
        for (unsigned i = 0; i < tmap_entries(c, TMAP_LOWER); i++) {
            put(map, 448 + width * i, width, (uint64_t)c->lower[i]);
            put(map, 464 + width * i, width, (uint64_t)c->upper[i]);
        }
        put(map, 480, 10, c->pixels - 1);
    }
    map[8] = tw_tmap_smem_bytes(c) & UINT32_MAX;
    map[9] = tw_tmap_smem_align(c->swizzle);
    return TW_OK;
}

int tw_tensormap_replace_address(uint64_t map[16], uint64_t addr)
{
    uint64_t align = map[1] >> 11 & 2 ? 32 : 16; // interleave 32B
    if (addr % align != 0 || addr >= TMAP_ADDRESS_END)
        return TW_ERROR_INVALID;
    map[0] = addr;
    return TW_OK;
}
