// Half, bfloat16 and 8-bit floats through CUDA's headers.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void half_arithmetic(const __half *a, const __half *b, __half *out)
{
    int i = threadIdx.x;
    __half x = a[i], y = b[i], *o = out + i * 16;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = x / (y + __half(2.5f));
    o[4] = __hfma(x, y, x);
    o[5] = __hmax(x, y);
    o[6] = __hmin(x, y);
    o[7] = -x;
    o[8] = __habs(y);
    o[9] = x > y ? x : __half(0.25f);
    o[10] = __hadd_sat(x, y);
    o[11] = hfloor(x) + hceil(y) + hrint(x) + htrunc(y);
    o[12] = __int2half_rn(__half2int_rz(x * __half(20.0f)));
    o[13] = hsqrt(__habs(x));
    o[14] = __ushort_as_half((unsigned short)(__half_as_ushort(x) ^ 1));
    o[15] = __hle(x, y) && __hne(x, y) ? __float2half_rz(1.0f / 3) : __float2half_ru(1.0f / 3);
}

extern "C" __global__ void half2_arithmetic(const __half2 *a, const __half2 *b, __half2 *out, unsigned *masks)
{
    int i = threadIdx.x;
    __half2 x = a[i], y = b[i], *o = out + i * 8;
    o[0] = __hadd2(x, y);
    o[1] = __hmul2(x, y);
    o[2] = __hfma2(x, y, x);
    o[3] = __hfma2_relu(x, y, y);
    o[4] = __hmax2(x, y);
    o[5] = __lowhigh2highlow(x);
    o[6] = __highs2half2(x, y);
    o[7] = __hneg2(__habs2(x));
    masks[i] = __hlt2_mask(x, y) ^ (__hbgt2(x, y) ? 1u : 0u);
}

extern "C" __global__ void half_functions(const __half *a, float *out)
{
    int i = threadIdx.x;
    __half x = a[i];
    out[i * 6] = __half2float(hexp(x));
    out[i * 6 + 1] = __half2float(hlog2(__habs(x) + __half(0.5f)));
    out[i * 6 + 2] = __half2float(hsin(x));
    out[i * 6 + 3] = __half2float(hrsqrt(__habs(x) + __half(0.5f)));
    out[i * 6 + 4] = __half2float(htanh(x));
    out[i * 6 + 5] = __half2float(hrcp(x + __half(20.0f)));
}

extern "C" __global__ void bf16_arithmetic(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out)
{
    int i = threadIdx.x;
    __nv_bfloat16 x = a[i], y = b[i], *o = out + i * 10;
    o[0] = x + y;
    o[1] = x - y;
    o[2] = x * y;
    o[3] = x / (y + __nv_bfloat16(2.5f));
    o[4] = __hfma(x, y, x);
    o[5] = __hmax(x, y);
    o[6] = __hlt(x, y) ? __habs(x) : -y;
    o[7] = __float2bfloat16_rz(__bfloat162float(x) * 1.01f);
    o[8] = __int2bfloat16_rn(i * 1001);
    __nv_bfloat162 p = __hfma2(__halves2bfloat162(x, y), __halves2bfloat162(y, y), __float2bfloat162_rn(1.5f));
    o[9] = __hadd(__low2bfloat16(p), __high2bfloat16(p));
}

extern "C" __global__ void fp8(const float *in, unsigned char *out, float *back)
{
    int i = threadIdx.x;
    float x = in[i];
    __nv_fp8_e4m3 a(x * 10);
    __nv_fp8_e5m2 b(x * 100);
    out[i * 4] = a.__x;
    out[i * 4 + 1] = b.__x;
    __nv_fp8x2_e4m3 pair(make_float2(x, -x * 1000));
    out[i * 4 + 2] = (unsigned char)pair.__x;
    out[i * 4 + 3] = (unsigned char)(pair.__x >> 8);
    back[i * 2] = float(a);
    back[i * 2 + 1] = float(b);
}
