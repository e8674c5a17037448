/* What the hazard engine is told. Every function here may be called only where warp->hazard is set; the handlers ask
   for that first, so that a launch without hazards pays for one test. */
#ifndef EMU_WATCH_H
#define EMU_WATCH_H

#include "async_ops.h"
#include "emu/async/async.h"
#include "emu/hazard/matrix.h"
#include "machine.h"
#include "operations.h"
#include "report.h"

/* The number of an operation's instruction over the whole module. */
static inline uint32_t emu_position(const struct emu_warp *warp, const struct emu_op *op)
{
    return op->source == PTX_NONE ? EMU_HAZARD_NOWHERE : warp->function->position + op->source;
}

int emu_watch_start(struct emu_launch *launch, const struct tw_launch *given, struct tw_error *error);
void emu_watch_end(struct emu_launch *launch); /* counts go into the reports; the launch fails if there are any */

void emu_watch_retire(struct emu_cluster *cluster); /* its threads have ended, and what they had started */

/* Behind a store: of these lanes, the first at that address, others of it wrote something else over what they wrote. */
void emu_watch_lost(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access, uint64_t address,
                    uint32_t lanes);

enum { EMU_NO_STRIDE = UINT16_MAX };

/* A load, store or atomic of the warp's lanes. same: lanes whose bytes a store left as they were. _shared: of the own
   block's shared memory, at these offsets. stride: bytes from lane to lane where that is known of all lanes, or
   EMU_NO_STRIDE. */
void emu_watch_access(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                      const uint64_t *address, uint32_t stride, uint32_t same);
void emu_watch_shared(struct emu_warp *warp, const struct emu_op *op, const struct emu_access *access,
                      const uint32_t *offset, uint32_t stride, uint32_t same);
void emu_watch_rows(struct emu_warp *warp, const struct emu_op *op, const struct emu_matrix *matrix, unsigned rows,
                    int write);
void emu_watch_fence(struct emu_warp *warp, const struct emu_op *op);

/* Lanes of a copy that name the same barrier: calls `each` for each group. */
void emu_watch_copy(struct emu_warp *warp, const struct emu_op *op, const struct emu_copy *copy, uint64_t *tags);
void emu_watch_wgmma(struct emu_warp *warp, const struct emu_op *op, const struct emu_matrix *matrix, uint64_t a,
                     uint64_t b, uint64_t *tag);
/* All warps of its warpgroup have issued their wgmmas up to that number. */
void emu_watch_wgmma_met(struct emu_warp *warp, uint32_t number);
/* A matrix that an operation reads by a descriptor of sm_90a or sm_100a: which: "A" or "B". And the tag for the queue.
 */
struct emu_operand;
void emu_watch_operand(struct emu_warp *warp, const struct emu_op *op, emu_hazard_operation handle, unsigned lane,
                       const struct emu_operand *operand, const char *which);
uint64_t emu_watch_tag(struct emu_launch *launch, const struct emu_op *op, emu_hazard_operation handle);
void emu_watch_group(struct emu_warp *warp, const struct emu_op *op, int wait);

/* The asynchronous engine's moments. */
void emu_watch_moment(struct emu_launch *launch, const struct emu_async_event *event);
const struct emu_op *emu_watch_op(struct emu_launch *launch, uint64_t tag); /* that issued it */

/* Registers of the instruction, while a wgmma is on its way. */
void emu_watch_registers(struct emu_warp *warp, const struct emu_op *op);

/* Not the whole warp executes an instruction that is .aligned. */
static inline void emu_aligned(struct emu_warp *warp, const struct emu_op *op)
{
    if (EMU_UNLIKELY(warp->lanes.mask != warp->alive) && warp->hazard)
        emu_report_at(warp, op, "DIVERGED-ALIGNED", 0, 0, "lanes 0x%x of 0x%x execute an .aligned instruction",
                      warp->lanes.mask, warp->alive);
}

#endif
