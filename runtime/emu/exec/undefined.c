/* What the operations do that watch registers which may be undefined (lower/undefined.c). */
#include "operations.h"
#include "report.h"

static uint32_t executing(struct emu_warp *warp, const struct emu_undefined *u)
{
    return u->guard ? warp->lanes.mask & emu_pred(warp, u->guard) : warp->lanes.mask;
}

const struct emu_op *emu_op_undefined_begin(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_undefined *u = op->extra;
    warp->lanes.preds[u->slot[0]] &= ~warp->lanes.mask;
    return op + 1;
}

const struct emu_op *emu_op_undefined_pass(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_undefined *u = op->extra;
    const uint32_t *preds = warp->lanes.preds;
    uint32_t lanes = executing(warp, u), written = UINT32_MAX;
    for (uint32_t i = 0; i < u->sources && !u->select; i++)
        written &= preds[u->slot[i]];
    if (u->select) {
        uint32_t which = emu_pred(warp, u->select), of[3];
        for (int i = 0; i < 3; i++)
            of[i] = u->choice[i] ? preds[u->choice[i]] : UINT32_MAX;
        written = ((which & of[0]) | (~which & of[1])) & of[2];
    }
    for (uint32_t i = u->sources; i < u->sources + u->results; i++) {
        uint32_t *to = &warp->lanes.preds[u->slot[i]];
        *to = (*to & ~lanes) | (written & lanes);
    }
    return op + 1;
}

const struct emu_op *emu_op_undefined_look(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_undefined *u = op->extra;
    uint32_t lanes = executing(warp, u), unwritten = 0;
    for (uint32_t i = 0; i < u->sources; i++)
        unwritten |= lanes & ~warp->lanes.preds[u->slot[i]];
    if (unwritten) {
        struct emu_op at = *op;
        at.source = (uint32_t)op->imm;
        emu_report_at(warp, &at, "UNINIT", 0, 0,
                      "lanes 0x%x use a register that they have not written, or what was computed from one", unwritten);
    }
    return op + 1;
}
