//@ -- Sum over the threads of some warps: within a warp by shuffles, between warps through `partial`, one float a warp.
//@ param name text
//@ param barrier int
//@ param warps int
//@ local threads = warps * 32

// Every one of the ${threads} threads gets the sum of x over all. `warp` counts from 0 within them.
//@ op barrier id = barrier, threads = threads
__device__ __forceinline__ float ${name}(float x, float *partial, u32 warp)
{
    #pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_xor_sync(~0u, x, distance);
    if (threadIdx.x % 32 == 0)
        partial[warp] = x;
    asm volatile("bar.sync ${barrier}, ${threads};" ::: "memory");
    float sum = 0.0f;
    for (int i = 0; i < ${warps}; ++i)
        sum += partial[i];
    return sum;
}
