/* Where the executor tells of events (emu_options.event). A launch that nobody listens to pays for one test each. */
#ifndef EMU_EVENT_H
#define EMU_EVENT_H

#include "emu/async/async.h"
#include "machine.h"

/* warp: who; op: the instruction, NULL: none. address: generic, in shared memory of any block of the
   cluster; 0: none. */
void emu_event_tell(struct emu_warp *warp, const struct emu_op *op, enum emu_event_kind kind, uint64_t address,
                    uint64_t number, int completed);

/* A moment of the asynchronous engine; warp: that issued the operation, or NULL. */
void emu_event_moment(struct emu_launch *launch, struct emu_warp *warp, const struct emu_async_event *event);

static inline void emu_event(struct emu_warp *warp, const struct emu_op *op, enum emu_event_kind kind, uint64_t address,
                             uint64_t number, int completed)
{
    if (EMU_UNLIKELY(warp->launch->listens >> kind & 1))
        emu_event_tell(warp, op, kind, address, number, completed);
}

#endif
