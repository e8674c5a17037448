// The tensor memory accelerator: which bytes a tensor instruction reads and writes, from the 128 bytes of its map.
//
// A load or store has a picture of the shared memory that its box covers, the image:
//
//      shared address      image
//      smem             -> 0
//                          |  row 0 of the box: `inner` bytes ...     rows are `pitch` bytes apart: the span of the
//                          |  ... gap                                 swizzle, or `inner` without one
//                          |  row 1
//      smem + extent    -> extent
//
// Within the image the 16-byte chunks are where the swizzle puts them. The swizzle works on absolute shared addresses,
// so the image of one box differs with smem modulo 8 spans. Bytes of gaps are neither read nor written.
//
// A load is emu_tma_read_global into an image and emu_tma_write_shared from it, to as many blocks as it has (the same
// image fits all: their windows are aligned). A store is emu_tma_read_shared and emu_tma_write_global.
//
// Rules measured on an H200 (2,066 loads, tests/golden/tma_loads.jsonl.gz) are marked [H200] in tma.c.
#ifndef EMU_TMA_H
#define EMU_TMA_H

#include "bytes.h"
#include "tensormap/tensormap.h"

// A map, ready for use. Plain data; may be kept as long as the 128 bytes are the same.
struct emu_tma_map {
    struct tw_tensormap_call call; // what the map says
    uint32_t element;              // bytes of one
    uint32_t unit;                 // bytes that dimension 0 counts in: element, or with interleave 16 or 32
    uint32_t rows;                 // of the box (tile: product of loaded[1..]; im2col: pixels)
    uint32_t inner;                // bytes of a row that are loaded
    uint32_t pitch;                // bytes from row to row in shared memory
    uint32_t extent;               // bytes of the image
    uint32_t transaction;          // bytes that a load completes on its barrier
    uint32_t span;                 // of the swizzle, bytes; 0: none
    uint32_t loaded[5];            // of the box along each dimension: ceil(box / estride) units
};

// Reads a map. ILLEGAL where the bytes are none, or of a type that is not emulated (packed 4 and 6 bit).
enum emu_fault_kind emu_tma_open(const uint64_t bytes[16], struct emu_tma_map *map, struct emu_fault *fault);

// The form of the instruction.
enum emu_tma_mode {
    EMU_TMA_TILE,           // .tile
    EMU_TMA_IM2COL,         // .im2col, of loads: with offsets
    EMU_TMA_IM2COL_NO_OFFS, // .im2col_no_offs, of stores and reductions
};

// One instruction's operands.
struct emu_tma_request {
    const struct emu_tma_map *map;
    enum emu_tma_mode mode;
    unsigned rank;      // .1d to .5d
    int32_t coord[5];   // innermost first
    uint16_t offset[3]; // im2col: W, H, D; [rank - 2]
    uint64_t smem;      // address of the box in shared memory; for a multicast any one of its blocks'
};

// What traps before anything moves: TMA_INNER (innermost coordinate times element size no multiple of 16 bytes), ALIGN
// (shared address no multiple of 128 bytes), ILLEGAL (rank or mode unlike the map's, an im2col walk that starts outside
// of its bounding box, a store with a coordinate below 0).
enum emu_fault_kind emu_tma_check(const struct emu_tma_request *request, int is_store, struct emu_fault *fault);

// A piece of the image that holds data: pieces are disjoint, ascending, as long as can be.
struct emu_tma_piece {
    uint32_t at; // in the image, bytes; shared address smem + at
    uint32_t bytes;
};
// Calls `piece` for each of them until it returns another value than 0; returns that, or 0.
int emu_tma_pieces(const struct emu_tma_request *request, int (*piece)(void *context, struct emu_tma_piece piece),
                   void *context);

// The same for the pieces that a store reads to write them: those of elements inside of the tensor. In the order of the
// box.
int emu_tma_stored(const struct emu_tma_request *request, int (*piece)(void *context, struct emu_tma_piece piece),
                   void *context);

// Load, first half: fills the image (map->extent bytes) from global memory: elements, fill for those out of bounds,
// TF32 rounding. Gaps get 0. BOUNDS where memory refuses an address inside the tensor.
enum emu_fault_kind emu_tma_read_global(const struct emu_tma_request *request, const struct emu_bytes *memory,
                                        uint8_t *image, struct emu_fault *fault);

// Load, second half: writes the image's pieces to shared memory at smem (a block's own address of the box).
enum emu_fault_kind emu_tma_write_shared(const struct emu_tma_request *request, const struct emu_bytes *memory,
                                         uint64_t smem, const uint8_t *image, struct emu_fault *fault);

// Store, first half: reads the image's pieces from shared memory at request->smem. Gaps are left alone.
enum emu_fault_kind emu_tma_read_shared(const struct emu_tma_request *request, const struct emu_bytes *memory,
                                        uint8_t *image, struct emu_fault *fault);

// What a store does with each element: cp.async.bulk.tensor or one of cp.reduce.async.bulk.tensor.
enum emu_reduce {
    EMU_REDUCE_STORE,
    EMU_REDUCE_ADD,
    EMU_REDUCE_MIN,
    EMU_REDUCE_MAX,
    EMU_REDUCE_INC,
    EMU_REDUCE_DEC,
    EMU_REDUCE_AND,
    EMU_REDUCE_OR,
    EMU_REDUCE_XOR,
    EMU_REDUCE_COUNT
};

// Types of reductions, as PTX names them.
enum emu_reduce_type {
    EMU_REDUCE_B32,
    EMU_REDUCE_B64,
    EMU_REDUCE_U32,
    EMU_REDUCE_S32,
    EMU_REDUCE_U64,
    EMU_REDUCE_S64,
    EMU_REDUCE_F16,
    EMU_REDUCE_BF16,
    EMU_REDUCE_F32,
    EMU_REDUCE_F32_FTZ, // subnormal operands and results are 0 with their sign
    EMU_REDUCE_F64,
    EMU_REDUCE_TYPE_COUNT
};

// Bytes of one element of that type.
unsigned emu_reduce_bytes(enum emu_reduce_type type);

// 1 where PTX has this operation for this type.
int emu_reduce_valid(enum emu_reduce op, enum emu_reduce_type type);

// into[i] = op(into[i], from[i]) for `count` elements. Float additions round to nearest even and flush nothing
// but F32_FTZ. op and type must be a valid pair; STORE copies.
void emu_reduce_apply(enum emu_reduce op, enum emu_reduce_type type, void *into, const void *from, size_t count);

// Store, second half: writes the elements inside the tensor from the image. Global memory takes whole 16-byte chunks:
// where the tensor's row ends inside a chunk, the rest of the chunk is written or reduced too [H200], and *chunk_tail
// (may be NULL) gets the address of the first such byte, 0 where there is none: hazard TMA-CHUNK is the caller's to
// report. ILLEGAL where the map's type has no such reduction.
enum emu_fault_kind emu_tma_write_global(const struct emu_tma_request *request, enum emu_reduce op,
                                         const struct emu_bytes *memory, const uint8_t *image, uint64_t *chunk_tail,
                                         struct emu_fault *fault);

#endif
