/* sm_100a: Blackwell's data-centre GPUs (B200, GB200): Hopper's bulk copies, mbarriers and clusters, and tcgen05, which
 * multiplies operands in shared memory into tensor memory. Each warpgroup has products of its own, of 128 rows where
 * nothing but stores reads them, else of 64 as with wgmma, which is half of what an instruction could take: one of its
 * threads issues them, and all of its threads take the sums out. No such GPU has run what is made for it. */
#include "arch/arch.h"

static const struct arch_mma mma[] = {
    {"tcgen05", TW_BF16, TW_FP32, 64, 8, 256, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"tcgen05", TW_FP16, TW_FP32, 64, 8, 256, 8, 16, true, ARCH_COMPUTED_PLAIN},
    {"tcgen05", TW_TF32, TW_FP32, 64, 8, 256, 8, 8, false, ARCH_COMPUTED_NONE},
    {"tcgen05", TW_FP8_E4M3, TW_FP32, 64, 8, 256, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    {"tcgen05", TW_FP8_E5M2, TW_FP32, 64, 8, 256, 8, 32, false, ARCH_COMPUTED_EXCHANGED},
    /* Of integers n is 8, 16, 24, then a multiple of 16. */
    {"tcgen05", TW_INT8, TW_INT32, 64, 8, 24, 8, 32, false, ARCH_COMPUTED_NONE},
    {"tcgen05", TW_INT8, TW_INT32, 64, 32, 256, 16, 32, false, ARCH_COMPUTED_NONE},
    {"tcgen05", TW_UINT8, TW_INT32, 64, 8, 24, 8, 32, false, ARCH_COMPUTED_NONE},
    {"tcgen05", TW_UINT8, TW_INT32, 64, 32, 256, 16, 32, false, ARCH_COMPUTED_NONE},
    /* Of all lanes n is a multiple of 16. */
    {"tcgen05", TW_BF16, TW_FP32, 128, 16, 256, 16, 16, true, ARCH_COMPUTED_PLAIN},
    {"tcgen05", TW_FP16, TW_FP32, 128, 16, 256, 16, 16, true, ARCH_COMPUTED_PLAIN},
    {"tcgen05", TW_TF32, TW_FP32, 128, 16, 256, 16, 8, false, ARCH_COMPUTED_NONE},
    {"tcgen05", TW_FP8_E4M3, TW_FP32, 128, 16, 256, 16, 32, false, ARCH_COMPUTED_EXCHANGED},
    {"tcgen05", TW_FP8_E5M2, TW_FP32, 128, 16, 256, 16, 32, false, ARCH_COMPUTED_EXCHANGED},
    {"tcgen05", TW_INT8, TW_INT32, 128, 16, 256, 16, 32, false, ARCH_COMPUTED_NONE},
    {"tcgen05", TW_UINT8, TW_INT32, 128, 16, 256, 16, 32, false, ARCH_COMPUTED_NONE},
    ARCH_MMA_SYNC,
    {.kind = 0},
};

static const struct arch_mma mma_sync[] = {ARCH_MMA_SYNC, {.kind = 0}};

#define OF_BOTH                                                                                                        \
    .name = "sm_100a", ARCH_LIMITS(sm_100a), .tma = true, .setmaxnreg = true, .cp_async = true, .ldmatrix = true,      \
    .stmatrix = true, .pdl = true, .fp8 = true, .on_request = true, .like = "sm_90a", .tensor_flops = 8192

/* Blocks are alone, as on sm_90a without wgmma. */
static const struct arch plain = {OF_BOTH, .mma = mma_sync};

const struct arch arch_sm_100a = {
    OF_BOTH, .wgmma = true, .tensor_columns = 512, .clusters = true, .mma = mma, .plain = &plain};
