// Reverses blockDim.x ints through dynamic shared memory. MISSING leaves the barrier out.
extern __shared__ int held[];

extern "C" __global__ void reverse(int *x)
{
    held[threadIdx.x] = x[threadIdx.x];
#ifndef MISSING
    __syncthreads();
#endif
    x[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}
