namespace tools {
__constant__ int scale[4];
}
namespace other {
__device__ int scale = 7;
}
static __device__ float bias = 3;
__device__ int *table;

extern "C" __global__ void k(int *x)
{
    x[threadIdx.x] = (int)threadIdx.x * tools::scale[1] + (int)bias + (table ? table[0] : other::scale);
}
