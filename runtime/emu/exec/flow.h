/* The paths of a warp: where lanes part, wait, meet and end. */
#ifndef EMU_FLOW_H
#define EMU_FLOW_H

#include "machine.h"

/* The path becomes the current one. What was current must have been saved, or must not go on. */
void emu_path_enter(struct emu_warp *warp, uint32_t path);
int emu_path_next(struct emu_warp *warp);     /* another ready path becomes the current one; 0: there is none */
uint32_t emu_path_new(struct emu_warp *warp); /* PTX_NONE: no memory; the launch then fails */

/* The current path waits at op in this state and goes on at pc. Returns NULL, for the handler to return. */
const struct emu_op *emu_wait(struct emu_warp *warp, const struct emu_op *op, const struct emu_op *pc, uint8_t state);
void emu_path_ready(struct emu_warp *warp, uint32_t path);
void emu_polls_ready(struct emu_warp *warp);
/* Those that something may have come of since they began to wait. */
void emu_polls_look(struct emu_warp *warp);

/* These lanes of the current path, not all of it, leave it for a path of their own; both execute op again. Returns
   NULL, for the handler to return. */
const struct emu_op *emu_part(struct emu_warp *warp, const struct emu_op *op, uint32_t lanes);

/* Lanes that wait at a join for others go on alone: these wait in a loop for what those do behind the join. Returns
   whether there were any. */
int emu_paths_release(struct emu_warp *warp);

/* Where a path that did not get to execute op starts again: at op, or at the guard before it. */
const struct emu_op *emu_retry(const struct emu_op *op);

/* The lanes of `members` must come to this operation together. 1: they have, and warp->lanes.mask is all of them: the
   handler restores it when it is done. 0: the path waits now, and the handler returns NULL. any: other operations that
   synchronise any will do (bar.warp.sync). */
int emu_sync(struct emu_warp *warp, const struct emu_op *op, uint32_t members, int any);

/* Lanes of the current path end; next is where the rest goes on. Returns what the handler returns. */
const struct emu_op *emu_exit_lanes(struct emu_warp *warp, const struct emu_op *next, uint32_t lanes);

/* Room for frames that end there; 0, or 1 where there is none (the launch has then failed). */
int emu_warp_room(struct emu_warp *warp, uint32_t registers, uint32_t preds, uint32_t local);

/* Notes that lanes have written bytes of their local memory, or (written 0) that these are new. */
void emu_local_written(struct emu_warp *warp, uint32_t address, uint32_t bytes, uint32_t lanes, int written);

#endif
