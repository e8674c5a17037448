/* ---- choose ------------------------------------------------------------------------------------------------------ */

/* What was measured, in microseconds; ratio: the best peer's time by this one's. Of sizes measured in both modes,
 * sustained counts. Set-up 0 is the spec's own.
 *
 * NVIDIA H200 (sm_90a):
 *        M        N        K           us  ratio  mode       set-up
 *        1     4096     4096       10.200  1.223  sustained  2
 *       16     4096     4096       10.300  1.247  sustained  4
 *       64     4096     4096       10.700  1.084  sustained  6
 *       64     7168     2048        9.500  1.070  sustained  8
 *      128     7168     2048       11.200  0.994  sustained  10
 *      128    24576     1536       24.700  0.992  sustained  12
 *      512      512      512        3.300  1.144  sustained  14
 *     1024     1024     1024        5.900  1.051  sustained  16
 *     2048     2048     2048       28.400  0.969  sustained  18
 *     4096     2112     7168      196.700  0.950  sustained  19
 *     4096     4096     4096      203.200  1.017  sustained  20
 *     4096     4096    14336      689.300  1.017  sustained  0
 *     4096     6144     4096      298.200  1.036  sustained  21
 *     4096     7168     2048      173.700  1.008  sustained  23
 *     4096    14336     4096      704.800  1.003  sustained  24
 *     4096    24576     1536      444.400  1.009  sustained  26
 *     8192     8192     8192     1617.500  0.991  sustained  20
 *     8192     8192    28672     5588.800  0.973  sustained  27
 *     8192    28672     8192     5492.100  1.015  sustained  21
 *    16384     8192     8192     3174.000  1.001  sustained  21
 * set-up 2: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, tile = { k = 256, m = 8, n = 64 },
 * with these sizes as numbers
 * set-up 4: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, tile = { k = 256, m = 16, n = 64 },
 * with these sizes as numbers
 * set-up 6: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, split = {
 * k = 2 }, tile = { k = 128, m = 64, n = 64 }, with these sizes as numbers
 * set-up 8: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, tile = {
 * k = 128, m = 64, n = 64 }, with these sizes as numbers
 * set-up 10: cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, tile = {
 * m = 128, n = 64 }, with these sizes as numbers
 * set-up 12: cache = { A = "evict_last", B = "evict_first", D = "evict_first" }, cluster = { m = 1 }, tile = { m = 128,
 * n = 96 }, with these sizes as numbers
 * set-up 14: cluster = { m = 1 }, tile = { k = 128, m = 64, n = 32 }, with these sizes as numbers
 * set-up 16: cluster = { m = 1 }, tile = { m = 64, n = 128 }, with these sizes as numbers
 * set-up 18: cluster = { m = 1, n = 2 }, with these sizes as numbers
 * set-up 19: cluster = { m = 1 }, tile = { m = 192, n = 176 }
 * set-up 20: cache = { D = "evict_first" }, pipeline = { store = "late" }
 * set-up 21: tile = { m = 256, n = 192 }
 * set-up 23: cache = { D = "evict_first" }, pipeline = { store = "late" }, schedule = { group = 16 }, with these sizes
 * as numbers
 * set-up 24: cluster = { m = 1, n = 2 }, schedule = { group = 16 }, tile = { m = 256, n = 160 }
 * set-up 26: pipeline = { store = "late" }, schedule = { group = 16 }, with these sizes as numbers
 * set-up 27: pipeline = { stages = 3, store = "whole" }
 */

/* Sizes are halved until all that were measured in a part have one set-up, half-way between two of them by ratio. A
 * size (by number) below `from` goes on at the first of `next`, others at the second; ~n is set-up n. */
static const struct {
    int64_t from;
    int32_t size, next[2];
} splits[] = {
    /* NVIDIA H200 (sm_90a) begins at row 0 */
    {2897, 0, {1, 9}}, /* 0: M below 2897: row 1, else row 9 */
    {5, 0, {24, 2}}, /* 1: M below 5: row 24, else row 2 */
    {33, 0, {30, 3}}, /* 2: M below 33: row 30, else row 3 */
    {257, 0, {4, 7}}, /* 3: M below 257: row 4, else row 7 */
    {13273, 1, {5, 54}}, /* 4: N below 13273: row 5, else row 54 */
    {91, 0, {6, 48}}, /* 5: M below 91: row 6, else row 48 */
    {2897, 2, {36, 42}}, /* 6: K below 2897: row 36, else row 42 */
    {725, 0, {60, 8}}, /* 7: M below 725: row 60, else row 8 */
    {1449, 0, {66, 72}}, /* 8: M below 1449: row 66, else row 72 */
    {2897, 2, {10, 11}}, /* 9: K below 2897: row 10, else row 11 */
    {13273, 1, {78, 84}}, /* 10: N below 13273: row 78, else row 84 */
    {10837, 2, {12, 18}}, /* 11: K below 10837: row 12, else row 18 */
    {2942, 1, {~19, 13}}, /* 12: N below 2942: set-up 19, else row 13 */
    {5017, 1, {~20, 14}}, /* 13: N below 5017: set-up 20, else row 14 */
    {5793, 0, {15, 16}}, /* 14: M below 5793: row 15, else row 16 */
    {9386, 1, {~21, ~24}}, /* 15: N below 9386: set-up 21, else set-up 24 */
    {15326, 1, {17, ~21}}, /* 16: N below 15326: row 17, else set-up 21 */
    {11586, 0, {~20, ~21}}, /* 17: M below 11586: set-up 20, else set-up 21 */
    {5793, 0, {~0, ~27}}, /* 18: M below 5793: set-up 0, else set-up 27 */
    {2, 0, {~2, ~1}}, /* 19: M below 2: set-up 2, else set-up 1 */
    {1, 0, {~1, 19}}, /* 20: M below 1: set-up 1, else row 19 */
    {4097, 1, {20, ~1}}, /* 21: N below 4097: row 20, else set-up 1 */
    {4096, 1, {~1, 21}}, /* 22: N below 4096: set-up 1, else row 21 */
    {4097, 2, {22, ~1}}, /* 23: K below 4097: row 22, else set-up 1 */
    {4096, 2, {~1, 23}}, /* 24: K below 4096: set-up 1, else row 23 */
    {17, 0, {~4, ~3}}, /* 25: M below 17: set-up 4, else set-up 3 */
    {16, 0, {~3, 25}}, /* 26: M below 16: set-up 3, else row 25 */
    {4097, 1, {26, ~3}}, /* 27: N below 4097: row 26, else set-up 3 */
    {4096, 1, {~3, 27}}, /* 28: N below 4096: set-up 3, else row 27 */
    {4097, 2, {28, ~3}}, /* 29: K below 4097: row 28, else set-up 3 */
    {4096, 2, {~3, 29}}, /* 30: K below 4096: set-up 3, else row 29 */
    {65, 0, {~8, ~7}}, /* 31: M below 65: set-up 8, else set-up 7 */
    {64, 0, {~7, 31}}, /* 32: M below 64: set-up 7, else row 31 */
    {7169, 1, {32, ~7}}, /* 33: N below 7169: row 32, else set-up 7 */
    {7168, 1, {~7, 33}}, /* 34: N below 7168: set-up 7, else row 33 */
    {2049, 2, {34, ~7}}, /* 35: K below 2049: row 34, else set-up 7 */
    {2048, 2, {~7, 35}}, /* 36: K below 2048: set-up 7, else row 35 */
    {65, 0, {~6, ~5}}, /* 37: M below 65: set-up 6, else set-up 5 */
    {64, 0, {~5, 37}}, /* 38: M below 64: set-up 5, else row 37 */
    {4097, 1, {38, ~5}}, /* 39: N below 4097: row 38, else set-up 5 */
    {4096, 1, {~5, 39}}, /* 40: N below 4096: set-up 5, else row 39 */
    {4097, 2, {40, ~5}}, /* 41: K below 4097: row 40, else set-up 5 */
    {4096, 2, {~5, 41}}, /* 42: K below 4096: set-up 5, else row 41 */
    {129, 0, {~10, ~9}}, /* 43: M below 129: set-up 10, else set-up 9 */
    {128, 0, {~9, 43}}, /* 44: M below 128: set-up 9, else row 43 */
    {7169, 1, {44, ~9}}, /* 45: N below 7169: row 44, else set-up 9 */
    {7168, 1, {~9, 45}}, /* 46: N below 7168: set-up 9, else row 45 */
    {2049, 2, {46, ~9}}, /* 47: K below 2049: row 46, else set-up 9 */
    {2048, 2, {~9, 47}}, /* 48: K below 2048: set-up 9, else row 47 */
    {129, 0, {~12, ~11}}, /* 49: M below 129: set-up 12, else set-up 11 */
    {128, 0, {~11, 49}}, /* 50: M below 128: set-up 11, else row 49 */
    {24577, 1, {50, ~11}}, /* 51: N below 24577: row 50, else set-up 11 */
    {24576, 1, {~11, 51}}, /* 52: N below 24576: set-up 11, else row 51 */
    {1537, 2, {52, ~11}}, /* 53: K below 1537: row 52, else set-up 11 */
    {1536, 2, {~11, 53}}, /* 54: K below 1536: set-up 11, else row 53 */
    {513, 0, {~14, ~13}}, /* 55: M below 513: set-up 14, else set-up 13 */
    {512, 0, {~13, 55}}, /* 56: M below 512: set-up 13, else row 55 */
    {513, 1, {56, ~13}}, /* 57: N below 513: row 56, else set-up 13 */
    {512, 1, {~13, 57}}, /* 58: N below 512: set-up 13, else row 57 */
    {513, 2, {58, ~13}}, /* 59: K below 513: row 58, else set-up 13 */
    {512, 2, {~13, 59}}, /* 60: K below 512: set-up 13, else row 59 */
    {1025, 0, {~16, ~15}}, /* 61: M below 1025: set-up 16, else set-up 15 */
    {1024, 0, {~15, 61}}, /* 62: M below 1024: set-up 15, else row 61 */
    {1025, 1, {62, ~15}}, /* 63: N below 1025: row 62, else set-up 15 */
    {1024, 1, {~15, 63}}, /* 64: N below 1024: set-up 15, else row 63 */
    {1025, 2, {64, ~15}}, /* 65: K below 1025: row 64, else set-up 15 */
    {1024, 2, {~15, 65}}, /* 66: K below 1024: set-up 15, else row 65 */
    {2049, 0, {~18, ~17}}, /* 67: M below 2049: set-up 18, else set-up 17 */
    {2048, 0, {~17, 67}}, /* 68: M below 2048: set-up 17, else row 67 */
    {2049, 1, {68, ~17}}, /* 69: N below 2049: row 68, else set-up 17 */
    {2048, 1, {~17, 69}}, /* 70: N below 2048: set-up 17, else row 69 */
    {2049, 2, {70, ~17}}, /* 71: K below 2049: row 70, else set-up 17 */
    {2048, 2, {~17, 71}}, /* 72: K below 2048: set-up 17, else row 71 */
    {4097, 0, {~23, ~22}}, /* 73: M below 4097: set-up 23, else set-up 22 */
    {4096, 0, {~22, 73}}, /* 74: M below 4096: set-up 22, else row 73 */
    {7169, 1, {74, ~22}}, /* 75: N below 7169: row 74, else set-up 22 */
    {7168, 1, {~22, 75}}, /* 76: N below 7168: set-up 22, else row 75 */
    {2049, 2, {76, ~22}}, /* 77: K below 2049: row 76, else set-up 22 */
    {2048, 2, {~22, 77}}, /* 78: K below 2048: set-up 22, else row 77 */
    {4097, 0, {~26, ~25}}, /* 79: M below 4097: set-up 26, else set-up 25 */
    {4096, 0, {~25, 79}}, /* 80: M below 4096: set-up 25, else row 79 */
    {24577, 1, {80, ~25}}, /* 81: N below 24577: row 80, else set-up 25 */
    {24576, 1, {~25, 81}}, /* 82: N below 24576: set-up 25, else row 81 */
    {1537, 2, {82, ~25}}, /* 83: K below 1537: row 82, else set-up 25 */
    {1536, 2, {~25, 83}}, /* 84: K below 1536: set-up 25, else row 83 */
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
INLINE int is_loaded_sm_90a_M1_N4096_K4096(const struct gemm_bf16 *k)
{
    return k->function[3] != NULL;
}

/* Whether load has left set-up 3 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_tile_k256_m16_n64(const struct gemm_bf16 *k)
{
    return k->function[4] != NULL;
}

/* Whether load has left set-up 4 of sm_90a in. */
INLINE int is_loaded_sm_90a_M16_N4096_K4096(const struct gemm_bf16 *k)
{
    return k->function[5] != NULL;
}

/* Whether load has left set-up 5 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_swap_split_k2_tile_k128_m64_n64(const struct gemm_bf16 *k)
{
    return k->function[6] != NULL;
}

/* Whether load has left set-up 6 of sm_90a in. */
INLINE int is_loaded_sm_90a_M64_N4096_K4096(const struct gemm_bf16 *k)
{
    return k->function[7] != NULL;
}

/* Whether load has left set-up 7 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_swap_tile_k128_m64_n64(const struct gemm_bf16 *k)
{
    return k->function[8] != NULL;
}

/* Whether load has left set-up 8 of sm_90a in. */
INLINE int is_loaded_sm_90a_M64_N7168_K2048(const struct gemm_bf16 *k)
{
    return k->function[9] != NULL;
}

/* Whether load has left set-up 9 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_cluster_m1_swap_tile_m128_n64(const struct gemm_bf16 *k)
{
    return k->function[10] != NULL;
}

/* Whether load has left set-up 10 of sm_90a in. */
INLINE int is_loaded_sm_90a_M128_N7168_K2048(const struct gemm_bf16 *k)
{
    return k->function[11] != NULL;
}

/* Whether load has left set-up 11 of sm_90a in. */
INLINE int is_loaded_sm_90a_A_last_B_first_D_first_cluster_m1_tile_m128_n96(const struct gemm_bf16 *k)
{
    return k->function[12] != NULL;
}

/* Whether load has left set-up 12 of sm_90a in. */
INLINE int is_loaded_sm_90a_M128_N24576_K1536(const struct gemm_bf16 *k)
{
    return k->function[13] != NULL;
}

/* Whether load has left set-up 13 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_tile_k128_m64_n32(const struct gemm_bf16 *k)
{
    return k->function[14] != NULL;
}

/* Whether load has left set-up 14 of sm_90a in. */
INLINE int is_loaded_sm_90a_M512_N512_K512(const struct gemm_bf16 *k)
{
    return k->function[15] != NULL;
}

/* Whether load has left set-up 15 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_tile_m64_n128(const struct gemm_bf16 *k)
{
    return k->function[16] != NULL;
}

/* Whether load has left set-up 16 of sm_90a in. */
INLINE int is_loaded_sm_90a_M1024_N1024_K1024(const struct gemm_bf16 *k)
{
    return k->function[17] != NULL;
}

/* Whether load has left set-up 17 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_n2(const struct gemm_bf16 *k)
{
    return k->function[18] != NULL;
}

/* Whether load has left set-up 18 of sm_90a in. */
INLINE int is_loaded_sm_90a_M2048_N2048_K2048(const struct gemm_bf16 *k)
{
    return k->function[19] != NULL;
}

/* Whether load has left set-up 19 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_tile_m192_n176(const struct gemm_bf16 *k)
{
    return k->function[20] != NULL;
}

/* Whether load has left set-up 20 of sm_90a in. */
INLINE int is_loaded_sm_90a_D_first_store_late(const struct gemm_bf16 *k)
{
    return k->function[21] != NULL;
}

/* Whether load has left set-up 21 of sm_90a in. */
INLINE int is_loaded_sm_90a_tile_m256_n192(const struct gemm_bf16 *k)
{
    return k->function[22] != NULL;
}

/* Whether load has left set-up 22 of sm_90a in. */
INLINE int is_loaded_sm_90a_D_first_store_late_group16(const struct gemm_bf16 *k)
{
    return k->function[23] != NULL;
}

/* Whether load has left set-up 23 of sm_90a in. */
INLINE int is_loaded_sm_90a_M4096_N7168_K2048(const struct gemm_bf16 *k)
{
    return k->function[24] != NULL;
}

/* Whether load has left set-up 24 of sm_90a in. */
INLINE int is_loaded_sm_90a_cluster_m1_n2_group16_tile_m256_n160(const struct gemm_bf16 *k)
{
    return k->function[25] != NULL;
}

/* Whether load has left set-up 25 of sm_90a in. */
INLINE int is_loaded_sm_90a_store_late_group16(const struct gemm_bf16 *k)
{
    return k->function[26] != NULL;
}

/* Whether load has left set-up 26 of sm_90a in. */
INLINE int is_loaded_sm_90a_M4096_N24576_K1536(const struct gemm_bf16 *k)
{
    return k->function[27] != NULL;
}

/* Whether load has left set-up 27 of sm_90a in. */
INLINE int is_loaded_sm_90a_stages3_store_whole(const struct gemm_bf16 *k)
{
    return k->function[28] != NULL;
}

