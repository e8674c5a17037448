/* tcgen05 of sm_100a: the handlers that the lowering puts together, and what each carries as its extra. Blocks work
   alone (cta_group::1). */
#ifndef EMU_TENSOR_TENSOR_H
#define EMU_TENSOR_TENSOR_H

#include "emu/async/tcgen05.h"
#include "emu/exec/async_ops.h"

/* tcgen05.alloc and dealloc. */
struct emu_tensor_pool {
    struct emu_where to; /* alloc: in shared memory */
    uint32_t address;    /* dealloc: lanes */
    uint32_t columns;    /* lanes */
};

/* An address in tensor memory: lanes of 32 bits, and what is added. */
struct emu_tensor_where {
    uint32_t at, offset;
};

/* tcgen05.ld and st. */
struct emu_tensor_move {
    struct emu_tensor_where address;
    uint8_t shape; /* emu_tensor_shape */
    uint8_t pack;  /* pack::16b, unpack::16b */
    uint8_t store;
    uint32_t count, *registers; /* of a thread: offsets of their lanes */
};

/* tcgen05.mma */
struct emu_tensor_mma {
    struct emu_tensor_where d, a;                    /* a: where a_in_tensor */
    uint32_t a_descriptor, b_descriptor, descriptor; /* lanes: matrices of 64 bits, instruction of 32 */
    uint32_t accumulate;                             /* predicate operand */
    uint32_t masks[4];                               /* lanes of disable-output-lane, where has_masks */
    uint8_t kind;                                    /* emu_tcgen05_kind */
    uint8_t a_in_tensor, has_masks;
};

const struct emu_op *emu_op_tensor_alloc(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_tensor_dealloc(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_tensor_relinquish(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_tensor_load(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_tensor_store(struct emu_warp *warp, const struct emu_op *op);
const struct emu_op *emu_op_tensor_wait(struct emu_warp *warp, const struct emu_op *op);   /* a: of sts, else lds */
const struct emu_op *emu_op_tensor_fence(struct emu_warp *warp, const struct emu_op *op);  /* a: after, else before */
const struct emu_op *emu_op_tensor_commit(struct emu_warp *warp, const struct emu_op *op); /* extra: emu_where */
const struct emu_op *emu_op_tensor_mma(struct emu_warp *warp, const struct emu_op *op);

#endif
