/* sm_120a: Blackwell's workstation and consumer GPUs (RTX 50, RTX PRO): bulk tensor copies, mbarriers and setmaxnreg as
 * Hopper has them, matrix instructions as Ada has them: neither wgmma nor tensor memory. A block has 99 KB of shared
 * memory. Blocks here are alone: there are clusters, but no program of this architecture shares tiles in one.
 *
 * Where a bulk copy goes to shared::cluster ptxas (13.0.88) makes it a call (__cuda_syscall_cp_async_bulk_..._unicast),
 * with a stack frame, and ignores setmaxnreg (C7506); to shared::cta (PTX ISA 8.6) it is an instruction. */
#include "arch/arch.h"

static const struct arch_mma mma[] = {
    ARCH_MMA_SYNC,
    {"mma.sync", TW_FP8_E4M3, TW_FP32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    {"mma.sync", TW_FP8_E5M2, TW_FP32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    {.kind = 0},
};

const struct arch arch_sm_120a = {
    .name = "sm_120a",
    ARCH_LIMITS(sm_120a),
    .tma = true,
    .copies_to_block = true,
    .setmaxnreg = true,
    .cp_async = true,
    .ldmatrix = true,
    .stmatrix = true,
    .fp8 = true,
    .on_request = true,
    .like = "sm_80",
    .tensor_flops = 1024,
    .mma = mma,
};
