//@ -- Two parts of a reduction into one: of reals, where max and min prefer a number to NaN, or of whole numbers.
//@ param reduction text
//@ param kind text
//@ local type = kind == "real" and "float" or "i64"
//@ local whole = { sum = "a + b", max = "a > b ? a : b", min = "a < b ? a : b" }
//@ local real = { sum = "a + b", max = "fmaxf(a, b)", min = "fminf(a, b)" }
//@ local both = (kind == "real" and real or whole)[reduction]

__device__ __forceinline__ ${type} fold_${reduction}(${type} a, ${type} b)
{
    return ${both};
}
