/* sm_89: Ada (L4, L40S, RTX 40). As sm_86, and fp8. */
#include "arch/arch.h"

static const struct arch_mma mma[] = {
    ARCH_MMA_SYNC,
    {"mma.sync", TW_FP8_E4M3, TW_FP32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    {"mma.sync", TW_FP8_E5M2, TW_FP32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    {.kind = 0},
};

const struct arch arch_sm_89 = {
    .name = "sm_89",
    ARCH_LIMITS(sm_89),
    .cp_async = true,
    .ldmatrix = true,
    .fp8 = true,
    .on_request = true,
    .like = "sm_80",
    .tensor_flops = 1024,
    .mma = mma,
};
