/* Addresses as values: cvta, isspacep, mapa and their kin; what is said of wrong ones; the stack's. */
#include <stdio.h>

#include "flow.h"
#include "memory.h"
#include "operations.h"
#include "report.h"

void emu_addresses(struct emu_warp *warp, uint32_t at, int wide, uint64_t offset, uint64_t *address)
{
    if (wide) {
        const uint64_t *a = EMU_L(at);
        for (int i = 0; i < EMU_LANES; i++)
            address[i] = a[i] + offset;
    } else {
        const uint32_t *a = EMU_W(at);
        for (int i = 0; i < EMU_LANES; i++)
            address[i] = (uint32_t)(a[i] + (uint32_t)offset);
    }
}

const struct emu_op *emu_out_of_bounds(struct emu_warp *warp, const struct emu_op *op, uint64_t address, uint64_t bytes,
                                       int write)
{
    const char *space = "global";
    if (address < EMU_LOCAL_WINDOW)
        space = address < EMU_SHARED_WINDOW ? "no" : "shared";
    else if (address < EMU_PARAM_WINDOW)
        space = "local";
    else if (address < EMU_MAPPED_START)
        space = "parameter";
    struct emu_device *device = warp->launch->device;
    char near[160] = "";
    if (address >= EMU_MAPPED_START) {
        for (size_t i = 0; i < device->region_count; i++) {
            const struct emu_region *r = device->regions[i];
            if (address < r->whole_base)
                continue;
            if (address < r->base) {
                snprintf(near, sizeof near, ", %llu bytes before the start of allocation %u of %llu bytes",
                         (unsigned long long)(r->base - address), r->id, (unsigned long long)r->bytes);
                continue;
            }
            uint64_t past = address - r->base;
            if (past < r->bytes && write && r->read_only)
                snprintf(near, sizeof near, ", which is constant memory");
            else
                snprintf(near, sizeof near, ", %llu bytes behind the start of allocation %u of %llu bytes",
                         (unsigned long long)past, r->id, (unsigned long long)r->bytes);
        }
    }
    return emu_report_at(warp, op, "BOUNDS", address, 1, "%s of %llu bytes at 0x%llx, in %s memory%s",
                         write ? "write" : "read", (unsigned long long)bytes, (unsigned long long)address, space, near);
}

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

/* ---- The stack --------------------------------------------------------------------------------------------------- */

/* alloca, stacksave, stackrestore. d, a: 64-bit lanes; imm: alignment; b: 0 alloca, 1 save, 2 restore. Lanes of a path
   share one stack top: the largest request counts. */
const struct emu_op *emu_op_alloca(struct emu_warp *warp, const struct emu_op *op)
{
    struct emu_path *path = &warp->paths[warp->current];
    uint64_t r[EMU_LANES];
    uint64_t top = path->local_top;
    if (op->b == 2) {
        uint64_t to = EMU_L(op->a)[emu_first(warp->lanes.mask)];
        if (to < path->local + path->function->local_bytes || to > path->local_top)
            return emu_report_at(warp, op, "BOUNDS", to, 1, "stackrestore to 0x%llx, where no stacksave was",
                                 (unsigned long long)to);
        path->local_top = (uint32_t)to;
        return op + 1;
    }
    if (op->b == 0) {
        const uint64_t *size = EMU_L(op->a);
        uint64_t most = 0, align = op->imm ? op->imm : 16;
        for (uint32_t m = warp->lanes.mask; m; m &= m - 1)
            most = size[emu_first(m)] > most ? size[emu_first(m)] : most;
        top = (top + align - 1) & ~(align - 1);
        if (top > UINT32_MAX / 2 || most > UINT32_MAX / 2 || emu_warp_room(warp, 0, 0, (uint32_t)(top + most)))
            return top > UINT32_MAX / 2 || most > UINT32_MAX / 2 ? emu_out_of_bounds(warp, op, top, most, 1) : NULL;
        path->local_top = (uint32_t)((top + most + 15) & ~UINT64_C(15));
    }
    for (int i = 0; i < EMU_LANES; i++)
        r[i] = top;
    emu_put64(warp, op->d, r);
    return op + 1;
}
