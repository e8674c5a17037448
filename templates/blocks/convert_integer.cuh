//@ -- Elements as expressions take them: floats of float types, 64-bit integers of integer types; and back.
//@ param dtypes table
//@ for name in pairs(dtypes) do
//@     local type = ctype(name)
//@     if is_real(name) then

__device__ __forceinline__ float element_${name}(${type} x)
{
    return from_${name}(x);
}
//@     else

__device__ __forceinline__ i64 element_${name}(${type} x)
{
    return (i64)x;
}

__device__ __forceinline__ ${type} to_${name}(i64 x)
{
    return (${type})x;
}

__device__ __forceinline__ ${type} to_${name}(int x) // what is computed in 32 bits
{
    return (${type})x;
}

__device__ __forceinline__ ${type} to_${name}(float x)
{
    return (${type})x;
}
//@     end
//@ end
