//@ -- Types and the kernel's one parameter. Nothing is included: these lines are all that the compiler reads.
//@ param parameters table
//@ param parameter_bytes int
//@ param shared_align int
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, ${parameter_bytes} bytes, as the host packs it. Strides are in elements.
struct arguments {
//@ for _, p in ipairs(parameters) do
//@     local space, maps = p.type:sub(-1) == "*" and "" or " ", ""
//@     if has(p, "maps") then maps = "[" .. p.maps .. "]" end
    ${p.type}${space}${p.name}${maps}; // byte ${p.offset}
//@ end
};

extern __shared__ __align__(${shared_align}) unsigned char shared_memory[];

__device__ __forceinline__ u32 shared_address(u32 offset)
{
    return (u32)__cvta_generic_to_shared(shared_memory) + offset;
}
