// printf, assert-like trap, local arrays, recursion, function pointers, a struct by value, alloca-like depot.

struct vec { float x, y, z; int n; };
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ struct vec scale(struct vec v, float by)
{
    v.x *= by;
    v.y *= by;
    v.z = v.x + v.y + v.n;
    return v;
}
__device__ __noinline__ int twice(int x) { return x * 2; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __forceinline__ int inner(int *p, int n) { return p[n] / 3; }
__device__ __forceinline__ int outer(int *p, int n) { return inner(p, n) + inner(p, n + 1) * 5; }
typedef int (*function)(int);
__device__ function table[2] = {twice, square};
__device__ int value = 42, *pointer = &value;
__constant__ float weights[4] = {1.5f, -2, 0, 1e-30f};
extern "C" __global__ void calls(int *out, struct vec v, int n)
{
    int local[16];
    for (int i = 0; i < 16; i++)
        local[i] = out[i] ^ n;
    v = scale(v, weights[n & 3]);
    printf("block %d thread %d: %f %lld %s\n", blockIdx.x, threadIdx.x, v.z, (long long)n, "text");
    if (v.n < 0)
        __trap();
    out[threadIdx.x] = fibonacci(n) + table[n & 1](n) + local[n & 15] + *pointer + (int)v.z;
    out[n] = outer(out, n) + clock() + (int)clock64();
}
