// Matrix products without tensor cores.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void naive_f32(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n) {
        float sum = 0;
        for (int i = 0; i < k; i++)
            sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = sum;
    }
}

template <typename T, int TILE> __device__ void tiled(const T *a, const T *b, T *c, int m, int n, int k)
{
    __shared__ T as[TILE][TILE], bs[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    T sum = 0;
    for (int t = 0; t < k; t += TILE) {
        as[ty][tx] = row < m && t + tx < k ? a[row * k + t + tx] : T(0);
        bs[ty][tx] = t + ty < k && column < n ? b[(t + ty) * n + column] : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

extern "C" __global__ void tiled_f32(const float *a, const float *b, float *c, int m, int n, int k)
{
    tiled<float, 16>(a, b, c, m, n, k);
}

extern "C" __global__ void tiled_f64(const double *a, const double *b, double *c, int m, int n, int k)
{
    tiled<double, 8>(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(64)
    tiled_s64(const long long *a, const long long *b, long long *c, int m, int n, int k)
{
    tiled<long long, 8>(a, b, c, m, n, k);
}

// 64 x 64 tile, 4 x 4 a thread, float4 loads, registers for the next tile while this one is used.
extern "C" __global__ void __launch_bounds__(256) registers_f32(const float *a, const float *b, float *c, int n, int k)
{
    __shared__ __align__(16) float as[2][8][64 + 4], bs[2][8][64];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
    __align__(16) float fa[4], fb[4];
    float acc[4][4] = {};
    float4 na, nb;
    auto fetch = [&](int t) {
        if (tid < 128) {
            na = *(const float4 *)&a[(row0 + tid / 2) * k + t + tid % 2 * 4];
            nb = *(const float4 *)&b[(t + tid / 16) * n + column0 + tid % 16 * 4];
        }
    };
    auto keep = [&](int s) {
        if (tid < 128) {
            as[s][tid % 2 * 4 + 0][tid / 2] = na.x;
            as[s][tid % 2 * 4 + 1][tid / 2] = na.y;
            as[s][tid % 2 * 4 + 2][tid / 2] = na.z;
            as[s][tid % 2 * 4 + 3][tid / 2] = na.w;
            *(float4 *)&bs[s][tid / 16][tid % 16 * 4] = nb;
        }
    };
    fetch(0);
    keep(0);
    __syncthreads();
    for (int t = 0, s = 0; t < k; t += 8, s ^= 1) {
        if (t + 8 < k)
            fetch(t + 8);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            *(float4 *)fa = *(float4 *)&as[s][i][ty * 4];
            *(float4 *)fb = *(float4 *)&bs[s][i][tx * 4];
#pragma unroll
            for (int y = 0; y < 4; y++)
#pragma unroll
                for (int x = 0; x < 4; x++)
                    acc[y][x] = fmaf(fa[y], fb[x], acc[y][x]);
        }
        if (t + 8 < k)
            keep(s ^ 1);
        __syncthreads();
    }
    for (int y = 0; y < 4; y++)
        *(float4 *)&c[(row0 + ty * 4 + y) * n + column0 + tx * 4] =
            make_float4(acc[y][0], acc[y][1], acc[y][2], acc[y][3]);
}

extern "C" __global__ void product_half2(const __half2 *a, const __half2 *b, __half *c, int k)
{
    __half2 sum = __float2half2_rn(0.0f);
    for (int i = 0; i < k / 2; i++)
        sum = __hfma2(a[blockIdx.x * k / 2 + i], b[threadIdx.x * k / 2 + i], sum);
    c[blockIdx.x * blockDim.x + threadIdx.x] = __hadd(__low2half(sum), __high2half(sum));
}

extern "C" __global__ void product_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, int k)
{
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += __bfloat162float(a[blockIdx.x * k + i]) * __bfloat162float(b[threadIdx.x * k + i]);
    c[blockIdx.x * blockDim.x + threadIdx.x] = __float2bfloat16(sum);
}

extern "C" __global__ void product_int8(const int *a, const int *b, int *c, int words, float scale,
                                        signed char *quantised)
{
    int sum = 0, at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < words; i++)
        sum = __dp4a(a[blockIdx.x * words + i], b[threadIdx.x * words + i], sum);
    c[at] = sum;
    quantised[at] = (signed char)max(-128, min(127, __float2int_rn(sum * scale)));
}

// One warp for each row of a sparse matrix.
extern "C" __global__ void sparse(const int *starts, const unsigned *columns, const float *values, const float *x,
                                  float *y, int rows, int width)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = starts[row] * 3 + lane; i < starts[row + 1] * 3; i += 32)
        sum += values[i] * __ldg(&x[columns[i] % width]);
    for (int d = 16; d; d >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        y[row] = sum;
}
