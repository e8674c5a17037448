//@ -- Results through shared memory to bulk stores: NAME_write lays a fragment's columns of one chunk into a buffer,
//@ -- swizzled as the tensor map has it, NAME_store sends it off. Each consumer warpgroup has its own buffers.
//@ --
//@ -- Fragment of a warpgroup (wgmma D, one 64-row block): warp w holds rows 16 w .. 16 w + 15; of 8 columns j
//@ --     d[4 j + 0], d[4 j + 1]   row lane / 4,     columns 8 j + 2 (lane % 4), + 1
//@ --     d[4 j + 2], d[4 j + 3]   row lane / 4 + 8, the same columns
//@ param ring table
//@ param outputs table
//@ param roles table
//@ param barriers table
//@ param offset int
//@ param ring_bytes int
//@ param mma table
//@ local registers, blocks, r = mma.n // 2, mma.blocks_m, ring.name
//@ local barrier = barriers.d_barrier
//@ local buffer_bytes, region_bytes = ring_bytes // ring.stages // roles.consumer.instances,
//@     ring_bytes // roles.consumer.instances

__device__ __forceinline__ u32 ${r}_buffer(u32 consumer, u32 buffer)
{
    return shared_address(${offset} + consumer * ${region_bytes} + buffer * ${buffer_bytes});
}

//@ op barrier barrier = barrier.name
__device__ __forceinline__ void ${r}_barrier(u32 consumer)
{
    asm volatile("bar.sync %0, ${barrier.threads};" ::"r"(${barrier.id} + consumer) : "memory");
}

// What this thread wrote to shared memory is seen by the bulk store that follows the next barrier.
//@ op fence_async ring = r
__device__ __forceinline__ void ${r}_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
//@ local seen = {}
//@ for _, role in ipairs(roles) do
//@     for _, step in ipairs(role.step) do
//@         if step.op == "store_wait" and not has(seen, step.call) then
//@             seen[step.call] = true

// The storing thread: at most ${step.count} stores still read their buffer.
//@ op store_wait ring = r, count = step.count
__device__ __forceinline__ void ${step.call}()
{
    if (threadIdx.x % 128 == 0)
        asm volatile("cp.async.bulk.wait_group.read ${step.count};" ::: "memory");
}
//@         end
//@     end
//@ end
//@ for _, t in ipairs(outputs) do
//@     local by_row = t.axis[2] == "n"
//@     local width = by_row and t.tile[2] or t.tile[1]
//@     local span = t.box_bytes // t.tile[1]
//@     local across = mma.n // width
//@     local chunks = across * blocks
//@     local mask = swizzle(t.swizzle).mask
//@     local name, dtype = t.name, t.dtype

// Where byte `at` of a chunk lies: swizzle ${t.swizzle}.
__device__ __forceinline__ u32 ${name}_place(u32 base, u32 at)
{
//@     if mask == 0 then
    return base + at;
//@     else
    return base + (at ^ (at >> 3 & ${mask}));
//@     end
}

// Chunk number `chunk` of a consumer's accumulators: ${width} columns of one 64-row block. Where the loop over chunks is
// not unrolled, the choice costs a few moves, and the epilogue stands in the code once instead of once a chunk.
__device__ __forceinline__ void ${name}_part(const float (&d)[${blocks}][${registers}], int chunk, float (&part)[${width} / 2])
{
    #pragma unroll
    for (int c = 0; c < ${chunks}; ++c)
        if (c == chunk) {
            #pragma unroll
            for (int i = 0; i < ${width} / 2; ++i)
                part[i] = d[c / ${across}][c % ${across} * (${width} / 2) + i];
        }
}

// The part, whose row 0 and column 0 are m and n of ${name}, into a buffer.
//@ op write ring = r, tensor = name
__device__ __forceinline__ void ${name}_write(const arguments &args, const float (&d)[${width} / 2], u32 consumer,
                                              u32 buffer, int m, int n)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const u32 base = ${r}_buffer(consumer, buffer);
    const int row = m + (int)(warp * 16 + lane / 4), column = n + (int)(lane % 4 * 2);
//@     if dtype == "fp32" then
    #pragma unroll
    for (int j = 0; j < ${width} / 8; ++j) {
        const int i = j * 4;
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            float v0 = d[i + 2 * half], v1 = d[i + 2 * half + 1];
            ${name}_epilogue(args, v0, v1, row + 8 * half, column + 8 * j);
            const u32 y = warp * 16 + lane / 4 + 8 * half, x = j * 8 + lane % 4 * 2;
//@         if by_row then
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(${name}_place(base, y * ${span} + x * 4)), "f"(v0), "f"(v1) : "memory");
//@         else
//@             local box_rows = span // 4
            const u32 at = y / ${box_rows} * ${t.box_bytes} + x * ${span} + y % ${box_rows} * 4;
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(${name}_place(base, at)), "f"(v0) : "memory");
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(${name}_place(base, at + ${span})), "f"(v1) : "memory");
//@         end
        }
    }
//@     else
//@         local groups = width % 16 == 0 and 2 or 1
//@         local matrices = groups * 2
//@         local trans = by_row and "" or ".trans"
    #pragma unroll
    for (int j = 0; j < ${width} / 8; j += ${groups}) {
        u32 word[${matrices}];
        #pragma unroll
        for (int q = 0; q < ${matrices}; ++q) {
            // Matrix q: rows 8 (q % 2), columns 8 (q / 2) of this step.
            const int i = (j + q / 2) * 4 + q % 2 * 2;
            float v0 = d[i], v1 = d[i + 1];
            ${name}_epilogue(args, v0, v1, row + q % 2 * 8, column + (j + q / 2) * 8);
            word[q] = pack_${dtype}(v0, v1);
        }
        // Lane l gives the address of row l % 8 of matrix l / 8, 16 bytes.
//@         if by_row then
        const u32 at = (warp * 16 + lane % 16) * ${span} + (j + lane / 16) * 16;
//@         else
//@             local box_rows = span // 2
        const u32 y = warp * 16 + lane / 8 % 2 * 8, x = j * 8 + lane / 16 * 8 + lane % 8;
        const u32 at = y / ${box_rows} * ${t.box_bytes} + x * ${span} + y % ${box_rows} * 2;
//@         end
//@         if groups == 2 then
        asm volatile("stmatrix.sync.aligned.m8n8.x4${trans}.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(${name}_place(base, at)), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
//@         else
        asm volatile("stmatrix.sync.aligned.m8n8.x2${trans}.shared.b16 [%0], {%1, %2};" ::"r"(${name}_place(base, at)), "r"(word[0]), "r"(word[1]) : "memory");
//@         end
    }
//@     end
}

// One thread starts the store of the part at (m, n) and closes its group. Goes on to the next buffer.
//@ op store ring = r, tensor = name
__device__ __forceinline__ void ${name}_store(const arguments &args, u32 consumer, u32 &buffer, int m, int n)
{
    if (threadIdx.x % 128 == 0) {
        const u32 base = ${r}_buffer(consumer, buffer);
//@     for box = 0, t.boxes - 1 do
//@         local at = box * t.box_bytes
//@         if by_row then
//@             local column = box * t.box[2]
        tma_store(&args.${name}_map, base + ${at}, n + ${column}, m);
//@         else
//@             local line = box * t.box[2]
        tma_store(&args.${name}_map, base + ${at}, m + ${line}, n);
//@         end
//@     end
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    buffer = buffer + 1 == ${ring.stages} ? 0 : buffer + 1;
}
//@ end
