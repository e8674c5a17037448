/* Textures and surfaces as instructions: the operations of the lowering, and the device's objects behind handles. */
#ifndef EMU_TEXTURE_OPS_H
#define EMU_TEXTURE_OPS_H

#include "emu/exec/machine.h"
#include "emu/texture.h"

struct emu_object {
    struct emu_texture texture; /* of a surface the texels alone */
    uint32_t region;            /* id of the allocation that holds the texels */
    uint8_t surface, destroyed;
};

void emu_objects_free(struct emu_device *device); /* all: the device is closed */

/* tex, tld4, suld, sust. Offsets as in struct emu_op. */
struct emu_texture_op {
    uint32_t object;      /* lanes of 64 bits */
    uint32_t layer;       /* lanes, where layered */
    uint32_t at[3];       /* coordinates, lanes of 32 bits; of surfaces x in bytes */
    uint32_t data[4];     /* written or read */
    uint8_t dims;         /* 1 to 3 */
    uint8_t layered;      /* a1d, a2d */
    uint8_t integer;      /* .s32 coordinates */
    uint8_t gather;       /* tld4: channel + 1 */
    uint8_t bytes, count; /* of a surface's element: 1, 2, 4, 8; how many: 1, 2, 4 */
    uint16_t outside;     /* of a surface: PTX_MOD_TRAP, CLAMP, ZERO */
};
const struct emu_op *emu_op_tex(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_suld(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_sust(struct emu_warp *warp, const struct emu_op *op);

/* txq, suq. d: lanes of the result; a: of the object; b: PTX_MOD_WIDTH, HEIGHT, DEPTH; c: of a surface */
const struct emu_op *emu_op_txq(struct emu_warp *warp, const struct emu_op *op);

#endif
