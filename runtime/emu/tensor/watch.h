/* What the hazard engine is told of tensor memory. Each may be called only where warp->hazard is set. */
#ifndef EMU_TENSOR_WATCH_H
#define EMU_TENSOR_WATCH_H

#include "emu/exec/watch.h"
#include "tensor.h"

void emu_watch_tensor_free(struct emu_warp *warp, const struct emu_op *op, uint32_t column, uint32_t columns);
emu_hazard_operation emu_watch_tensor_move(struct emu_warp *warp, const struct emu_op *op,
                                           const struct emu_tensor_move *move, unsigned lane, unsigned column,
                                           unsigned columns);

/* One tcgen05.mma by a lane, decoded. a and b: its descriptors. Gives the tag for the queue. */
struct emu_tensor_flight {
    struct emu_tensor_memory *memory;
    const struct emu_tensor_mma *op;
    struct emu_block *block;
    struct emu_tcgen05_mma mma;
    uint64_t a, b;
    uint32_t masked[4];
    uint16_t lane, column, a_lane, a_column; /* of D, and of A in tensor memory */
    int accumulate;
};
uint64_t emu_watch_mma(struct emu_warp *warp, const struct emu_op *op, unsigned lane,
                       const struct emu_tensor_flight *flight);

/* The matrices in shared memory. */
static inline struct emu_operand emu_tensor_operand(const struct emu_tensor_flight *flight, int b)
{
    const struct emu_tcgen05_mma *m = &flight->mma;
    return (struct emu_operand){.descriptor = b ? flight->b : flight->a,
                                .bytes = m->bytes,
                                .mn_major = b ? m->trans_b : m->trans_a,
                                .rows = b ? m->n : m->m,
                                .k = m->k};
}

#endif
