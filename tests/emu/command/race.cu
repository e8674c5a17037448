// Asynchronous copies, one a warp, whose result is read without a wait: what is seen depends on when they happen.
extern "C" __global__ void race(const int *x, int *y)
{
    __shared__ int held[8];
    int warp = threadIdx.x / 32;
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&held[warp]));
    if (threadIdx.x % 32 == 0) {
        held[warp] = -1;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + warp) : "memory");
    }
    for (int i = 0; i < 16; i++)
        __syncthreads();
    if (threadIdx.x % 32 == 0)
        y[blockIdx.x * 8 + warp] = held[warp];
    asm volatile("cp.async.wait_all;" ::: "memory");
}
