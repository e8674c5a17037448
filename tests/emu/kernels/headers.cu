// Cooperative groups and libcu++.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/tuple>
#include <cuda/std/utility>
namespace cg = cooperative_groups;

extern "C" __global__ void groups(const int *in, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int i = block.thread_rank(), v = in[i];
    out[i * 4] = cg::reduce(tile, v, cg::plus<int>()) + tile.meta_group_rank() * 1000;
    out[i * 4 + 1] = cg::inclusive_scan(tile, v, cg::plus<int>());
    out[i * 4 + 2] = tile.shfl_xor(v, 3) + tile.any(v > 5) + tile.ballot(v > 0);
    out[i * 4 + 3] = 0;
    if (v > 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        out[i * 4 + 3] = active.size() * 100 + active.thread_rank();
        active.sync();
    }
    block.sync();
}

extern "C" __global__ void grid_sync(int *data, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    int n = grid.size(), i = grid.thread_rank(), *from = data, *to = data + n;
    for (int r = 0; r < rounds; r++) {
        to[i] = from[(i + 37) % n] + r;
        grid.sync();
        int *t = from;
        from = to;
        to = t;
    }
}

extern "C" __global__ void atomics(int *values, unsigned long long *sum)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> a(values[0]);
    a.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_block> b(values[1 + blockIdx.x]);
    b.fetch_max(threadIdx.x * 3 % 50);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> c(*sum);
    unsigned long long old = c.load(cuda::memory_order_acquire);
    while (!c.compare_exchange_weak(old, old + threadIdx.x * 2))
        ;
}

#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void barriers(const int *in, int *out, int rounds)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[2][64];
    int t = threadIdx.x;
    if (t == 0)
        init(&bar, blockDim.x);
    __syncthreads();
    s[0][t] = in[t];
    int now = 0;
    for (int r = 0; r < rounds; r++) {
        auto token = bar.arrive();
        bar.wait(cuda::std::move(token));
        s[1 - now][t] = s[now][(t + 1) % 64] * 3 + r;
        now = 1 - now;
    }
    bar.arrive_and_wait();
    out[t] = s[now][63 - t];
}

extern "C" __global__ void copies(const int *in, int *out)
{
    __shared__ __align__(16) int s[128];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, sizeof s);
    cg::wait(block);
    out[threadIdx.x] = s[127 - threadIdx.x];
}

extern "C" __global__ void pipeline(const int *in, int *out, int tiles)
{
    __shared__ __align__(16) int s[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int compute = 0, fetch = 0; compute < tiles; compute++) {
        for (; fetch < tiles && fetch < compute + 2; fetch++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[fetch % 2], in + fetch * 64, cuda::aligned_size_t<16>(256), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = sum * 7 + s[compute % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void containers(const float *in, float *out)
{
    int t = threadIdx.x;
    cuda::std::array<float, 4> a = {in[t], in[t + 1], 2.0f, 3.0f};
    cuda::std::complex<float> z(a[0], a[1]), w(0.5f, -0.25f);
    for (int i = 0; i < 3; i++)
        z = z * w + cuda::std::complex<float>(1.0f, 0.0f);
    auto both = cuda::std::make_tuple(z.real(), cuda::std::abs(z.imag()), t);
    float sum = 0;
    for (float x : a)
        sum += x;
    out[t] = cuda::std::get<0>(both) + cuda::std::get<1>(both) + sum;
}
