//@ -- Two fp16 elements in a word, each result rounded once.
__device__ __forceinline__ u32 pair_fma(u32 x, u32 y, u32 z)
{
    u32 r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(z));
    return r;
}

__device__ __forceinline__ u32 pair_mul(u32 x, u32 y)
{
    u32 r;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
}

__device__ __forceinline__ u32 pair_add(u32 x, u32 y)
{
    u32 r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
}
