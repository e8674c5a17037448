/* sm_80: Ampere (A100). cp.async, ldmatrix, mma.sync. Its PTX runs on every newer GPU. */
#include "arch/arch.h"

static const struct arch_mma mma[] = {
    {"mma.sync", TW_BF16, TW_FP32, 16, 8, 8, 8, 16, true},
    {"mma.sync", TW_FP16, TW_FP32, 16, 8, 8, 8, 16, true},
    {"mma.sync", TW_FP16, TW_FP16, 16, 8, 8, 8, 16, true},
    {"mma.sync", TW_TF32, TW_FP32, 16, 8, 8, 8, 8, false},
    {"mma.sync", TW_INT8, TW_INT32, 16, 8, 8, 8, 32, false},
    {"mma.sync", TW_UINT8, TW_INT32, 16, 8, 8, 8, 32, false},
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
