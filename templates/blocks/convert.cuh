//@ -- Element types that are carried as words: to and from fp32.
//@ param dtypes table
//@ if has(dtypes, "bf16") then

__device__ __forceinline__ float from_bf16(u16 x)
{
    return __uint_as_float((u32)x << 16);
}

__device__ __forceinline__ u16 to_bf16(float x)
{
    u16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}

// Two neighbours in one word, the first in the low half.
__device__ __forceinline__ u32 pack_bf16(float first, float second)
{
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}
//@ end
//@ if has(dtypes, "fp16") then

__device__ __forceinline__ float from_fp16(u16 x)
{
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
    return r;
}

__device__ __forceinline__ u16 to_fp16(float x)
{
    u16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}

// Two neighbours in one word, the first in the low half.
__device__ __forceinline__ u32 pack_fp16(float first, float second)
{
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}
//@ end
//@ if has(dtypes, "fp32") then

__device__ __forceinline__ float from_fp32(float x)
{
    return x;
}

__device__ __forceinline__ float to_fp32(float x)
{
    return x;
}
//@ end
