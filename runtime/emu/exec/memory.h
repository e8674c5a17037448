/* Memories: allocations, and addresses as a cluster, a block and a lane see them. */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <string.h>

#include "machine.h"

/* An allocation, filled with EMU_POISON, in the order of addresses; aligned to 512 bytes at least. TW_OK, or
   TW_ERROR_MEMORY where the device or the host has no more. It lives until emu_region_free, which takes NULL. */
int emu_region_new(struct emu_device *device, uint64_t bytes, uint64_t align, struct emu_region **region,
                   struct tw_error *error);
void emu_region_free(struct emu_device *device, struct emu_region *region);

/* The same at an address of global memory. TW_ERROR_INVALID: that is none, or something lies there. */
int emu_region_place(struct emu_device *device, uint64_t base, uint64_t bytes, struct emu_region **region,
                     struct tw_error *error);

/* Memory of the host's as an allocation, read and written where it lies. Its address is the host's own where that is
   one of global memory (addresses.h) and nothing else lies there, else one of the device's. It counts as written: what
   the host writes there is seen by nobody. The memory stays the caller's, and outlives the region. */
int emu_region_map(struct emu_device *device, void *memory, uint64_t bytes, struct emu_region **region,
                   struct tw_error *error);

/* Of an allocation these bytes alone are a launch's to touch; the host reaches all of it as before. 1, and nothing is
   changed, where they are not all of the allocation's. */
int emu_region_limit(struct emu_region *region, uint64_t address, uint64_t bytes);

/* The region whose part for launches holds the address, or whose allocation does (or begins there); NULL: none. */
struct emu_region *emu_region_find(struct emu_device *device, uint64_t address);
struct emu_region *emu_region_allocated(struct emu_device *device, uint64_t address);

/* What a place is asked for: EMU_MAY_WRITE moves nothing, and asks whether EMU_WRITES could. */
enum { EMU_READS, EMU_WRITES, EMU_MAY_WRITE };

/* Where bytes bytes at a generic address lie, as a cluster sees them; NULL where a part is not allocated, or for writes
   may not be written. Local memory is not found here. Pointers are valid while the cluster
   is resident and the allocation lives. The _bytes_ calls are those of struct emu_bytes: 0, or 1 and nothing moved. */
unsigned char *emu_resolve(struct emu_cluster *cluster, uint64_t address, uint64_t bytes, int write);
int emu_bytes_read(void *cluster, uint64_t address, void *to, size_t bytes);
int emu_bytes_write(void *cluster, uint64_t address, const void *from, size_t bytes);

/* The tensor memory of the block's multiprocessor; NULL after the launch has failed for want of memory. */
struct emu_tensor_memory *emu_tensor_of(struct emu_block *block);
void emu_tensor_ready(struct emu_launch *launch); /* columns were given back: who waits for some looks again */

/* The generic address of an address in a space, as the warp's block has it: shared addresses without a rank get the
   block's. */
static inline uint64_t emu_generic(const struct emu_warp *warp, unsigned space, uint64_t address)
{
    switch (space) {
    case PTX_SPACE_SHARED:
        if (address < EMU_SHARED_STRIDE)
            address += warp->block->rank * EMU_SHARED_STRIDE;
        return (address & UINT32_MAX) + EMU_SHARED_WINDOW;
    case PTX_SPACE_SHARED_CLUSTER:
        return (address & UINT32_MAX) + EMU_SHARED_WINDOW;
    case PTX_SPACE_LOCAL:
        return (address & UINT32_MAX) + EMU_LOCAL_WINDOW;
    default:
        return address;
    }
}

/* One lane's bytes at a generic address, local memory included. 1 where a part is not allocated. */
int emu_lane_read(struct emu_warp *warp, unsigned lane, uint64_t address, void *to, uint32_t bytes);
int emu_lane_write(struct emu_warp *warp, unsigned lane, uint64_t address, const void *from, uint32_t bytes);

/* Addresses of the lanes of op->a (64 bits where wide) plus op->imm. */
void emu_addresses(struct emu_warp *warp, uint32_t at, int wide, uint64_t offset, uint64_t *address);

/* Reports an access of the lane's to what is not allocated, or may not be written; NULL. */
const struct emu_op *emu_out_of_bounds(struct emu_warp *warp, const struct emu_op *op, uint64_t address, uint64_t bytes,
                                       int write);

/* The block of the cluster in whose shared memory a generic address lies. */
static inline uint32_t emu_shared_rank(uint64_t address)
{
    return (uint32_t)((address - EMU_SHARED_WINDOW) / EMU_SHARED_STRIDE);
}

/* memcpy and memcmp == 0 of the bytes that a lane moves: without a call for the usual numbers of them. */
static inline void emu_copy_lane(void *to, const void *from, size_t bytes)
{
    switch (bytes) {
    case 2:
        memcpy(to, from, 2);
        return;
    case 4:
        memcpy(to, from, 4);
        return;
    case 8:
        memcpy(to, from, 8);
        return;
    case 16:
        memcpy(to, from, 16);
        return;
    default:
        memcpy(to, from, bytes);
    }
}

static inline int emu_alike_lane(const void *a, const void *b, size_t bytes)
{
    switch (bytes) {
    case 2:
        return memcmp(a, b, 2) == 0;
    case 4:
        return memcmp(a, b, 4) == 0;
    case 8:
        return memcmp(a, b, 8) == 0;
    case 16:
        return memcmp(a, b, 16) == 0;
    default:
        return memcmp(a, b, bytes) == 0;
    }
}

/* Whether a generic address is in the window of local memory. */
static inline int emu_is_local(uint64_t address)
{
    return address >= EMU_LOCAL_WINDOW && address < EMU_PARAM_WINDOW;
}

#endif
