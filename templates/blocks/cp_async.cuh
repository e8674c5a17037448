//@ -- NAME_load: a tensor's tile into a stage of its ring, by all threads of the block, 16 bytes at a time. What lies
//@ -- outside of the tensor arrives as zeros. Tensors of access cp_async have rows that begin at multiples of 16 bytes
//@ -- and are copied behind the threads' back; of the others, any alignment and any row, elements are read one by one.
//@ param tensors table
//@ param ring table
//@ param shared table
//@ param extent table
//@ param threads int
//@ local asynchronous, plain = false, false
//@ for _, t in ipairs(tensors) do
//@     if t.access == "cp_async" then asynchronous = true else plain = true end
//@ end
//@ if asynchronous then
// Starts the copy of the first `bytes` of 16 bytes; the rest of them becomes zero.
//@ op part
__device__ __forceinline__ void copy_async(u32 destination, const void *source, u32 bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(bytes)
                 : "memory");
}
//@ end
//@ if plain then

__device__ __forceinline__ void store_shared(u32 destination, const u32 (&word)[4])
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(destination), "r"(word[0]), "r"(word[1]),
                 "r"(word[2]), "r"(word[3])
                 : "memory");
}
//@ end
//@ for _, t in ipairs(tensors) do
//@     local name, size = t.name, bytes(t.dtype)
//@     local height, columns, elements = t.tile[1], t.tile[2], 16 // size
//@     local width = columns // elements
//@     local total = height * width
//@     local passes, group = ceil_div(total, threads), total > threads and 2 or 1
//@     local row_extent, column_extent = extent[t.axis[1]], extent[t.axis[2]]
//@     local offset = shared[ring.name .. "." .. name].offset
//@ include "blocks/tile_chunk.cuh" tensor = t

// The ${height} x ${columns} tile of ${name} at (outer, inner) into the stage: ${width} chunks a row.
//@ op fill tensor = name, ring = ring.name, count = t.tile_bytes
__device__ __forceinline__ void ${name}_load(const arguments &args, u32 stage, int outer, int inner)
{
    const u32 tile = shared_address(${offset} + stage * ${t.tile_bytes});
    const u32 rows = (u32)min(${row_extent} - outer, (i64)${height});
    const u32 columns = (u32)min(${column_extent} - inner, (i64)${columns});
//@     if t.access == "cp_async" then
    #pragma unroll
    for (u32 pass = 0; pass < ${passes}; ++pass) {
//@         if threads % width == 0 then
//@             local step = threads // width
        const u32 row = pass * ${step} + threadIdx.x / ${width}, chunk = threadIdx.x % ${width};
//@         else
        const u32 i = pass * ${threads} + threadIdx.x, row = i / ${width}, chunk = i % ${width};
//@         end
        const u32 column = chunk * ${elements};
        const u32 count = row < rows && column < columns ? min(columns - column, ${elements}) : 0;
        const ${ctype(t.dtype)} *source = args.${name} + (outer + (i64)row) * args.${name}_stride0 + inner + column;
//@         if total % threads ~= 0 then
        if (row < ${height})
            copy_async(tile + ${name}_chunk(row, chunk), source, count * ${size});
//@         else
        copy_async(tile + ${name}_chunk(row, chunk), source, count * ${size});
//@         end
    }
//@     else
    #pragma unroll 1
    for (u32 pass = 0; pass < ${passes}; pass += ${group}) {
        u32 word[${group}][4];
        #pragma unroll
        for (u32 g = 0; g < ${group}; ++g) {
            const u32 i = (pass + g) * ${threads} + threadIdx.x;
            const u32 row = i / ${width}, column = i % ${width} * ${elements};
            const u32 count = row < rows && column < columns ? columns - column : 0;
            const ${ctype(t.dtype)} *source = args.${name} + (outer + (i64)row) * args.${name}_stride0 + inner + column;
            #pragma unroll
            for (u32 w = 0; w < 4; ++w) {
                const u32 low = 2 * w < count ? source[2 * w] : 0;
                const u32 high = 2 * w + 1 < count ? source[2 * w + 1] : 0;
                word[g][w] = low | high << 16;
            }
        }
        #pragma unroll
        for (u32 g = 0; g < ${group}; ++g) {
            const u32 i = (pass + g) * ${threads} + threadIdx.x;
            if (i < ${total})
                store_shared(tile + ${name}_chunk(i / ${width}, i % ${width}), word[g]);
        }
    }
//@     end
}
//@ end
