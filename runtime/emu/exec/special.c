/* Special registers, addresses in the frame, and moves between registers of unlike widths. */
#include "machine.h"
#include "operations.h"

const struct emu_op *emu_op_nop(struct emu_warp *warp, const struct emu_op *op)
{
    (void)warp;
    return op + 1;
}

static uint64_t clock_now(struct emu_warp *warp)
{
    warp->spin_op = NULL; /* time goes on: a loop that looks at it does not stand still */
    warp->looked = 1;
    warp->launch->clocks++;
    return ++warp->launch->time;
}

/* The value that all lanes have. */
static uint64_t uniform(struct emu_warp *warp, uint32_t which)
{
    const struct emu_block *block = warp->block;
    const struct emu_launch *launch = warp->launch;
    uint32_t axis;
    switch (which) {
    case PTX_SR_NTID_X:
    case PTX_SR_NTID_Y:
    case PTX_SR_NTID_Z:
        return launch->block[which - PTX_SR_NTID_X];
    case PTX_SR_CTAID_X:
    case PTX_SR_CTAID_Y:
    case PTX_SR_CTAID_Z:
        return block->index[which - PTX_SR_CTAID_X];
    case PTX_SR_NCTAID_X:
    case PTX_SR_NCTAID_Y:
    case PTX_SR_NCTAID_Z:
        return launch->grid[which - PTX_SR_NCTAID_X];
    case PTX_SR_WARPID:
        return warp->index;
    case PTX_SR_NWARPID:
        return block->warp_count;
    case PTX_SR_SMID:
        return block->linear % launch->sms;
    case PTX_SR_NSMID:
        return launch->sms;
    case PTX_SR_GRIDID:
        return launch->number;
    case PTX_SR_IS_EXPLICIT_CLUSTER:
        return launch->cluster_blocks > 1;
    case PTX_SR_CLUSTERID_X:
    case PTX_SR_CLUSTERID_Y:
    case PTX_SR_CLUSTERID_Z:
        return block->cluster->index[which - PTX_SR_CLUSTERID_X];
    case PTX_SR_NCLUSTERID_X:
    case PTX_SR_NCLUSTERID_Y:
    case PTX_SR_NCLUSTERID_Z:
        return launch->clusters[which - PTX_SR_NCLUSTERID_X];
    case PTX_SR_CLUSTER_CTAID_X:
    case PTX_SR_CLUSTER_CTAID_Y:
    case PTX_SR_CLUSTER_CTAID_Z:
        axis = which - PTX_SR_CLUSTER_CTAID_X;
        return block->index[axis] % launch->cluster[axis];
    case PTX_SR_CLUSTER_NCTAID_X:
    case PTX_SR_CLUSTER_NCTAID_Y:
    case PTX_SR_CLUSTER_NCTAID_Z:
        return launch->cluster[which - PTX_SR_CLUSTER_NCTAID_X];
    case PTX_SR_CLUSTER_CTARANK:
        return block->rank;
    case PTX_SR_CLUSTER_NCTARANK:
        return launch->cluster_blocks;
    case PTX_SR_CLOCK:
    case PTX_SR_CLOCK64:
    case PTX_SR_GLOBALTIMER:
    case PTX_SR_GLOBALTIMER_LO:
        return clock_now(warp);
    case PTX_SR_CLOCK_HI:
    case PTX_SR_GLOBALTIMER_HI:
        return clock_now(warp) >> 32;
    case PTX_SR_TOTAL_SMEM_SIZE:
    case PTX_SR_AGGR_SMEM_SIZE:
        return launch->shared_bytes;
    case PTX_SR_DYNAMIC_SMEM_SIZE:
        return launch->dynamic_bytes;
    case PTX_SR_ENVREG + 1: /* as CUDA's cooperative groups read the grid's workspace */
        return launch->workspace ? launch->workspace->base >> 32 : 0;
    case PTX_SR_ENVREG + 2:
        return launch->workspace ? launch->workspace->base & UINT32_MAX : 0;
    case PTX_SR_RESERVED_SMEM_OFFSET_1:
        return EMU_RESERVED;
    case PTX_SR_RESERVED_SMEM_OFFSET_END:
    case PTX_SR_RESERVED_SMEM_OFFSET_CAP:
        return EMU_SHARED_START;
    default:
        return 0;
    }
}

const struct emu_op *emu_op_special(struct emu_warp *warp, const struct emu_op *op)
{
    uint64_t r[EMU_LANES];
    uint32_t narrow[EMU_LANES];
    const struct emu_launch *launch = warp->launch;
    uint32_t first = warp->index * EMU_LANES, nx = launch->block[0], ny = launch->block[1];
    switch (op->a) {
    case PTX_SR_TID_X:
        if (ny == 1 && launch->block[2] == 1)
            EMU_EACH r[i] = first + (uint32_t)i;
        else
            EMU_EACH r[i] = (first + (uint32_t)i) % nx;
        break;
    case PTX_SR_TID_Y:
        EMU_EACH r[i] = (first + (uint32_t)i) / nx % ny;
        break;
    case PTX_SR_TID_Z:
        EMU_EACH r[i] = (first + (uint32_t)i) / (nx * ny);
        break;
    case PTX_SR_LANEID:
        EMU_EACH r[i] = (uint32_t)i;
        break;
    case PTX_SR_LANEMASK_EQ:
        EMU_EACH r[i] = 1u << i;
        break;
    case PTX_SR_LANEMASK_LE:
        EMU_EACH r[i] = UINT32_MAX >> (31 - i);
        break;
    case PTX_SR_LANEMASK_LT:
        EMU_EACH r[i] = (1u << i) - 1;
        break;
    case PTX_SR_LANEMASK_GE:
        EMU_EACH r[i] = UINT32_MAX << i;
        break;
    case PTX_SR_LANEMASK_GT:
        EMU_EACH r[i] = ~(UINT32_MAX >> (31 - i));
        break;
    default: {
        uint64_t value = uniform(warp, op->a);
        EMU_EACH r[i] = value;
        break;
    }
    }
    if (op->e & 2) {
        emu_put64(warp, op->d, r);
    } else {
        EMU_EACH narrow[i] = (uint32_t)r[i];
        emu_put32(warp, op->d, narrow);
    }
    return op + 1;
}

const struct emu_op *emu_op_special_pred(struct emu_warp *warp, const struct emu_op *op)
{
    emu_put_pred(warp, op->d, warp->launch->cluster_blocks > 1 ? UINT32_MAX : 0); /* %is_explicit_cluster */
    return op + 1;
}

const struct emu_op *emu_op_set_pred(struct emu_warp *warp, const struct emu_op *op)
{
    emu_put_pred(warp, op->d, op->imm ? UINT32_MAX : 0);
    return op + 1;
}

/* The local address imm in the frame. */
const struct emu_op *emu_op_frame_address(struct emu_warp *warp, const struct emu_op *op)
{
    uint64_t value = op->imm + warp->paths[warp->current].local, r[EMU_LANES];
    uint32_t narrow[EMU_LANES];
    if (op->e & 2) {
        EMU_EACH r[i] = value;
        emu_put64(warp, op->d, r);
    } else {
        EMU_EACH narrow[i] = (uint32_t)value;
        emu_put32(warp, op->d, narrow);
    }
    return op + 1;
}

/* b: 1 from 64 bits to 32, 0 from 32 to 64, upper bits 0. */
const struct emu_op *emu_op_resize(struct emu_warp *warp, const struct emu_op *op)
{
    uint64_t r[EMU_LANES];
    uint32_t narrow[EMU_LANES];
    if (op->b) {
        const uint64_t *a = EMU_L(op->a);
        EMU_EACH narrow[i] = (uint32_t)a[i];
        emu_put32(warp, op->d, narrow);
    } else {
        const uint32_t *a = EMU_W(op->a);
        EMU_EACH r[i] = a[i];
        emu_put64(warp, op->d, r);
    }
    return op + 1;
}

/* Elements of imm bits, the first lowest, to or from a whole of e bits. */
const struct emu_op *emu_op_pack(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_list *list = op->extra;
    if (op->e == 128) {
        uint64_t *d = EMU_L(op->d);
        uint32_t each = 64 / (uint32_t)op->imm; /* elements in a half */
        for (uint32_t k = 0; k < list->count; k++) {
            const unsigned char *from = emu_at(warp, list->at[k]);
            for (uint32_t m = warp->lanes.mask; m; m &= m - 1) {
                unsigned lane = emu_first(m), shift = (unsigned)(k % each * op->imm) & 63;
                uint64_t x = 0;
                memcpy(&x, from + lane * (op->imm == 64 ? 8 : 4), op->imm == 64 ? 8 : 4);
                uint64_t *half = &d[2 * lane + k / each];
                *half = k % each ? *half | x << shift : x;
            }
        }
        return op + 1;
    }
    uint64_t r[EMU_LANES] = {0};
    uint32_t narrow[EMU_LANES];
    uint64_t keep = (UINT64_C(1) << op->imm) - 1;
    for (uint32_t k = 0; k < list->count; k++) {
        const uint32_t *from = EMU_W(list->at[k]);
        unsigned shift = (unsigned)(k * op->imm);
        EMU_EACH r[i] |= (from[i] & keep) << shift;
    }
    if (op->e == 64) {
        emu_put64(warp, op->d, r);
    } else {
        EMU_EACH narrow[i] = (uint32_t)r[i];
        emu_put32(warp, op->d, narrow);
    }
    return op + 1;
}

const struct emu_op *emu_op_unpack(struct emu_warp *warp, const struct emu_op *op)
{
    const struct emu_list *list = op->extra;
    uint64_t whole[2][EMU_LANES] = {{0}};
    if (op->e == 128) {
        const uint64_t *a = EMU_L(op->a);
        EMU_EACH whole[0][i] = a[2 * i], whole[1][i] = a[2 * i + 1];
    } else if (op->e == 64) {
        memcpy(whole[0], EMU_L(op->a), sizeof whole[0]);
    } else {
        const uint32_t *a = EMU_W(op->a);
        EMU_EACH whole[0][i] = a[i];
    }
    uint32_t bits = (uint32_t)op->imm, each = op->e > 64 ? 64 / bits : list->count;
    for (uint32_t k = 0; k < list->count; k++) {
        const uint64_t *from = whole[k / each];
        unsigned shift = k % each * bits;
        if (bits == 64) {
            emu_put64(warp, list->at[k], from);
            continue;
        }
        uint32_t r[EMU_LANES];
        uint64_t keep = (UINT64_C(1) << bits) - 1;
        EMU_EACH r[i] = (uint32_t)(from[i] >> shift & keep);
        emu_put32(warp, list->at[k], r);
    }
    return op + 1;
}
