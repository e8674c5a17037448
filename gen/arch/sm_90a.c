/* sm_90a: Hopper (H100, H200) with the instructions that only it has: wgmma, setmaxnreg. */
#include "arch/arch.h"

static const struct arch_mma mma[] = {
    {"wgmma", TW_BF16, TW_FP32, 64, 8, 256, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"wgmma", TW_FP16, TW_FP32, 64, 8, 256, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"wgmma", TW_FP16, TW_FP16, 64, 8, 256, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"wgmma", TW_TF32, TW_FP32, 64, 8, 256, 8, 8, false, ARCH_COMPUTED_NONE},
    {"wgmma", TW_FP8_E4M3, TW_FP32, 64, 8, 256, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    {"wgmma", TW_FP8_E5M2, TW_FP32, 64, 8, 256, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    /* Integer wgmma: n is 8, 16, 24, then a multiple of 16. */
    {"wgmma", TW_INT8, TW_INT32, 64, 8, 24, 8, 32, false, ARCH_COMPUTED_NONE},
    {"wgmma", TW_INT8, TW_INT32, 64, 32, 256, 16, 32, false, ARCH_COMPUTED_NONE},
    {"wgmma", TW_UINT8, TW_INT32, 64, 8, 24, 8, 32, false, ARCH_COMPUTED_NONE},
    {"wgmma", TW_UINT8, TW_INT32, 64, 32, 256, 16, 32, false, ARCH_COMPUTED_NONE},
    ARCH_MMA_SYNC,
    {.kind = 0},
};

static const struct arch_mma mma_sync[] = {ARCH_MMA_SYNC, {.kind = 0}};

#define OF_BOTH                                                                                                        \
    .name = "sm_90a", ARCH_LIMITS(sm_90a), .tma = true, .setmaxnreg = true, .cp_async = true, .ldmatrix = true,        \
    .stmatrix = true, .pdl = true, .fp8 = true, .tensor_flops = 4096

/* Blocks are alone: no program that leaves wgmma alone shares tiles in a cluster. */
static const struct arch plain = {OF_BOTH, .mma = mma_sync};

const struct arch arch_sm_90a = {OF_BOTH, .wgmma = true, .clusters = true, .mma = mma, .plain = &plain};
