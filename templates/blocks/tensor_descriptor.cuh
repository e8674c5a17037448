//@ -- Matrix descriptor (PTX ISA, tcgen05 shared memory descriptor), 64 bits:
//@ --
//@ --    63..61 | 60..53 | 52   | 51..49 | 48..46 | 45 ..... 32   | 31 30 | 29 ...... 16    | 15 14 | 13 .... 0
//@ --   swizzle |   0    | mode |  base  |  0b001 | stride bytes/16|   0   | leading bytes/16|   0   | address/16
//@ --
//@ -- swizzle 0 none, 2 128B, 4 64B, 6 32B: twice what wgmma's two bits say. The base is 0: tiles begin at a
//@ -- multiple of 8 x span. The mode is 0: leading bytes are an offset.
__device__ __forceinline__ u64 matrix_descriptor(u32 address, u32 leading_bytes, u32 stride_bytes, u32 swizzle)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading_bytes >> 4) << 16 | (u64)(stride_bytes >> 4) << 32 |
           (u64)1 << 46 | (u64)swizzle << 62;
}
