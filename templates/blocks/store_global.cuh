//@ -- Results straight to global memory, element by element: any alignment, any leading dimension, no padding touched.
//@ -- The fragment is that of store_staged.cuh.
//@ param outputs table
//@ param mma table
//@ param extent table
//@ local registers, blocks = mma.n // 2, mma.blocks_m
//@ for _, t in ipairs(outputs) do
//@     local name, dtype = t.name, t.dtype
//@     local at = t.axis[2] == "n" and "m * args." .. name .. "_stride0 + n" or "n * args." .. name .. "_stride0 + m"
//@     local step = t.axis[2] == "n" and "1" or "args." .. name .. "_stride0"

__device__ __forceinline__ void ${name}_store_global(const arguments &args, const float (&d)[${blocks}][${registers}],
                                                     int first_m, int first_n)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    // Unknown again to the compiler, which else keeps what it computed of all columns for the next output.
    asm volatile("" : "+r"(first_m), "+r"(first_n));
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (int i = 0; i < ${registers}; i += 2) {
            const i64 m = first_m + block * ${mma.m} + (int)(warp * 16 + lane / 4) + i / 2 % 2 * 8;
            const i64 n = first_n + i / 4 * 8 + (int)(lane % 4 * 2);
            float v0 = d[block][i], v1 = d[block][i + 1];
            ${name}_epilogue(args, v0, v1, m, n);
            const i64 at = ${at};
            if (m < ${extent.m} && n < ${extent.n})
                args.${name}[at] = to_${dtype}(v0);
            if (m < ${extent.m} && n + 1 < ${extent.n})
                args.${name}[at + ${step}] = to_${dtype}(v1);
        }
}
//@ end
