/* ---- choose ------------------------------------------------------------------------------------------------------ */

/* What was measured, in microseconds; ratio: the best peer's time by this one's. Of sizes measured in both modes,
 * sustained counts. Set-up 0 is the spec's own.
 *
 * NVIDIA H200 (sm_90a):
 *        M        N        K           us  ratio  mode       set-up
 *        1     4096     4096       10.500  1.187  sustained  1
 *       16     4096     4096       10.300  1.231  sustained  2
 *       64     4096     4096       10.800  1.063  sustained  3
 *       64     7168     2048        9.500  1.064  sustained  4
 *      128     7168     2048       11.000  0.984  sustained  5
 *      128    24576     1536       23.700  0.991  sustained  6
 *      512      512      512        3.600  1.078  sustained  7
 *     1024     1024     1024        6.100  1.012  sustained  8
 *     2048     2048     2048       27.600  0.977  sustained  9
 *     4096     2112     7168      183.900  1.008  sustained  10
 *     4096     4096     4096      203.200  0.994  sustained  11
 *     4096     4096    14336      690.200  0.992  sustained  0
 *     4096     6144     4096      298.500  1.025  sustained  12
 *     4096     7168     2048      173.100  1.013  sustained  13
 *     4096    14336     4096      694.300  1.012  sustained  14
 *     4096    24576     1536      450.800  0.969  sustained  13
 *     8192     8192     8192     1579.400  1.015  sustained  15
 *     8192     8192    28672     5566.700  0.979  sustained  15
 *     8192    28672     8192     5561.200  0.995  sustained  12
 *    16384     8192     8192     3134.300  1.014  sustained  12
 * set-up 1: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, tile = { k = 256, m = 8, n = 64 }
 * set-up 2: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, tile = { k = 256, m = 16, n = 64 }
 * set-up 3: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, split = {
 * k = 2 }, tile = { k = 128, m = 64, n = 64 }
 * set-up 4: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, tile = {
 * k = 128, m = 64, n = 64 }
 * set-up 5: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, tile = {
 * m = 128, n = 64 }
 * set-up 6: cache = { A = "evict_last", B = "evict_first", D = "evict_first" }, cluster = { m = 1 }, tile = { m = 128,
 * n = 96 }
 * set-up 7: cluster = { m = 1 }, tile = { k = 128, m = 64, n = 32 }
 * set-up 8: cluster = { m = 1 }, tile = { m = 64, n = 128 }
 * set-up 9: cluster = { m = 1 }, pipeline = { stages = 3, store = "whole" }
 * set-up 10: cluster = { m = 1 }, tile = { m = 192, n = 176 }
 * set-up 11: cache = { D = "evict_first" }
 * set-up 12: tile = { m = 256, n = 192 }
 * set-up 13: cache = { D = "evict_first" }, pipeline = { store = "late" }, schedule = { group = 16 }
 * set-up 14: cluster = { m = 1, n = 2 }, schedule = { group = 16 }, tile = { m = 256, n = 160 }
 * set-up 15: pipeline = { stages = 3, store = "whole" }
 */

/* Sizes are halved until all that were measured in a part have one set-up, half-way between two of them by ratio. A
 * size (by number) below `from` goes on at the first of `next`, others at the second; ~n is set-up n. */
static const struct {
    int64_t from;
    int32_t size, next[2];
} splits[] = {
    /* NVIDIA H200 (sm_90a) begins at row 0 */
    {5793, 0, {1, 15}}, /* 0: M below 5793: row 1, else row 15 */
    {6637, 1, {2, 11}}, /* 1: N below 6637: row 2, else row 11 */
    {5, 0, {~1, 3}}, /* 2: M below 5: set-up 1, else row 3 */
    {182, 0, {4, 5}}, /* 3: M below 182: row 4, else row 5 */
    {33, 0, {~2, ~3}}, /* 4: M below 33: set-up 2, else set-up 3 */
    {725, 0, {~7, 6}}, /* 5: M below 725: set-up 7, else row 6 */
    {1449, 0, {~8, 7}}, /* 6: M below 1449: set-up 8, else row 7 */
    {2897, 0, {~9, 8}}, /* 7: M below 2897: set-up 9, else row 8 */
    {10138, 2, {9, ~0}}, /* 8: K below 10138: row 9, else set-up 0 */
    {2942, 1, {~10, 10}}, /* 9: N below 2942: set-up 10, else row 10 */
    {5017, 1, {~11, ~12}}, /* 10: N below 5017: set-up 11, else set-up 12 */
    {725, 0, {12, 14}}, /* 11: M below 725: row 12, else row 14 */
    {13273, 1, {13, ~6}}, /* 12: N below 13273: row 13, else set-up 6 */
    {91, 0, {~4, ~5}}, /* 13: M below 91: set-up 4, else set-up 5 */
    {2897, 2, {~13, ~14}}, /* 14: K below 2897: set-up 13, else set-up 14 */
    {15326, 1, {16, ~12}}, /* 15: N below 15326: row 16, else set-up 12 */
    {11586, 0, {~15, ~12}}, /* 16: M below 11586: set-up 15, else set-up 12 */
};

/* By GPU: where its choice begins. Another model takes the first of its architecture. */
static const struct {
    const char *gpu;
    int32_t target, begin;
} choices[] = {
    {"NVIDIA H200", 2, 0}, /* sm_90a */
};

static void choose_table(struct gemm_bf16 *k, int device)
{
    char name[256] = "";
    int i, found = 0;
    if (k->driver.device_name && k->driver.device_name(name, (int)sizeof name - 1, device))
        name[0] = '\0';
    k->choice = ~0;
    for (i = 0; i < (int)(sizeof choices / sizeof *choices); i++) {
        if (choices[i].target != k->target || (found && strcmp(choices[i].gpu, name) != 0))
            continue;
        k->choice = choices[i].begin;
        found = 1;
    }
}

/* The set-up for these sizes; 0: the spec's own. */
INLINE int setup_of(const struct gemm_bf16 *k, const struct gemm_bf16_args *args)
{
    int32_t at = k->choice;
    const int64_t size[] = {args->M, args->N, args->K};
    while (at >= 0)
        at = splits[at].next[size[splits[at].size] >= splits[at].from];
    (void)args;
    return ~at;
}

/* The same for load. */
static int setup_for(const struct gemm_bf16 *k, const struct gemm_bf16_args *args)
{
    return setup_of(k, args);
}

/* Whether load has left set-up 1 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_tile_k256_m8_n64(const struct gemm_bf16 *k)
{
    return k->function[2] != NULL;
}

/* Whether load has left set-up 2 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_tile_k256_m16_n64(const struct gemm_bf16 *k)
{
    return k->function[3] != NULL;
}

/* Whether load has left set-up 3 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_swap_split_k2_tile_k128_m64_n64(const struct gemm_bf16 *k)
{
    return k->function[4] != NULL;
}

/* Whether load has left set-up 4 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_swap_tile_k128_m64_n64(const struct gemm_bf16 *k)
{
    return k->function[5] != NULL;
}

/* Whether load has left set-up 5 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_swap_tile_m128_n64(const struct gemm_bf16 *k)
{
    return k->function[6] != NULL;
}

/* Whether load has left set-up 6 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_D_first_cluster_m1_tile_m128_n96(const struct gemm_bf16 *k)
{
    return k->function[7] != NULL;
}

/* Whether load has left set-up 7 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_tile_k128_m64_n32(const struct gemm_bf16 *k)
{
    return k->function[8] != NULL;
}

/* Whether load has left set-up 8 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_tile_m64_n128(const struct gemm_bf16 *k)
{
    return k->function[9] != NULL;
}

/* Whether load has left set-up 9 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_stages3_store_whole(const struct gemm_bf16 *k)
{
    return k->function[10] != NULL;
}

/* Whether load has left set-up 10 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_tile_m192_n176(const struct gemm_bf16 *k)
{
    return k->function[11] != NULL;
}

/* Whether load has left set-up 11 of sm_90a in. */
INLINE int is_loaded_sm_90a_D_first(const struct gemm_bf16 *k)
{
    return k->function[12] != NULL;
}

/* Whether load has left set-up 12 of sm_90a in. */
INLINE int is_loaded_sm_90a_tile_m256_n192(const struct gemm_bf16 *k)
{
    return k->function[13] != NULL;
}

/* Whether load has left set-up 13 of sm_90a in. */
INLINE int is_loaded_sm_90a_D_first_store_late_group16(const struct gemm_bf16 *k)
{
    return k->function[14] != NULL;
}

/* Whether load has left set-up 14 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_n2_group16_tile_m256_n160(const struct gemm_bf16 *k)
{
    return k->function[15] != NULL;
}

/* Whether load has left set-up 15 of sm_90a in. */
INLINE int is_loaded_sm_90a_stages3_store_whole(const struct gemm_bf16 *k)
{
    return k->function[16] != NULL;
}

