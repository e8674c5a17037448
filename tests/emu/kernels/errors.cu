// Kernels that go wrong.

extern "C" __global__ void asserts(const int *in)
{
    assert(in[threadIdx.x] >= 0 && "no negative numbers");
}

extern "C" __global__ void traps(int *out)
{
    if (threadIdx.x == 3)
        __trap();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void out_of_bounds(int *out, int n)
{
    out[threadIdx.x + n] = 1;
}

extern "C" __global__ void null_pointer(int *p)
{
    *p = 1;
}

extern "C" __global__ void misaligned(int *out)
{
    *(long long *)(out + 1) = 5;
}

extern "C" __global__ void never_ends(volatile int *flag)
{
    while (*flag == 0)
        ;
}

extern "C" __global__ void half_at_barrier(int *out)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;");
    out[threadIdx.x] = 1;
}

__device__ __noinline__ int deep(int n, int *p)
{
    int local[64];
    for (int i = 0; i < 64; i++)
        local[i] = n + i;
    p[0] += local[n & 63];
    return n == 0 ? 0 : deep(n - 1, p) + local[(n * 7) & 63];
}

extern "C" __global__ void stack_overflow(int *out)
{
    out[0] = deep(1 << 20, out + 1);
}

extern "C" __global__ void unordered(int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[63 - threadIdx.x];
}
