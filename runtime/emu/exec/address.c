/* Addresses as values: cvta, isspacep, mapa and their kin. */
#include "memory.h"
#include "operations.h"

/* cvta. a: lanes; b: space; c: 1 to the space, 0 to generic; e: 1 source and 2 destination have 64 bits. */
const struct emu_op *emu_op_cvta(struct emu_warp *warp, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    uint32_t narrow[EMU_LANES];
    emu_addresses(warp, op->a, (int)(op->e & 1), op->imm, address);
    for (int i = 0; i < EMU_LANES; i++) {
        if (op->b == PTX_SPACE_SHARED || op->b == PTX_SPACE_SHARED_CLUSTER || op->b == PTX_SPACE_LOCAL)
            address[i] = op->c ? address[i] & UINT32_MAX : emu_generic(warp, op->b, address[i]);
        narrow[i] = (uint32_t)address[i];
    }
    if (op->e & 2)
        emu_put64(warp, op->d, address);
    else
        emu_put32(warp, op->d, narrow);
    return op + 1;
}

/* isspacep. b: space */
const struct emu_op *emu_op_isspacep(struct emu_warp *warp, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    uint32_t bits = 0;
    emu_addresses(warp, op->a, 1, 0, address);
    uint64_t own = EMU_SHARED_WINDOW + warp->block->rank * EMU_SHARED_STRIDE;
    for (int i = 0; i < EMU_LANES; i++) {
        uint64_t a = address[i];
        int is = 0;
        switch (op->b) {
        case PTX_SPACE_SHARED:
            is = a >= own && a < own + EMU_SHARED_STRIDE;
            break;
        case PTX_SPACE_SHARED_CLUSTER:
            is = a >= EMU_SHARED_WINDOW && a < EMU_LOCAL_WINDOW;
            break;
        case PTX_SPACE_LOCAL:
            is = emu_is_local(a);
            break;
        case PTX_SPACE_PARAM:
            is = a >= EMU_PARAM_WINDOW && a < EMU_FUNCTION_START;
            break;
        case PTX_SPACE_CONST: {
            const struct emu_region *r = emu_region_find(warp->launch->device, a);
            is = r && r->read_only;
            break;
        }
        default: {
            const struct emu_region *r = a >= EMU_MAPPED_START ? emu_region_find(warp->launch->device, a) : NULL;
            is = a >= EMU_MAPPED_START && !(r && r->read_only);
            break;
        }
        }
        bits |= is ? 1u << i : 0;
    }
    emu_put_pred(warp, op->d, bits);
    return op + 1;
}

/* The address of shared memory at imm, in the block's own window: of the cluster where e is 0, generic where 2. */
const struct emu_op *emu_op_shared_address(struct emu_warp *warp, const struct emu_op *op)
{
    uint64_t value = op->imm + warp->block->rank * EMU_SHARED_STRIDE;
    if (op->e & 2) {
        uint64_t r[EMU_LANES];
        for (int i = 0; i < EMU_LANES; i++)
            r[i] = value;
        emu_put64(warp, op->d, r);
    } else {
        uint32_t r[EMU_LANES];
        for (int i = 0; i < EMU_LANES; i++)
            r[i] = (uint32_t)value;
        emu_put32(warp, op->d, r);
    }
    return op + 1;
}

/* mapa: a address, b rank; e: 1 the address has 64 bits; c: 1 it is a shared address, 0 generic. getctarank: b is 0
   bits set in e: 4. */
const struct emu_op *emu_op_mapa(struct emu_warp *warp, const struct emu_op *op)
{
    uint64_t address[EMU_LANES];
    uint32_t narrow[EMU_LANES];
    emu_addresses(warp, op->a, (int)(op->e & 1), op->imm, address);
    if (op->e & 4) {
        for (int i = 0; i < EMU_LANES; i++)
            narrow[i] = (uint32_t)(address[i] / EMU_SHARED_STRIDE & 0xff);
        emu_put32(warp, op->d, narrow);
        return op + 1;
    }
    const uint32_t *rank = EMU_W(op->b);
    for (int i = 0; i < EMU_LANES; i++) {
        uint64_t window = op->c ? 0 : EMU_SHARED_WINDOW;
        address[i] = window + (uint64_t)rank[i] * EMU_SHARED_STRIDE + (address[i] & (EMU_SHARED_STRIDE - 1));
        narrow[i] = (uint32_t)address[i];
    }
    if (op->e & 1)
        emu_put64(warp, op->d, address);
    else
        emu_put32(warp, op->d, narrow);
    return op + 1;
}
