// Asynchronous copies whose result is read without a wait: what is seen depends on when they happen.
extern "C" __global__ void race(const int *x, int *y)
{
    __shared__ int held[64];
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&held[threadIdx.x]));
    held[threadIdx.x] = -1;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + threadIdx.x) : "memory");
    y[threadIdx.x] = held[threadIdx.x];
    asm volatile("cp.async.wait_all;" ::: "memory");
}
