#include <cooperative_groups.h>

extern "C" __global__ void k(int *x)
{
    x[32 * blockIdx.x + threadIdx.x] = blockIdx.x;
    cooperative_groups::this_grid().sync();
    int other = x[32 * ((blockIdx.x + 1) % gridDim.x) + threadIdx.x];
    cooperative_groups::this_grid().sync();
    x[32 * blockIdx.x + threadIdx.x] = other;
}
