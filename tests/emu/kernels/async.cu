// Copies that go on behind the threads' backs: cp.async, by asm and by CUDA's header.
#include <cuda_pipeline.h>

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void ring_asm(const float *in, float *out, int tiles)
{
    const int STAGES = 3;
    __shared__ __align__(16) float ring[STAGES][256];
    int t = threadIdx.x;
    auto load = [&](int tile) {
        if (tile < tiles)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&ring[tile % STAGES][t * 4])),
                         "l"(in + tile * 256 + t * 4)
                         : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float sum = 0;
    for (int i = 0; i < STAGES - 1; i++)
        load(i);
    for (int i = 0; i < tiles; i++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        load(i + STAGES - 1);
        for (int k = 0; k < 4; k++)
            sum += ring[i % STAGES][(t * 4 + k + 64) % 256] * (i + 1);
    }
    out[blockIdx.x * blockDim.x + t] = sum;
}

// The last elements by the form that fills with zeros.
extern "C" __global__ void zero_fill(const int *in, int *out, int n)
{
    __shared__ __align__(16) int s[256];
    int t = threadIdx.x, left = max(0, min(4, n - t * 4)) * 4;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&s[t * 4])),
                 "l"(in + (left ? t * 4 : 0)), "r"(left)
                 : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int i = t; i < 256; i += blockDim.x)
        out[i] = s[255 - i];
}

extern "C" __global__ void pipeline_header(const int *in, int *out, int tiles)
{
    __shared__ int s[2][128];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&s[0][t], in + t, sizeof(int));
    __pipeline_commit();
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles)
            __pipeline_memcpy_async(&s[(i + 1) & 1][t], in + (i + 1) * 128 + t, sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum = sum * 5 + s[i & 1][127 - t];
        __syncthreads();
    }
    out[t] = sum;
}
