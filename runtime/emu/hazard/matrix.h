/* The hazard engine's calls for matrix instructions that go on by themselves: wgmma with its registers, tcgen05 with
   tensor memory. The rules of hazard.h hold here too. */
#ifndef EMU_HAZARD_MATRIX_H
#define EMU_HAZARD_MATRIX_H

#include "hazard.h"

/* ---- wgmma and its registers ------------------------------------------------------------------------------------- */

/* Registers are numbers of the executor's, the same for the same place of the register file. */
struct emu_hazard_wgmma {
    const uint32_t *accumulators;
    uint32_t accumulator_count;
    const uint32_t *fragments; /* of A, where A is in registers */
    uint32_t fragment_count;
    uint32_t shape; /* any number that differs where shape or type of the accumulator do; not 0 */
};

/* wgmma.mma_async by one warp. The ranges of shared memory that it reads follow by emu_hazard_reads: A's rows of this
   warp, and all of B. */
emu_hazard_operation emu_hazard_wgmma_issue(struct emu_hazard_warp *warp, const struct emu_hazard_wgmma *wgmma,
                                            uint32_t position);
/* Whether what was said of its operands rested on warps that had not issued it: once they all have, the ranges that it
 * reads are to be told again. */
int emu_hazard_wgmma_doubtful(struct emu_hazard_warp *warp, emu_hazard_operation operation);
void emu_hazard_wgmma_fence(struct emu_hazard_warp *warp);

/* An instruction other than wgmma accesses a register of which warp->registers[reg] is not 0. */
void emu_hazard_register(struct emu_hazard_warp *warp, uint32_t reg, int write, uint32_t position);

/* Another instruction writes a register, known or not. by: the one that it was moved from, or EMU_HAZARD_NOWHERE where
   it was computed. Moves of constants are not told: compilers make them anywhere. */
void emu_hazard_written(struct emu_hazard_warp *warp, uint32_t reg, uint32_t by);

/* ---- tcgen05 and tensor memory (tensor.c) ------------------------------------------------------------------------ */

/* tcgen05.ld and st begin with emu_hazard_issue and end with emu_hazard_wait_all; a tcgen05.mma begins with
   emu_hazard_mma: shape is any number but 0 that is the same for mmas of one shape on one accumulator. Its operands in
   shared memory follow by emu_hazard_reads. */
emu_hazard_operation emu_hazard_mma(struct emu_hazard_warp *warp, uint32_t lanes, uint32_t shape, uint32_t position);

/* What a tcgen05 operation reads or writes of tensor memory: addresses behind EMU_TENSOR_OFFSET. accumulates: a write
   of D that reads it too. */
enum emu_hazard_tensor { EMU_TENSOR_READS, EMU_TENSOR_WRITES, EMU_TENSOR_ACCUMULATES };
void emu_hazard_tensor(struct emu_hazard_warp *warp, emu_hazard_operation operation, enum emu_hazard_tensor what,
                       const struct emu_hazard_range *ranges, uint32_t count);

/* tcgen05.dealloc of these ranges: everything that was done with them must be over. They are as new behind it. */
void emu_hazard_tensor_free(struct emu_hazard_warp *warp, uint32_t lanes, const struct emu_hazard_range *ranges,
                            uint32_t count, uint32_t position);

/* tcgen05.commit by these lanes: a handle for the arrival, as of emu_hazard_cp_arrive. */
emu_hazard_operation emu_hazard_tensor_commit(struct emu_hazard_warp *warp, uint32_t lanes, uint64_t address,
                                              uint32_t position);

/* tcgen05.fence::before_thread_sync and ::after_thread_sync. */
void emu_hazard_tensor_fence(struct emu_hazard_warp *warp, int after);

/* The registers that a tcgen05.ld writes: with strict, who reads one before tcgen05.wait::ld is told. */
void emu_hazard_tensor_loads(struct emu_hazard_warp *warp, emu_hazard_operation operation, const uint32_t *registers,
                             uint32_t count, uint32_t position);

#endif
