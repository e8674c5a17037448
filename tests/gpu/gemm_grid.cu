// What tests/gpu/gemm_grid.c runs on the device beside the kernels: inputs, the fp64 reference, the comparison.
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// An input element as a double; kind 0: normal, 1: integers -8 .. 8. It depends on row and k alone, not on the layout.
__device__ __forceinline__ double element(u64 seed, i64 row, i64 k, int kind)
{
    u64 x = (seed * 0x9E3779B97F4A7C15ull) ^ ((u64)row * 0xD1B54A32D192ED03ull + (u64)k * 0x8CB92BA72F3D8DD7ull);
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBull;
    x ^= x >> 31;
    if (kind == 1)
        return (double)(int)(x % 17) - 8.0;
    float u = ((x & 0xffffff) + 1) / 16777217.0f, v = ((x >> 32) & 0xffffff) / 16777216.0f;
    return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__device__ __forceinline__ u16 to_half(double x, int bf16)
{
    u16 r;
    if (bf16)
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"((float)x));
    else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"((float)x));
    return r;
}

__device__ __forceinline__ double from_half(u16 x, int bf16)
{
    if (bf16)
        return __uint_as_float((u32)x << 16);
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
    return r;
}

// rows x k elements; row_stride, k_stride in elements.
struct fill_arguments {
    u16 *to;
    i64 rows, k, row_stride, k_stride;
    u64 seed;
    int kind, bf16;
};

extern "C" __global__ void fill(const __grid_constant__ fill_arguments a)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < a.rows * a.k; i += gridDim.x * (i64)blockDim.x) {
        // The dim that lies dense in memory runs fastest.
        const i64 row = a.k_stride == 1 ? i / a.k : i % a.rows, k = a.k_stride == 1 ? i % a.k : i / a.rows;
        a.to[row * a.row_stride + k * a.k_stride] = to_half(element(a.seed, row, k, a.kind), a.bf16);
    }
}

// sum[m * n + ...] of size x size over k elements, from dense K-major A and B.
struct sums_arguments {
    const u16 *a, *b;
    double *sum;
    i64 size, k;
    int bf16;
};

extern "C" __global__ void sums(const __grid_constant__ sums_arguments p)
{
    __shared__ double a[16][33], b[16][33];
    const i64 m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    double sum = 0.0;
    for (i64 k = 0; k < p.k; k += 32) {
        for (int i = threadIdx.x; i < 16 * 32; i += 256) {
            const i64 kk = k + i % 32;
            a[i / 32][i % 32] = kk < p.k ? from_half(p.a[(m0 + i / 32) * p.k + kk], p.bf16) : 0.0;
            b[i / 32][i % 32] = kk < p.k ? from_half(p.b[(n0 + i / 32) * p.k + kk], p.bf16) : 0.0;
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i)
            sum += a[y][i] * b[x][i];
        __syncthreads();
    }
    p.sum[(m0 + y) * p.size + n0 + x] = sum;
}

// Compares D with the sums; everything of D's memory that is no element must still hold the poison 0xff.
struct compare_arguments {
    const void *d;
    const double *sum;
    double *out; // squared error, squared reference, unequal elements, touched padding elements
    i64 m, n, size, m_stride, n_stride, memory; // memory: elements allocated
    int dtype;   // 0 fp32, 1 bf16, 2 fp16
};

extern "C" __global__ void compare(const __grid_constant__ compare_arguments p)
{
    double error = 0.0, reference = 0.0, unequal = 0.0, touched = 0.0;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < p.memory; i += gridDim.x * (i64)blockDim.x) {
        const i64 outer = p.n_stride == 1 ? p.m_stride : p.n_stride;
        const i64 high = i / outer, low = i % outer;
        const i64 m = p.n_stride == 1 ? high : low, n = p.n_stride == 1 ? low : high;
        const u32 bits = p.dtype ? ((const u16 *)p.d)[i] : ((const u32 *)p.d)[i];
        if (m >= p.m || n >= p.n) {
            touched += bits != (p.dtype ? 0xffffu : 0xffffffffu);
            continue;
        }
        const double want = p.sum[m * p.size + n];
        const double have = p.dtype ? from_half((u16)bits, p.dtype == 1) : (double)__uint_as_float(bits);
        const double rounded = p.dtype ? from_half(to_half(want, p.dtype == 1), p.dtype == 1) : (double)(float)want;
        error += have == have ? (have - want) * (have - want) : 1e300;
        reference += want * want;
        unequal += !(have == rounded);
    }
    const double value[4] = {error, reference, unequal, touched};
    for (int i = 0; i < 4; ++i)
        if (value[i] != 0.0)
            atomicAdd(&p.out[i], value[i]);
}

// D of any size against sums made on the spot; k is small. Integers: every element must be equal.
struct large_arguments {
    const u16 *a, *b, *d;
    double *out; // unequal elements
    i64 m, n, k;
};

extern "C" __global__ void large(const __grid_constant__ large_arguments p)
{
    double unequal = 0.0;
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < p.m * p.n; i += gridDim.x * (i64)blockDim.x) {
        const i64 m = i / p.n, n = i % p.n;
        float sum = 0.0f;
        for (i64 k = 0; k < p.k; ++k)
            sum += (float)from_half(p.a[m * p.k + k], 1) * (float)from_half(p.b[n * p.k + k], 1);
        unequal += p.d[i] != to_half(sum, 1);
    }
    if (unequal != 0.0)
        atomicAdd(p.out, unequal);
}
