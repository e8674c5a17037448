/* What the handlers of asynchronous instructions and the hazard engine's watch share: the addresses of lanes, requests
   of copies, and the launch's queue. */
#ifndef EMU_COPIES_H
#define EMU_COPIES_H

#include "async_ops.h"
#include "emu/async/async.h"
#include "emu/async/mbarrier.h"
#include "machine.h"
#include "memory.h"

/* The generic address of a lane. */
static inline uint64_t emu_lane_address(const struct emu_warp *warp, const struct emu_where *where, unsigned lane)
{
    uint64_t address;
    if (where->wide)
        address = EMU_L(where->at)[lane] + where->offset;
    else
        address = (uint32_t)(EMU_W(where->at)[lane] + (uint32_t)where->offset);
    return emu_generic(warp, where->space, address);
}

/* Number of a thread among those resident. */
static inline uint32_t emu_issuer(const struct emu_warp *warp, unsigned lane)
{
    return warp->block->cluster->issuer + (warp->block->rank * warp->block->warp_count + warp->index) * EMU_LANES +
           lane;
}

/* The request of a tensor copy of a lane; a fault where its map is none. cp.async: bytes that come from the source. */
enum emu_fault_kind emu_copy_request(struct emu_warp *warp, const struct emu_copy *copy, unsigned lane,
                                     struct emu_tma_request *request, struct emu_fault *fault);
uint32_t emu_copy_source_bytes(struct emu_warp *warp, const struct emu_copy *copy, unsigned lane);

/* Report a fault of an instruction; NULL. */
const struct emu_op *emu_fault_at(struct emu_warp *warp, const struct emu_op *op, const struct emu_fault *fault);

struct emu_async_event;
int emu_async_start(struct emu_launch *launch, struct tw_error *error); /* opens the queue */
void emu_async_report(struct emu_launch *launch, const struct emu_fault *fault, const struct emu_async_event *event);
int emu_lacks_bytes(const struct emu_warp *warp, uint64_t address); /* a barrier all of whose arrivals have come */
void emu_describe_mbarrier(const struct emu_warp *warp, const struct emu_path *path, char *out, size_t room);

/* The warp has committed a group of wgmmas, or has ended: others of its warpgroup may have waited for that. */
void emu_warpgroup_ready(struct emu_warp *warp);

#endif
