//@ -- Neighbouring elements of a row as they lie in memory, in whole words where there are as many bytes.
//@ param dtype text
//@ param vector int
//@ param loads bool
//@ param once bool
//@ param stores bool
//@ param shifts bool
//@ param near bool
//@ local size, type = bytes(dtype), ctype(dtype)
//@ local total = size * vector
//@ local word = total < 4 and type or size == 8 and "u64" or "u32"
//@ local width = total < 4 and size or size == 8 and 8 or 4
//@ local words, each = total // width, width // size
//@ local real = is_real(dtype)
//@ local value = real and "float" or "i64"
//@ local align = total < 16 and total or 16

// ${vector} of ${dtype}.
struct alignas(${align}) ${dtype}_vector {
    ${word} word[${words}];
};

__device__ __forceinline__ ${value} ${dtype}_element(const ${dtype}_vector &v, int e)
{
//@ if dtype == "fp32" then
    return __uint_as_float(v.word[e]);
//@ elseif each == 1 then
    return element_${dtype}((${type})v.word[e]);
//@ else
//@     local bits = 8 * size
    return element_${dtype}((${type})(v.word[e / ${each}] >> e % ${each} * ${bits}));
//@ end
}

// From elements as they lie in memory.
__device__ __forceinline__ ${dtype}_vector ${dtype}_gather(const ${type} (&x)[${vector}])
{
    ${dtype}_vector v;
//@ if dtype == "fp32" then
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
        v.word[e] = __float_as_uint(x[e]);
//@ elseif each == 1 then
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
        v.word[e] = (${word})x[e];
//@ else
//@     local carrier, bits = size == 1 and "unsigned char" or "u16", 8 * size
    #pragma unroll
    for (int w = 0; w < ${words}; ++w) {
        v.word[w] = 0;
        #pragma unroll
        for (int e = 0; e < ${each}; ++e)
            v.word[w] |= (u32)(${carrier})x[w * ${each} + e] << e * ${bits};
    }
//@ end
    return v;
}

// From values, rounded.
__device__ __forceinline__ ${dtype}_vector ${dtype}_join(const ${value} (&x)[${vector}])
{
//@ if (dtype == "bf16" or dtype == "fp16") and vector > 1 then
    ${dtype}_vector v;
    #pragma unroll
    for (int w = 0; w < ${words}; ++w)
        v.word[w] = pack_${dtype}(x[2 * w], x[2 * w + 1]);
    return v;
//@ else
    ${type} rounded[${vector}];
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
        rounded[e] = to_${dtype}(x[e]);
    return ${dtype}_gather(rounded);
//@ end
}
//@ if shifts then

// The vector that begins `shift` elements behind the beginning of a, and ends in b.
__device__ __forceinline__ ${dtype}_vector ${dtype}_between(const ${dtype}_vector &a, const ${dtype}_vector &b,
                                                            int shift)
{
    ${dtype}_vector v;
//@     if width == 4 then
    const int word = shift * ${size} / 4, bits = shift * ${size} % 4 * 8;
    u32 all[2 * ${words}];
    #pragma unroll
    for (int w = 0; w < ${words}; ++w) {
        all[w] = a.word[w];
        all[${words} + w] = b.word[w];
    }
    #pragma unroll
    for (int w = 0; w < ${words}; ++w)
        v.word[w] = bits ? __funnelshift_r(all[word + w], all[word + w + 1], bits) : all[word + w];
//@     else
    #pragma unroll
    for (int w = 0; w < ${words}; ++w)
        v.word[w] = w + shift < ${words} ? a.word[w + shift] : b.word[w + shift - ${words}];
//@     end
    return v;
}
//@ end
//@ local constraint = word == "u32" and "r" or word == "u64" and "l" or "h"
//@ local moves = {}
//@ if loads then moves[1] = { "load", "ld.global.nc" } end
//@ if once then moves[#moves + 1] = { "load_once", "ld.global.cs.nc" } end
//@ if near then
//@     moves[#moves + 1] = { "load_near", "ld.global.nc" }

// The pointer, of which compilers know nothing: what is added behind it is added last.
__device__ __forceinline__ const ${type} *${dtype}_same(const ${type} *from)
{
    asm("mov.b64 %0, %0;" : "+l"(from));
    return from;
}
//@ end
//@ local most = width == 8 and 2 or 4
//@ for _, m in ipairs(moves) do
//@     local name, op, off = m[1], m[2], m[1] == "load_near"

//@     if off then
// So many bytes behind the address.
template <int bytes>
//@     end
// Zeros outside. Volatile: an asm that only computes may be moved in front of its condition.
__device__ __forceinline__ ${dtype}_vector ${dtype}_${name}(const ${type} *from, bool inside)
{
    ${dtype}_vector v = {};
//@     if total < 4 then
//@         if off then
    if (inside)
        v.word[0] = from[bytes / ${size}];
//@         else
    if (inside)
        v.word[0] = *from;
//@         end
//@     else
    if (inside) {
//@         for w = 0, words - 1, most do
//@             local count = words - w < most and words - w or most
//@             local lanes, outs, bits = "", "", 8 * width
//@             for k = 0, count - 1 do
//@                 lanes = lanes .. (k > 0 and ", " or "") .. "%" .. k
//@                 outs = outs .. (k > 0 and ", " or "") .. "\"=" .. constraint .. "\"(v.word[" .. w + k .. "])"
//@             end
//@             local kind = count > 1 and ".v" .. count or ""
//@             local list = count > 1 and "{" .. lanes .. "}" or lanes
//@             local address, shift = "[%" .. count .. "]", w * width > 0 and " + " .. w * width // size or ""
//@             if off then address = "[%" .. count .. " + %" .. count + 1 .. "]" end
//@             local behind = off and ", \"n\"(bytes + " .. w * width .. ")" or ""
//@             if off then shift = "" end
        asm volatile("${op}${kind}.u${bits} ${list}, ${address};" : ${outs} : "l"(from${shift})${behind});
//@         end
    }
//@     end
    return v;
}
//@ end
//@ if stores then

__device__ __forceinline__ void ${dtype}_store(${type} *to, const ${dtype}_vector &v)
{
//@     if total < 4 then
    *to = v.word[0];
//@     else
//@         for w = 0, words - 1, most do
//@             local count = words - w < most and words - w or most
//@             local lanes, ins, bits = "", "", 8 * width
//@             for k = 0, count - 1 do
//@                 lanes = lanes .. (k > 0 and ", " or "") .. "%" .. k + 1
//@                 ins = ins .. ", \"" .. constraint .. "\"(v.word[" .. w + k .. "])"
//@             end
//@             local kind = count > 1 and ".v" .. count or ""
//@             local list = count > 1 and "{" .. lanes .. "}" or lanes
//@             local shift = w * width > 0 and " + " .. w * width // size or ""
    asm volatile("st.global.cs${kind}.u${bits} [%0], ${list};" ::"l"(to${shift})${ins} : "memory");
//@         end
//@     end
}
//@ end
