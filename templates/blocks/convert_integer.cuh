//@ -- Elements as expressions take them: floats of float types, 64-bit integers of integer types; and back.
//@ param dtypes table
//@ for _, name in ipairs { "bf16", "fp16", "fp32" } do
//@     if has(dtypes, name) then
//@         local type = ctype(name)

__device__ __forceinline__ float element_${name}(${type} x)
{
    return from_${name}(x);
}
//@     end
//@ end
//@ for _, name in ipairs { "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool" } do
//@     if has(dtypes, name) then
//@         local type = ctype(name)

__device__ __forceinline__ i64 element_${name}(${type} x)
{
    return (i64)x;
}

__device__ __forceinline__ ${type} to_${name}(i64 x)
{
    return (${type})x;
}

__device__ __forceinline__ ${type} to_${name}(float x)
{
    return (${type})x;
}
//@     end
//@ end
