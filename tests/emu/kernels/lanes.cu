// What lanes of a warp do together, in all the forms of CUDA's functions.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
#define FULL 0xffffffffu

extern "C" __global__ void shuffles(const int *in, int *out, double *wide)
{
    int t = threadIdx.x, v = in[t], *o = out + t * 10;
    o[0] = __shfl_sync(FULL, v, t * 7 % 32);
    o[1] = __shfl_sync(FULL, v, 3, 8);
    o[2] = __shfl_up_sync(FULL, v, 3, 16);
    o[3] = __shfl_down_sync(FULL, v, 5, 8);
    o[4] = __shfl_xor_sync(FULL, v, 9, 16);
    o[5] = (int)__shfl_sync(FULL, (long long)v << 33 | 5, t ^ 1) ^
           (int)(__shfl_down_sync(FULL, (long long)v * 12345678901ll, 2) >> 7);
    o[6] = (int)__half2float(__low2half(__shfl_xor_sync(FULL, __floats2half2_rn((float)v, 1.0f), 4)));
    o[7] = __shfl_sync(FULL, v, t + 40);
    o[8] = __shfl_sync(FULL, v, -3, 4);
    o[9] = 0;
    if (t % 32 < 20) {
        int next = __shfl_down_sync(0xfffff, v, 1);
        o[9] = t % 32 < 19 ? next : 0;
    }
    wide[t] = __shfl_xor_sync(FULL, v * 1.5, 16);
}

extern "C" __global__ void votes(const int *in, unsigned *out)
{
    int t = threadIdx.x, v = in[t], same;
    unsigned *o = out + t * 8;
    o[0] = __all_sync(FULL, v > -100) + 2 * __any_sync(FULL, v == 8) + 4 * __uni_sync(FULL, v > 0);
    o[1] = __ballot_sync(FULL, v > 2);
    o[2] = __match_any_sync(FULL, v);
    o[3] = __match_all_sync(FULL, v / 100, &same) + same;
    o[4] = __match_any_sync(FULL, (unsigned long long)v << 40);
    o[5] = __reduce_max_sync(t % 32 < 16 ? 0xffffu : 0xffff0000u, (unsigned)(v + 9));
    o[6] = __ballot_sync(1u << t % 32, v > 0);
    o[7] = __fns(__ballot_sync(FULL, v & 1), 0, t % 5 + 1) ^ __popc(__activemask());
}

// Groups of unlike size, which meet at their own pace.
extern "C" __global__ void tiles(const int *in, int *out)
{
    cg::thread_block block = cg::this_thread_block();
    int t = block.thread_rank(), v = in[t];
    auto four = cg::tiled_partition<4>(block);
    auto warp = cg::tiled_partition<32>(block);
    auto some = cg::tiled_partition(block, 16);
    for (int i = 0; i < four.meta_group_rank() % 3; i++)
        v += four.shfl_down(v, 1) * 2;
    four.sync();
    auto odd = cg::binary_partition(warp, v & 1);
    auto same = cg::labeled_partition(warp, in[t] % 3);
    out[t * 3] = v + odd.size() * 100 + odd.thread_rank();
    out[t * 3 + 1] = same.size() * 100 + same.thread_rank() + same.shfl(v, 0);
    out[t * 3 + 2] = some.thread_rank() + some.size();
    block.sync();
}

// Sums over 64 and 128 threads: groups of several warps use shared memory of their own.
extern "C" __global__ void tiles_of_warps(const int *in, int *out)
{
    __shared__ cg::block_tile_memory<128> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int v = in[block.thread_rank()];
    for (int i = 0; i < 3; i++) {
        v = tile.shfl(v, (i * 11 + 40) % 64) + tile.thread_rank();
        tile.sync();
    }
    out[block.thread_rank()] = v + tile.any(v > 50) * 1000 + tile.meta_group_rank();
}
