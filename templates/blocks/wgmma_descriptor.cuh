//@ -- Matrix descriptor (PTX ISA, asynchronous warpgroup matrix shared-memory layout), 64 bits:
//@ --
//@ --    63 62 | 61..52 | 51..49      | 48 | 45 ..... 32   | 31 30 | 29 ...... 16    | 15 14 | 13 ...... 0
//@ --   swizzle|   0    | base offset |  0 | stride bytes/16|   0   | leading bytes/16|   0   | address/16
//@ --
//@ -- swizzle 0 none, 1 128B, 2 64B, 3 32B. The base offset is 0: tiles begin at a multiple of 8 x span.
//@ -- early: dots of which the low half is known before their stage is full.
//@ param early bool
__device__ __forceinline__ u64 matrix_descriptor(u32 address, u32 leading_bytes, u32 stride_bytes, u32 swizzle)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading_bytes >> 4) << 16 | (u64)(stride_bytes >> 4) << 32 |
           (u64)swizzle << 62;
}
//@ if early then

// Its halves.
__device__ __forceinline__ u32 matrix_descriptor_low(u32 address, u32 leading_bytes)
{
    return (address & 0x3ffff) >> 4 | leading_bytes >> 4 << 16;
}

__device__ __forceinline__ u64 matrix_descriptor_from(u32 low, u32 stride_bytes, u32 swizzle)
{
    return (u64)(stride_bytes >> 4 | swizzle << 30) << 32 | low;
}
//@ end
