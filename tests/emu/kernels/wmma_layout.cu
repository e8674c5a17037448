// Which lane holds which element of nvcuda::wmma's fragments. PTX leaves it open, programs look at it all the same.
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;

template <typename T> __device__ T from(int x)
{
    return T(x);
}
template <> __device__ __half from<__half>(int x)
{
    return __int2half_rn(x);
}
template <> __device__ __nv_bfloat16 from<__nv_bfloat16>(int x)
{
    return __int2bfloat16_rn(x);
}
template <typename T> __device__ int into(T x)
{
    return (int)x;
}
template <> __device__ int into<__half>(__half x)
{
    return __half2int_rn(x);
}
template <> __device__ int into<__nv_bfloat16>(__nv_bfloat16 x)
{
    return __bfloat162int_rn(x);
}

// Row and column, 32 of each, of every element of the fragment.
template <typename E, typename F> __device__ void places(unsigned short *&out, int rows, int columns)
{
    __shared__ __align__(32) E m[2][32 * 32];
    F f[2];
    for (int i = threadIdx.x; i < rows * columns; i += 32) {
        m[0][i] = from<E>(i / columns);
        m[1][i] = from<E>(i % columns);
    }
    __syncwarp();
    for (int k = 0; k < 2; k++)
        wmma::load_matrix_sync(f[k], m[k], columns);
    for (int i = 0; i < f[0].num_elements; i++)
        out[i * 32 + threadIdx.x] = into(f[0].x[i]) * 32 + into(f[1].x[i]);
    out += f[0].num_elements * 32;
    __syncwarp();
}

template <typename E, typename F> __device__ void accumulator(unsigned short *&out, int rows, int columns)
{
    __shared__ __align__(32) E m[2][32 * 32];
    F f[2];
    for (int i = threadIdx.x; i < rows * columns; i += 32) {
        m[0][i] = from<E>(i / columns);
        m[1][i] = from<E>(i % columns);
    }
    __syncwarp();
    for (int k = 0; k < 2; k++)
        wmma::load_matrix_sync(f[k], m[k], columns, wmma::mem_row_major);
    for (int i = 0; i < f[0].num_elements; i++)
        out[i * 32 + threadIdx.x] = into(f[0].x[i]) * 32 + into(f[1].x[i]);
    out += f[0].num_elements * 32;
    __syncwarp();
}

template <typename E, typename S, int M, int N, int K> __device__ void operands(unsigned short *&out)
{
    places<E, wmma::fragment<wmma::matrix_a, M, N, K, S, wmma::row_major>>(out, M, K);
    places<E, wmma::fragment<wmma::matrix_b, M, N, K, S, wmma::row_major>>(out, K, N);
}

extern "C" __global__ void layouts_f16(unsigned short *out)
{
    operands<__half, __half, 16, 16, 16>(out);
    operands<__half, __half, 32, 8, 16>(out);
    operands<__half, __half, 8, 32, 16>(out);
    accumulator<__half, wmma::fragment<wmma::accumulator, 16, 16, 16, __half>>(out, 16, 16);
    accumulator<__half, wmma::fragment<wmma::accumulator, 32, 8, 16, __half>>(out, 32, 8);
    accumulator<__half, wmma::fragment<wmma::accumulator, 8, 32, 16, __half>>(out, 8, 32);
}

extern "C" __global__ void layouts_f32(unsigned short *out)
{
    accumulator<float, wmma::fragment<wmma::accumulator, 16, 16, 16, float>>(out, 16, 16);
    accumulator<float, wmma::fragment<wmma::accumulator, 32, 8, 16, float>>(out, 32, 8);
    accumulator<float, wmma::fragment<wmma::accumulator, 8, 32, 16, float>>(out, 8, 32);
    operands<float, wmma::precision::tf32, 16, 16, 8>(out);
    accumulator<float, wmma::fragment<wmma::accumulator, 16, 16, 8, float>>(out, 16, 16);
}

extern "C" __global__ void layouts_bf16(unsigned short *out)
{
    operands<__nv_bfloat16, __nv_bfloat16, 16, 16, 16>(out);
    operands<__nv_bfloat16, __nv_bfloat16, 32, 8, 16>(out);
    operands<__nv_bfloat16, __nv_bfloat16, 8, 32, 16>(out);
}

extern "C" __global__ void layouts_s8(unsigned short *out)
{
    operands<signed char, signed char, 16, 16, 16>(out);
    operands<unsigned char, unsigned char, 32, 8, 16>(out);
    operands<signed char, signed char, 8, 32, 16>(out);
    accumulator<int, wmma::fragment<wmma::accumulator, 16, 16, 16, int>>(out, 16, 16);
    accumulator<int, wmma::fragment<wmma::accumulator, 32, 8, 16, int>>(out, 32, 8);
    accumulator<int, wmma::fragment<wmma::accumulator, 8, 32, 16, int>>(out, 8, 32);
}

extern "C" __global__ void layouts_f64(unsigned short *out)
{
    operands<double, double, 8, 8, 4>(out);
    accumulator<double, wmma::fragment<wmma::accumulator, 8, 8, 4, double>>(out, 8, 8);
}

// Arithmetic of the other shapes and layouts, each fed with what one buffer holds.
template <typename A, typename C, int M, int N, int K, typename LA, typename LB>
__device__ void product(const A *a, const A *b, C *&out)
{
    wmma::fragment<wmma::matrix_a, M, N, K, A, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, A, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::fill_fragment(fc, from<C>(1));
    wmma::load_matrix_sync(fa, a, 32);
    wmma::load_matrix_sync(fb, b, 32);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(out, fc, N, wmma::mem_row_major);
    out += M * N;
}

typedef wmma::row_major R;
typedef wmma::col_major L;

extern "C" __global__ void products_f16(const __half *a, const __half *b, __half *h, float *f)
{
    product<__half, __half, 16, 16, 16, R, L>(a, b, h);
    product<__half, __half, 32, 8, 16, L, L>(a, b, h);
    product<__half, __half, 8, 32, 16, R, R>(a, b, h);
    product<__half, float, 16, 16, 16, L, R>(a, b, f);
    product<__half, float, 32, 8, 16, R, R>(a, b, f);
    product<__half, float, 8, 32, 16, L, L>(a, b, f);
}

extern "C" __global__ void products_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *f)
{
    product<__nv_bfloat16, float, 16, 16, 16, R, R>(a, b, f);
    product<__nv_bfloat16, float, 8, 32, 16, L, L>(a, b, f);
}

extern "C" __global__ void products_8(const signed char *a, const signed char *b, int *d)
{
    product<signed char, int, 16, 16, 16, R, L>(a, b, d);
    product<signed char, int, 32, 8, 16, L, R>(a, b, d);
    product<unsigned char, int, 8, 32, 16, L, L>((const unsigned char *)a, (const unsigned char *)b, d);
}
