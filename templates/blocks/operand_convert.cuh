//@ -- NAME_operand of a tile of bytes, which become two to a word of `dtype`, bf16 or fp16, in the layout that
//@ -- operand_load.cuh says.
//@ --
//@ -- A thread reads two neighbours at once. Under the swizzle the eight rows that a warp reads from lie in chunks of
//@ -- their own, and four lanes share half a chunk: no two of them ask one bank for different words.
//@ --
//@ -- A byte becomes the low end of a 16-bit float whose last bit counts 1, from which what is too much is taken: no
//@ -- step rounds. fp16 takes all 8 bits (1024 + b); bf16 takes 7 (128 + b), and the eighth chooses what is taken.
//@ param name text
//@ param tensor table
//@ param offset int
//@ param blocks int
//@ param words int
//@ param block_rows int
//@ param dtype text
//@ param span int
//@ param place text
//@ param half int
//@ param less int
//@ local t, signed, chunks, below = name, tensor.dtype == "int8", span // 16, 8 * span
//@ local who, within = "warp", "lane / 4"
//@ if block_rows == 64 then who, within = "warpgroup", "threadIdx.x % 128 / 32 * 16 + lane / 4" end

// Two neighbours, in the low half of a word, as ${dtype}.
__device__ __forceinline__ u32 ${t}_convert(u32 pair)
{
    const u32 bytes = __byte_perm(pair, 0, 0x4140);
    u32 r;
//@ if half >= 0 then
//@     local bf16, shift = dtype == "bf16", half == 1 and " >> 4" or ""
//@     local ones = bf16 and "0x43004300" or "0x64006400" -- 128, 1024
//@     local taken = ((bf16 and 0xc300 or 0xe400) + less) * 0x10001
    const u32 bits = (bytes${shift} & 0x000f000f) | ${ones};
//@     if bf16 then
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(bits), "r"(0x3f803f80), "r"(${taken}u));
//@     else
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(bits), "r"(${taken}u));
//@     end
//@ elseif dtype == "fp16" then
//@     local one, less = signed and "^ 0x64806480" or "| 0x64006400", signed and "0xe480e480" or "0xe400e400"
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(bytes ${one}), "r"(${less})); // 1024 + b, less what is too much
//@ elseif signed then
    const u32 low = (bytes & 0x007f007f) | 0x43004300;  // 128 + its 7 bits
    const u32 less = (bytes & 0x00800080) | 0xc300c300; // -128, of a negative number -256
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(0x3f803f80), "r"(less));
//@ else
    const u32 low = (bytes & 0x007f007f) | 0x43004300;  // 128 + its 7 bits
    const u32 high = (bytes & 0x00800080) | 0x43004300; // 128 + its eighth
    asm("{\n"
        ".reg .b32 a, b;\n"
        "fma.rn.bf16x2 a, %1, %3, %4;\n"
        "fma.rn.bf16x2 b, %2, %3, %4;\n"
        "fma.rn.bf16x2 %0, a, %3, b;\n"
        "}"
        : "=r"(r)
        : "r"(low), "r"(high), "r"(0x3f803f80), "r"(0xc300c300));
//@ end
    return r;
}

__device__ __forceinline__ void ${t}_operand(u32 (&a)[${blocks}][${words}], u32 stage, u32 ${who})
{
    const u32 lane = threadIdx.x % 32, base = shared_address(${offset} + stage * ${tensor.tile_bytes});
    #pragma unroll
    for (u32 block = 0; block < ${blocks}; ++block) {
        const u32 row = (${who} * ${blocks} + block) * ${block_rows} + ${within};
        #pragma unroll
        for (u32 k = 0; k < ${words} / 4; ++k) {
            const u32 at = row * ${span} + k % ${chunks} * 16;
            const u32 chunk = base + k / ${chunks} * ${tensor.box_bytes} + ${place} + lane % 4 * 2;
            #pragma unroll
            for (u32 word = 0; word < 4; ++word) {
                u16 pair;
                asm volatile("ld.shared.u16 %0, [%1];"
                             : "=h"(pair)
                             : "r"(chunk + word % 2 * ${below} + word / 2 * 8)
                             : "memory");
                a[block][4 * k + word] = ${t}_convert(pair);
            }
        }
    }
}
