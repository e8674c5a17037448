/* DeepGEMM's kernels for Hopper, which its Python compiles and launches, in clusters of two blocks that share a tile by
 * multicast: with three tiles along the shared axis, so that the last one has no peer. MULTICAST_A says which tile.
 *   usage: deep_gemm bf16|fp8 */
#include "exact.h"

#include <deep_gemm/epilogue/transform.cuh>
#include <deep_gemm/impls/sm90_bf16_gemm.cuh>
#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

#include <string.h>

using namespace deep_gemm;

static const int tile_m = 128, tile_n = 128, blocks = 4, threads = 128 + 256, stages = 4;

template <class... Parameters, class... Arguments>
static void launch(void (*kernel)(Parameters...), int shared, Arguments... arguments)
{
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {2, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks, config.blockDim = threads, config.dynamicSmemBytes = shared;
    config.attrs = &cluster, config.numAttrs = 1;
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CHECK(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

static int bf16(int m, int n, int k)
{
    const int tile_k = 64;
    std::vector<float> a = integers((size_t)m * k, 1), b = integers((size_t)n * k, 2), d((size_t)m * n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int x = 0; x < k; x++)
                d[(size_t)i * n + j] += a[(size_t)i * k + x] * b[(size_t)j * k + x];
    const CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    __nv_bfloat16 *out = on_device<__nv_bfloat16>(std::vector<float>((size_t)m * n));
    cute::TmaDescriptor maps[3];
    maps[0] = matrix_map(on_device<__nv_bfloat16>(a), type, 2, m, k, tile_m, 64, CU_TENSOR_MAP_SWIZZLE_128B);
    maps[1] = matrix_map(on_device<__nv_bfloat16>(b), type, 2, n, k, tile_n, 64, CU_TENSOR_MAP_SWIZZLE_128B);
    maps[2] = matrix_map(out, type, 2, m, n, tile_m, 64, CU_TENSOR_MAP_SWIZZLE_128B);
    int shared = tile_m * tile_n * 2 + stages * ((tile_m + tile_n) * tile_k * 2 + 16);
    launch(sm90_bf16_gemm_impl<cute::UMMA::Major::K, cute::UMMA::Major::K, 0, 0, 0, 1, tile_m, tile_n, tile_k, 128, 128,
                               128, stages, 128, 256, 2, MULTICAST_A, blocks, GemmType::Normal, false,
                               cutlass::bfloat16_t>,
           shared, (int *)nullptr, m, n, k, maps[0], maps[1], maps[2]);
    return judged("bf16", out, d);
}

/* A scale for each row and 128 of k of A, one for each 128 by 128 of B: powers of two, so that results are exact. */
static int fp8(int m, int n, int k)
{
    const int tile_k = 128;
    std::vector<float> a = integers((size_t)m * k, 3), b = integers((size_t)n * k, 4), d((size_t)m * n);
    std::vector<float> scales_a((size_t)(k / 128) * m), scales_b((size_t)(n / 128) * (k / 128));
    for (size_t i = 0; i < scales_a.size(); i++)
        scales_a[i] = i % 3 == 0 ? 0.5f : i % 3 == 1 ? 1.0f : 2.0f;
    for (size_t i = 0; i < scales_b.size(); i++)
        scales_b[i] = i % 2 == 0 ? 2.0f : 1.0f;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int x = 0; x < k; x++)
                d[(size_t)i * n + j] += a[(size_t)i * k + x] * b[(size_t)j * k + x] *
                                        scales_a[(size_t)(x / 128) * m + i] *
                                        scales_b[(size_t)(j / 128) * (k / 128) + x / 128];
    const CUtensorMapDataType byte = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    __nv_bfloat16 *out = on_device<__nv_bfloat16>(std::vector<float>((size_t)m * n));
    cute::TmaDescriptor maps[4];
    maps[0] = matrix_map(on_device<__nv_fp8_e4m3>(a), byte, 1, m, k, tile_m, 128, CU_TENSOR_MAP_SWIZZLE_128B);
    maps[1] = matrix_map(on_device<__nv_fp8_e4m3>(b), byte, 1, n, k, tile_n, 128, CU_TENSOR_MAP_SWIZZLE_128B);
    maps[2] = matrix_map(out, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, m, n, tile_m, 64, CU_TENSOR_MAP_SWIZZLE_128B);
    maps[3] = matrix_map(on_device<float>(scales_a), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, k / 128, m, 1, tile_m,
                         CU_TENSOR_MAP_SWIZZLE_NONE);
    int shared = tile_m * tile_n * 2 + stages * ((tile_m + tile_n) * tile_k + tile_m * 4 + 16) + (k / 128 + 1) / 2 * 8;
    launch(sm90_fp8_gemm_1d2d_impl<cute::UMMA::Major::K, 0, 0, 0, 1, tile_m, tile_n, tile_k, 128, 128, 128, stages, 128,
                                   256, 2, MULTICAST_A, blocks, GemmType::Normal, cutlass::bfloat16_t,
                                   epilogue::transform::EpilogueIdentity>,
           shared, on_device<float>(scales_b), (int *)nullptr, m, n, k, maps[0], maps[1], maps[2], maps[3]);
    return judged("fp8", out, d);
}

int main(int count, char **arguments)
{
    CHECK(cudaFree(nullptr));
    int m = MULTICAST_A ? 256 : 384, n = MULTICAST_A ? 384 : 256;
    return count == 2 && !strcmp(arguments[1], "fp8") ? fp8(m, n, 1024) : bf16(m, n, 640);
}
