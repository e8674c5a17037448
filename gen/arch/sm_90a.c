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
    {"mma.sync", TW_BF16, TW_FP32, 16, 8, 8, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"mma.sync", TW_FP16, TW_FP32, 16, 8, 8, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"mma.sync", TW_FP16, TW_FP16, 16, 8, 8, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"mma.sync", TW_TF32, TW_FP32, 16, 8, 8, 8, 8, false, ARCH_COMPUTED_NONE},
    {"mma.sync", TW_INT8, TW_INT32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_NONE},
    {"mma.sync", TW_UINT8, TW_INT32, 16, 8, 8, 8, 32, false, ARCH_COMPUTED_NONE},
    {.kind = 0},
};

const struct arch arch_sm_90a = {
    .name = "sm_90a",
    ARCH_LIMITS(sm_90a),
    .tma = true,
    .wgmma = true,
    .clusters = true,
    .setmaxnreg = true,
    .cp_async = true,
    .ldmatrix = true,
    .stmatrix = true,
    .pdl = true,
    .fp8 = true,
    .tensor_flops = 4096,
    .mma = mma,
};
