//@ -- The functions that fused expressions call, ew_NAME: those that the nodes of `fused` name (a Plan's plan.fused),
//@ -- and all of expr_functions.def, of which those stay that are called.
//@ param fused table
//@ local need, cast = {}, {}
//@ for _, node in ipairs(fused) do
//@     need[node.op] = true
//@     if node.op == "MIN" or node.op == "MAX" or node.op == "ABS" then need[node.op .. "_" .. node.type] = true end
//@     if node.op == "CAST" then cast[node.dtype] = true end
//@     if node.op == "DIV" then
//@         local one = fused[node.arg[1] + 1]
//@         need.RECIPROCAL = need.RECIPROCAL or one.op == "CONST_REAL" and one.real == "1"
//@     end
//@ end
//@ if need.MIN_real then

__device__ __forceinline__ float ew_min(float a, float b)
{
    return fminf(a, b);
}
//@ end
//@ if need.MAX_real then

__device__ __forceinline__ float ew_max(float a, float b)
{
    return fmaxf(a, b);
}
//@ end
//@ if need.ABS_real then

__device__ __forceinline__ float ew_abs(float x)
{
    return fabsf(x);
}
//@ end
//@ if need.MIN_int then

__device__ __forceinline__ long long ew_min(long long a, long long b)
{
    return a < b ? a : b;
}
//@ end
//@ if need.MAX_int then

__device__ __forceinline__ long long ew_max(long long a, long long b)
{
    return a > b ? a : b;
}
//@ end
//@ if need.ABS_int then

__device__ __forceinline__ long long ew_abs(long long x)
{
    return x < 0 ? -x : x;
}
//@ end
//@ if need.FLOORDIV then

// Rounds towards minus infinity, as Lua's // does; / rounds towards zero.
__device__ __forceinline__ long long ew_floor_div(long long a, long long b)
{
    long long quotient = a / b;
    return quotient - (a % b != 0 && (a ^ b) < 0);
}
//@ end
//@ if need.MOD then

// The remainder has the divisor's sign, as Lua's % has it.
__device__ __forceinline__ long long ew_floor_mod(long long a, long long b)
{
    long long remainder = a % b;
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}
//@ end
//@ if need.WHOLE then

// The greatest whole number that is not above x, within 32 bits; 0 of NaN.
__device__ __forceinline__ int ew_whole(float x)
{
    return __float2int_rd(x);
}
//@ end
//@ if need.RECIPROCAL then

// 1 / x, within a unit in the last place. A division is a call where x is near either end of the exponents.
__device__ __forceinline__ float ew_reciprocal(float x)
{
    float r;
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
//@ end
//@ if need.EXP2 or need.SIGMOID or need.SILU or need.GELU_TANH then

// 2^x, 0 below the smallest normal float.
__device__ __forceinline__ float ew_exp2(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}
//@ end
//@ if need.EXP2_DIFF then

// 2^(a - b), 0 below the smallest normal float; 0 where both are minus infinity.
__device__ __forceinline__ float ew_exp2_diff(float a, float b)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(a - (b == __int_as_float(0xff800000) ? 0.0f : b)));
    return power;
}
//@ end
//@ if need.EXP2_DIFF then

// The same without the special function unit: 2^n by the exponent, 2^f for f of at most 1/2 by a polynomial within
// 2^-22. NaN stays NaN, below the smallest normal float comes less than it.
__device__ __forceinline__ float ew_exp2_diff_polynomial(float a, float b)
{
    float x = a - (b == __int_as_float(0xff800000) ? 0.0f : b);
    asm("max.NaN.f32 %0, %0, 0fC2FE0000;\n" // -127
        "min.NaN.f32 %0, %0, 0f43000000;" // 128
        : "+f"(x));
    const float n = x + 12582912.0f, f = x - (n - 12582912.0f); // the last bits of n are the nearest integer
    float power = fmaf(0.0013264727f, f, 0.009671513f);
    power = fmaf(power, f, 0.055507336f);
    power = fmaf(power, f, 0.24022242f);
    power = fmaf(power, f, 0.693147f);
    power = fmaf(power, f, 1.0f);
    return fmaf(f, 0.0f, __int_as_float(__float_as_int(power) + (__float_as_int(n) << 23)));
}
//@ end
//@ if need.LOG2 then

__device__ __forceinline__ float ew_log2(float x)
{
    float r;
    asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
//@ end
//@ if need.TANH_APPROX or need.GELU_TANH_APPROX then

// One instruction, within 2^-11 of the result.
__device__ __forceinline__ float ew_tanh_instruction(float x)
{
    float r;
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
//@ end
//@ if need.GELU_TANH_APPROX then

// gelu_tanh_approx(2 half): 0.5 x (1 + tanh u), u = sqrt(2 / pi) (x + 0.044715 x^3), within |x| / 4096.
__device__ __forceinline__ float ew_gelu_tanh_approx_doubled(float half)
{
    return fmaf(half, ew_tanh_instruction(half * fmaf(0.285419265f, half * half, 1.59576912f)), half);
}
//@ end
//@ for _, f in ipairs(functions()) do

//@     if f.doc ~= "" then
// ${f.doc}
//@     end
__device__ __${f.call}__ float ew_${f.name}(float x)
{
    return ${f.cuda};
}
//@ end
//@ if cast.bf16 then

__device__ __forceinline__ float ew_cast_bf16(float x)
{
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return __uint_as_float((unsigned int)bits << 16);
}
//@ end
//@ if cast.fp16 then

//@ -- ptxas (13.0.88) reads a wgmma's result before the wait for it where the conversion takes that register itself,
//@ -- and then makes each wgmma wait (C7514). The product with 1 stands between them; no instruction is left of it.
__device__ __forceinline__ float ew_cast_fp16(float x)
{
    unsigned short bits;
    float result;
    asm("{\n"
        ".reg .f32 same;\n"
        "mul.rn.f32 same, %1, 0f3F800000;\n"
        "cvt.rn.f16.f32 %0, same;\n"
        "}"
        : "=h"(bits)
        : "f"(x));
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(bits));
    return result;
}
//@ end
//@ if cast.tf32 then

// Ten bits of mantissa, to nearest even. A carry walks into the exponent; infinity and NaN stay.
__device__ __forceinline__ float ew_cast_tf32(float x)
{
    unsigned int bits = __float_as_uint(x);
    unsigned int rounded = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    return (bits & 0x7f800000) == 0x7f800000 ? x : __uint_as_float(rounded);
}
//@ end
//@ for _, f in ipairs { { "fp8_e4m3", "e4m3x2" }, { "fp8_e5m2", "e5m2x2" } } do
//@     local name, format = f[1], f[2]
//@     if cast[name] then

// What is too large becomes the largest finite value.
__device__ __forceinline__ float ew_cast_${name}(float x)
{
    unsigned short pair;
    unsigned int halves;
    float result;
    asm("cvt.rn.satfinite.${format}.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    asm("cvt.rn.f16x2.${format} %0, %1;" : "=r"(halves) : "h"(pair));
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"((unsigned short)halves));
    return result;
}
//@     end
//@ end
//@ local integers = { { "int8", "s8", "=r", "int" }, { "uint8", "u8", "=r", "unsigned int" },
//@     { "int16", "s16", "=h", "short" }, { "uint16", "u16", "=h", "unsigned short" },
//@     { "int32", "s32", "=r", "int" }, { "uint32", "u32", "=r", "unsigned int" },
//@     { "int64", "s64", "=l", "long long" }, { "uint64", "u64", "=l", "unsigned long long" } }
//@ for _, f in ipairs(integers) do
//@     local name, format, constraint, carrier = f[1], f[2], f[3], f[4]
//@     if cast[name] then

// To the nearest even integer within the type's range; NaN becomes 0.
__device__ __forceinline__ float ew_cast_${name}(float x)
{
    ${carrier} whole;
    asm("cvt.rni.${format}.f32 %0, %1;" : "${constraint}"(whole) : "f"(x));
    return x != x ? 0.0f : (float)whole;
}
//@     end
//@ end
//@ if cast.bool then

__device__ __forceinline__ float ew_cast_bool(float x)
{
    return x != 0.0f ? 1.0f : 0.0f;
}
//@ end
