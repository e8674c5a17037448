//@ -- NAME_operand: rows of a tile in shared memory, into the registers that matrix instructions read as their operand
//@ -- A: those of a warpgroup in blocks of 64 rows for wgmma, those of a warp in blocks of 16 for mma.sync.
//@ -- dtype: what the registers hold; elements of another are converted on the way: half 0 or 1
//@ -- takes the low or the high four bits of a byte, and `less` from them.
//@ -- Of 16 columns word 0 holds the pair at row lane / 4, word 1 that 8 rows below, words 2 and 3 those 8 columns on.
//@ param name text
//@ param tensor table
//@ param offset int
//@ param blocks int
//@ param words int
//@ param block_rows int
//@ param dtype text
//@ param half int
//@ param less int
//@ local t, rows = name, 1
//@ for d = 1, tensor.rank - 1 do rows = rows * tensor.tile[d] end
//@ local span = tensor.box_bytes // rows
//@ local mask = swizzle(tensor.swizzle).mask
//@ local place = mask == 0 and "at" or "(at ^ (at >> 3 & " .. mask .. "))"
//@ local chunks = span // 16
//@ local who, within = "warp", "lane % 16"
//@ if block_rows == 64 then who, within = "warpgroup", "threadIdx.x % 128 / 32 * 16 + lane % 16" end
//@ if tensor.dtype ~= dtype then
//@ include "blocks/operand_convert.cuh" name = name, tensor = tensor, offset = offset, blocks = blocks,
//@     words = words, block_rows = block_rows, dtype = dtype, span = span, place = place, half = half,
//@     less = less
//@ else

__device__ __forceinline__ void ${t}_operand(u32 (&a)[${blocks}][${words}], u32 stage, u32 ${who})
{
    const u32 lane = threadIdx.x % 32, base = shared_address(${offset} + stage * ${tensor.tile_bytes});
    #pragma unroll
    for (u32 block = 0; block < ${blocks}; ++block) {
        const u32 row = (${who} * ${blocks} + block) * ${block_rows} + ${within};
        #pragma unroll
        for (u32 k = 0; k < ${words} / 4; ++k) {
            // Matrix q: rows 8 (q % 2), columns 8 (q / 2). Lane l gives the address of row l % 8 of matrix l / 8.
            const u32 chunk = 2 * k + lane / 16, at = row * ${span} + chunk % ${chunks} * 16;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a[block][4 * k]), "=r"(a[block][4 * k + 1]), "=r"(a[block][4 * k + 2]),
                           "=r"(a[block][4 * k + 3])
                         : "r"(base + chunk / ${chunks} * ${tensor.box_bytes} + ${place})
                         : "memory");
        }
    }
}
//@ end
//@ if block_rows == 64 then

// What this warp has read of a stage is read before the stage is released: the next bulk copy would overtake it.
__device__ __forceinline__ void ${t}_read()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
}
//@ end
//@ if block_rows == 64 and tensor.dtype == dtype then

// A reader behind the loop, which is never run: no grid has a third dimension. ptxas (13.0) takes the registers for
// free behind the one instruction of the loop that reads them, though the loop comes back to it, and puts others there.
__device__ __forceinline__ void ${t}_held_keep(const u32 (&a)[${blocks}][${words}])
{
    #pragma unroll
    for (u32 block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (u32 k = 0; k < ${words}; k += 4)
            asm volatile("{\n"
                         ".reg .pred p;\n"
                         ".reg .u32 z;\n"
                         "mov.u32 z, %%ctaid.z;\n"
                         "setp.ne.u32 p, z, 0;\n"
                         "@p st.shared.v4.b32 [%0], {%1, %2, %3, %4};\n"
                         "}" ::"r"(16 * k),
                         "r"(a[block][k]), "r"(a[block][k + 1]), "r"(a[block][k + 2]), "r"(a[block][k + 3])
                         : "memory");
}
//@ end
