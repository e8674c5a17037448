//@ -- Results of mma.sync straight to global memory through the epilogue: any alignment, any leading dimension, no
//@ -- padding touched. Two neighbours of a row go as one word where both are inside and their address allows it.
//@ -- The fragment is that of mma_sync.cuh.
//@ param outputs table
//@ param mma table
//@ param extent table
//@ param warps_m int
//@ local blocks_m, blocks_n = mma.blocks_m, mma.blocks_n
//@ local rows, columns = blocks_m * mma.m, blocks_n * mma.n
//@ for _, t in ipairs(outputs) do
//@     local name, dtype, by_row = t.name, t.dtype, t.axis[2] == "n"
//@     local size, word = bytes(dtype), 2 * bytes(dtype)
//@     local at = by_row and "m * args." .. name .. "_stride0 + n" or "n * args." .. name .. "_stride0 + m"
//@     local step = by_row and "1" or "args." .. name .. "_stride0"

// This warp's part of the tile of ${name} at (first_m, first_n).
//@ op global tensor = name
__device__ __forceinline__ void ${name}_store_global(const arguments &args,
                                                     const float (&d)[${blocks_m}][${blocks_n}][4], u32 warp,
                                                     int first_m, int first_n)
{
    const u32 lane = threadIdx.x % 32, warp_m = warp % ${warps_m}, warp_n = warp / ${warps_m};
    // Rows 8 i .. of this warp: one copy of the code serves all, for the choice of registers costs a few moves.
    #pragma unroll 1
    for (int i = 0; i < 2 * ${blocks_m}; ++i) {
        float part[${blocks_n}][2];
        #pragma unroll
        for (int c = 0; c < 2 * ${blocks_m}; ++c)
            if (c == i) {
                #pragma unroll
                for (int j = 0; j < ${blocks_n}; ++j) {
                    part[j][0] = d[c / 2][j][c % 2 * 2];
                    part[j][1] = d[c / 2][j][c % 2 * 2 + 1];
                }
            }
        #pragma unroll
        for (int j = 0; j < ${blocks_n}; ++j) {
            const int m = first_m + (int)(warp_m * ${rows} + lane / 4) + i * 8;
            const int n = first_n + (int)(warp_n * ${columns} + lane % 4 * 2) + j * 8;
            if (m >= ${extent.m} || n >= ${extent.n})
                continue;
            float v0 = part[j][0], v1 = part[j][1];
            ${name}_epilogue(args, v0, v1, m, n);
            ${ctype(dtype)} *at = args.${name} + (${at});
//@     if by_row then
            if (n + 1 < ${extent.n} && (u64)at % ${word} == 0) {
//@         if dtype == "fp32" then
                *(float2 *)at = make_float2(v0, v1);
//@         else
                *(u32 *)at = pack_${dtype}(v0, v1);
//@         end
                continue;
            }
//@     end
            at[0] = to_${dtype}(v0);
            if (n + 1 < ${extent.n})
                at[${step}] = to_${dtype}(v1);
        }
    }
}
//@ end
