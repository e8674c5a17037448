//@ -- Results straight to global memory, element by element: any alignment, any leading dimension, no padding touched.
//@ -- The fragment (that of store_staged.cuh) goes through shared memory, some columns of a warp's 16 rows at a time, so
//@ -- that neighbouring lanes take neighbouring elements and one loop serves all elements.
//@ param outputs table
//@ param mma table
//@ param extent table
//@ param offset int
//@ param columns int
//@ local registers, blocks, stride = mma.n // 2, mma.blocks_m, columns + 1
//@ local groups = columns // 8
//@ local across = mma.n // columns
//@ local warp_bytes = 16 * stride * 4
//@ for _, t in ipairs(outputs) do
//@     local name, dtype = t.name, t.dtype
//@     local by_row = t.axis[2] == "n"
//@     local at = by_row and "m * args." .. name .. "_stride0 + n" or "n * args." .. name .. "_stride0 + m"
//@     local y = by_row and "i / " .. columns or "i % 16"
//@     local x = by_row and "i % " .. columns or "i / 16"

//@ op global tensor = name
__device__ __forceinline__ void ${name}_store_global(const arguments &args, const float (&d)[${blocks}][${registers}],
                                                     int first_m, int first_n)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    float *rows = (float *)(shared_memory + ${offset} + (threadIdx.x / 32 - 4) * ${warp_bytes});
    #pragma unroll
    for (int part = 0; part < ${blocks} * ${across}; ++part) {
        #pragma unroll
        for (int j = 0; j < ${groups}; ++j) {
            const float *f = d[part / ${across}] + (part % ${across} * ${groups} + j) * 4;
            float *to = rows + lane / 4 * ${stride} + j * 8 + lane % 4 * 2;
            to[0] = f[0];
            to[1] = f[1];
            to[8 * ${stride}] = f[2];
            to[8 * ${stride} + 1] = f[3];
        }
        __syncwarp();
        #pragma unroll 1
        for (int i = lane; i < 16 * ${columns}; i += 32) {
            const int m = first_m + part / ${across} * ${mma.m} + warp * 16 + ${y};
            const int n = first_n + part % ${across} * ${columns} + ${x};
            if (m < ${extent.m} && n < ${extent.n}) {
                float v0 = rows[(${y}) * ${stride} + ${x}];
                ${name}_epilogue(args, v0, m, n);
                args.${name}[${at}] = to_${dtype}(v0);
            }
        }
        __syncwarp();
    }
}
//@ end
