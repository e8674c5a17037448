/* sm_80: Ampere (A100). cp.async, ldmatrix, mma.sync. Its PTX runs on every newer GPU. */
#include "arch/arch.h"

static const struct arch_mma mma[] = {
    ARCH_MMA_SYNC,
    {.kind = 0},
};

const struct arch arch_sm_80 = {
    .name = "sm_80",
    ARCH_LIMITS(sm_80),
    .cp_async = true,
    .ldmatrix = true,
    .tensor_flops = 2048,
    .mma = mma,
};
