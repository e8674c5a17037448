/* sm_86: Ampere (A10, A40, RTX 30). As sm_80, with 100 KB of shared memory and half the rate of the tensor cores. */
#include "arch/arch.h"

static const struct arch_mma mma[] = {
    ARCH_MMA_SYNC,
    {.kind = 0},
};

const struct arch arch_sm_86 = {
    .name = "sm_86",
    ARCH_LIMITS(sm_86),
    .cp_async = true,
    .ldmatrix = true,
    .on_request = true,
    .like = "sm_80",
    .tensor_flops = 1024,
    .mma = mma,
};
