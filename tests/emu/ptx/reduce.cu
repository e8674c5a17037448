// Reductions by shuffles, shared memory, votes and atomics.
extern "C" __global__ void __launch_bounds__(256, 2) reduce(const float *in, float *out, int *count, int n)
{
    __shared__ float part[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int offset = 16; offset; offset >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if ((threadIdx.x & 31) == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    int positive = __syncthreads_count(sum > 0), any = __syncthreads_or(sum < 0), all = __syncthreads_and(sum != 1);
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int offset = 16; offset; offset >>= 1)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        unsigned ballot = __ballot_sync(0xffffffffu, sum > 1);
        if (__all_sync(0xffffffffu, sum > 2) || __any_sync(~0u, sum < 3) || __uni_sync(~0u, sum < 9))
            count[1] = ballot;
        if (threadIdx.x == 0) {
            atomicAdd(out, sum);
            atomicAdd(count, positive + any + all);
        }
    }
}
