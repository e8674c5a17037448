/* Does a wgmma of a warpgroup read its operands before all four warps have issued it? Warp 3 writes B late, and no
 * barrier stands between those writes and the wgmma of warp 0. Where warp 0's rows are what the late writes make them,
 * a wgmma begins when the last warp has issued it. On an H200 it does: 12,800 of 12,800, whatever the delay.
 *   nvcc -gencode arch=compute_90a,code=[sm_90a,compute_90a] tests/strangers/late_warp.cu -o late_warp && ./late_warp
 */
#include <cuda_bf16.h>
#include <stdint.h>
#include <stdio.h>

/* A: 64 rows of 16 along k; B: 8 rows of 16; core matrices of 8 rows of 16 bytes, 128 bytes each, with no swizzle. */
__device__ static uint64_t described(const void *place)
{
    uint64_t address = (uint64_t)__cvta_generic_to_shared(place);
    return (address & 0x3FFFF) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

__global__ void late(float *d, int wait)
{
    __shared__ alignas(128) __nv_bfloat16 a[64 * 16], b[8 * 16];
    int t = threadIdx.x, warp = t / 32;
    for (int i = t; i < 64 * 16; i += 128)
        a[i] = __float2bfloat16(1);
    for (int i = t; i < 8 * 16; i += 128)
        b[i] = __float2bfloat16(1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (warp == 3) { // alone and late: all of B is 2
        long long until = clock64() + wait;
        while (clock64() < until) {
        }
        for (int i = t - 96; i < 8 * 16; i += 32)
            b[i] = __float2bfloat16(2);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
    float c[4];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"
                 : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
                 : "l"(described(a)), "l"(described(b)));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; i++)
        d[t * 4 + i] = c[i];
}

int main()
{
    float *d, all[512];
    if (cudaMalloc(&d, sizeof all))
        return 2;
    int old = 0, now = 0;
    for (int round = 0; round < 100; round++) {
        late<<<1, 128>>>(d, 1000 * round);
        if (cudaMemcpy(all, d, sizeof all, cudaMemcpyDeviceToHost))
            return 3;
        for (int i = 0; i < 128; i++) // of warp 0
            old += all[i] == 16, now += all[i] == 32;
    }
    printf("of warp 0: %d as before the late writes, %d as behind them, %d neither\n", old, now, 12800 - old - now);
}
