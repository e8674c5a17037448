// Clusters, barriers and bulk copies through CUDA's own headers.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// A histogram whose bins lie in the shared memory of four blocks.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_histogram(const unsigned *in, unsigned *out, int n)
{
    __shared__ unsigned bins[32];
    cg::cluster_group cluster = cg::this_cluster();
    bins[threadIdx.x % 32] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
        unsigned bin = in[i] % 128;
        atomicAdd(cluster.map_shared_rank(bins, bin / 32) + bin % 32, 1);
    }
    cluster.sync();
    if (threadIdx.x < 32)
        out[cluster.block_rank() * 32 + threadIdx.x] = bins[threadIdx.x];
}

#pragma nv_diag_suppress static_var_with_dynamic_init
typedef cuda::barrier<cuda::thread_scope_block> barrier;

extern "C" __global__ void bulk_barrier(const int *in, int *out)
{
    __shared__ alignas(16) int s[512];
    __shared__ barrier bar;
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    barrier::arrival_token token;
    if (t == 0) {
        cuda::memcpy_async(s, in, cuda::aligned_size_t<16>(sizeof s), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, 0);
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    for (int i = t; i < 512; i += blockDim.x)
        s[i] = s[i] * 2 + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, s, sizeof s);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

extern "C" __global__ void wide_atomics(const float4 *in, float4 *sum, float2 *pair)
{
    float4 v = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(sum, v);
    atomicAdd(pair, make_float2(v.x, v.w));
}
