/* One access to memory, and what is asked about it. */
#ifndef EMU_HAZARD_ACCESS_H
#define EMU_HAZARD_ACCESS_H

#include "engine.h"

/* Who accesses, while the shadow is asked. */
struct hz_access {
    struct emu_hazard *h;
    struct emu_hazard_cluster *cluster;
    struct hz_warp *warp;
    uint32_t operation;  /* number + 1; 0: the warp itself */
    uint32_t who, epoch; /* of the record */
    uint32_t position;
    uint8_t flags;
    uint8_t reads, writes;
    uint8_t async_proxy;
    uint8_t same;
    uint8_t tensor;         /* by tcgen05, of tensor memory: asks for its fences */
    uint8_t layout;         /* of what a wgmma reads */
    uint8_t again;          /* what an operation has read before is asked about once more */
    uint32_t together;      /* lanes that access the same bytes at once */
    const uint32_t *clock;  /* what the lanes know of others */
    struct hz_alike *alike; /* of all ranges of one lane; NULL: none */
};

/* ---- order.c */
/* An access of a lane and the record of one before it, of the bytes of `mask` of the chunk at `address`: reported where
   nothing orders them. */
void hz_check(const struct hz_access *access, const struct hz_record *record, uint8_t lane, uint32_t mask,
              uint64_t address);
/* A read makes an older read superfluous that it is ordered behind: who is ordered behind this one is so behind
 * that. */
int hz_covers(const struct hz_access *access, const struct hz_record *record, uint8_t lane, uint32_t mask);
/* These bytes were never written, or are those of an mbarrier; the operand's descriptor says another swizzle. */
void hz_tell_bytes(const struct hz_access *access, enum emu_hazard_name name, uint8_t lane, uint32_t mask,
                   uint64_t address);
void hz_tell_swizzle(const struct hz_access *access, const struct hz_record *record, uint32_t mask, uint64_t address);

/* ---- shadow.c */
/* Bytes from address on; `lane` touched the first, and the next one begins after 1 << shift bytes (shift 7: never). */
void hz_range(struct hz_access *access, uint64_t address, uint64_t bytes, unsigned lane, unsigned shift);
/* To bytes of one chunk, that at `address`; lane: as in a record. */
void hz_chunk_access(const struct hz_access *access, struct hz_chunk *chunk, uint8_t lane, uint32_t mask,
                     uint64_t address, int shared);
/* What hz_read_at_once or hz_write_at_once (chunk.h) has left: of the chunk, or of a word of it. */
void hz_part_access(const struct hz_access *access, struct hz_chunk *chunk, struct hz_chunk *part, uint8_t lane,
                    uint32_t mask, uint64_t address);
void hz_chunk_forget(struct emu_hazard *h, struct hz_chunk *chunk);
void hz_alike_end(struct emu_hazard *h, struct hz_alike *alike);

/* ---- async.c */
/* An operation that no group counts: number + 1, or 0 where there is no memory. And, last, the handle of one. */
uint32_t hz_operation_new(struct hz_warp *warp, uint32_t lanes, unsigned kind, uint32_t position);
/* One that will arrive on a barrier, behind all that these lanes have done. As above. */
uint32_t hz_signal_new(struct hz_warp *warp, uint32_t lanes, struct hz_mbarrier *barrier, uint32_t position);
emu_hazard_operation hz_handle_of(const struct emu_hazard_cluster *cluster, uint32_t number);
/* What accesses of an operation have in common. 1: the engine is silent. */
int hz_access_begin(struct hz_access *access, struct hz_warp *warp, uint32_t number, unsigned flags, uint32_t position);
void hz_access_ranges(struct hz_access *access, const struct emu_hazard_range *ranges, uint32_t count, unsigned lane);

/* ---- tensor.c */
/* Whether what a tcgen05 operation of this cluster did, its reads or its writes, happened before the access. */
int hz_tensor_ordered(const struct hz_access *access, const struct hz_operation *operation, int read);
/* The same without the fences: what was waited for, and lacks tcgen05.fence. */
int hz_tensor_waited(const struct hz_access *access, const struct hz_operation *operation, int read);

/* The arrival of a tcgen05.commit brings to the barrier that its thread's mmas up to it are over. */
void hz_tensor_signalled(struct emu_hazard_cluster *cluster, struct hz_mbarrier *barrier,
                         const struct hz_operation *operation);

/* ---- pages.c */
struct hz_page *hz_shared_page(struct emu_hazard_cluster *cluster, uint64_t address); /* NULL: no memory, no block */

/* ---- memory.c */
struct hz_page *hz_global_page(struct hz_access *access, uint64_t address);

#endif
