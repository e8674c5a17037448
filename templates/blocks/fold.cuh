//@ -- Two parts of a reduction into one.
//@ param reduction text
//@ local real = reduction == "sum" and "a + b" or reduction == "max" and "fmaxf(a, b)" or "fminf(a, b)"
//@ local whole = reduction == "sum" and "a + b" or reduction == "max" and "a > b ? a : b" or "a < b ? a : b"

__device__ __forceinline__ float fold_${reduction}(float a, float b)
{
    return ${real};
}

__device__ __forceinline__ i64 fold_${reduction}(i64 a, i64 b)
{
    return ${whole};
}
