/* sm_120a: Blackwell's workstation and consumer GPUs (RTX 50, RTX PRO): bulk tensor copies and mbarriers as Hopper has
 * them, matrix instructions as Ada has them: neither wgmma nor tensor memory. A block has 99 KB of shared memory. Its
 * clusters share no tiles that a block could not as well have loaded itself from L2: blocks here are alone. */
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
    .cp_async = true,
    .ldmatrix = true,
    .stmatrix = true,
    .fp8 = true,
    .on_request = true,
    .tensor_flops = 1024,
    .mma = mma,
};
