//@ -- Results through shared memory to bulk stores: NAME_write lays a chunk, 64 rows and a box's columns of a fragment,
//@ -- into a buffer, swizzled as the tensor map has it, NAME_store sends it off. Each consumer has its own buffers.
//@ --
//@ -- Fragment of a warpgroup (wgmma D, one 64-row block): warp w holds rows 16 w .. 16 w + 15; of 8 columns j
//@ --     d[4 j + 0], d[4 j + 1]   row lane / 4,     columns 8 j + 2 (lane % 4), + 1
//@ --     d[4 j + 2], d[4 j + 3]   row lane / 4 + 8, the same columns
//@ -- wide: a chunk has 128 rows, warp w 32 w .. 32 w + 31, of which each 16 are such a fragment and come alone.
//@ -- A chunk of 16-bit elements comes packed: word 2 j + h holds the pair of row half h.
//@ -- turned: by tensor, 1 where a fragment's rows run along its innermost dim. limited: by tensor, there where rows of
//@ -- a chunk may be left out: a chunk that is not whole is stored row by row.
//@ param ring table
//@ param outputs table
//@ param roles table
//@ param barrier table
//@ param offset int
//@ param ring_bytes int
//@ param turned table
//@ param limited table
//@ param wide bool
//@ local r, instances = ring.name, roles.consumer.instances
//@ local buffer_bytes, region_bytes = ring_bytes // ring.stages // instances, ring_bytes // instances

__device__ __forceinline__ u32 ${r}_buffer(u32 consumer, u32 buffer)
{
    return shared_address(${offset} + consumer * ${region_bytes} + buffer * ${buffer_bytes});
}

__device__ __forceinline__ void ${r}_barrier(u32 consumer)
{
    asm volatile("bar.sync %0, ${barrier.threads};" ::"r"(${barrier.id} + consumer) : "memory");
}

// What this thread wrote to shared memory is seen by the bulk store that follows the next barrier.
__device__ __forceinline__ void ${r}_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
//@ local seen = {}
//@ for _, role in ipairs(roles) do
//@     for _, step in ipairs(role.step) do
//@         if step.op == "store_wait" and not has(seen, step.call) then
//@             seen[step.call] = true
//@             local left = step.count == 0 and "no store still reads its buffer"
//@             left = left or step.count == 1 and "at most one store still reads its buffer"
//@             left = left or "at most " .. step.count .. " stores still read their buffers"

// The storing thread: ${left}.
__device__ __forceinline__ void ${step.call}()
{
    if (threadIdx.x % 128 == 0)
        asm volatile("cp.async.bulk.wait_group.read ${step.count};" ::: "memory");
}
//@         end
//@     end
//@ end
//@ for _, t in ipairs(outputs) do
//@     local rank, across = t.rank, turned[t.name] == 1
//@     local width = t.tile[t.rank]
//@     local lines = wide and 128 or 64
//@     local of_warp, place, further = wide and 32 or 16, wide and ", int block" or "", wide and " + block * 16" or ""
//@     if across then
//@         for d = 1, rank - 1 do if t.tile[d] > 1 then lines = t.tile[d] end end
//@         width = lines
//@     end
//@     local span = t.box_bytes // lines
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

//@     if bytes(dtype) == 4 then
//@         local type = ctype(dtype)
//@         local word, bound = type == "int" and "b32" or "f32", type == "int" and "r" or "f"
__device__ __forceinline__ void ${name}_write(const ${type} (&part)[${width} / 2], u32 consumer, u32 buffer${place})
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, base = ${r}_buffer(consumer, buffer);
    #pragma unroll
    for (int i = 0; i < ${width} / 4; ++i) {
        const u32 y = warp * ${of_warp}${further} + lane / 4 + i % 2 * 8, x = i / 2 * 8 + lane % 4 * 2;
//@         if across then
//@             local line = span // 4
        const u32 at = y / ${line} * ${t.box_bytes} + x * ${span} + y % ${line} * 4;
        asm volatile("st.shared.${word} [%0], %1;" ::"r"(${name}_place(base, at)), "${bound}"(part[2 * i]) : "memory");
        asm volatile("st.shared.${word} [%0], %1;" ::"r"(${name}_place(base, at + ${span})), "${bound}"(part[2 * i + 1])
                     : "memory");
//@         else
//@             local within = span // 4
        const u32 at = x / ${within} * ${t.box_bytes} + y * ${span} + x % ${within} * 4;
        asm volatile("st.shared.v2.${word} [%0], {%1, %2};" ::"r"(${name}_place(base, at)), "${bound}"(part[2 * i]),
                     "${bound}"(part[2 * i + 1])
                     : "memory");
//@         end
    }
}
//@     else
//@         local groups, trans, odd = width > 8 and 2 or 1, across and ".trans" or "", width % 16 > 0
__device__ __forceinline__ void ${name}_write(const u32 (&part)[${width} / 4], u32 consumer, u32 buffer${place})
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, base = ${r}_buffer(consumer, buffer);
    #pragma unroll
    for (int j = 0; j < ${width} / 8; j += ${groups}) {
        // Matrix q: rows 8 (q % 2), columns 8 (q / 2) of this step. Lane l gives the address of row l % 8 of matrix
        // l / 8.
//@         if across then
//@             local line = span // 2
        const u32 y = warp * ${of_warp}${further} + lane / 8 % 2 * 8, x = j * 8 + lane / 16 * 8 + lane % 8;
        const u32 at = y / ${line} * ${t.box_bytes} + x * ${span} + y % ${line} * 2;
//@         else
//@             if t.boxes > 1 then
//@                 local within = span // 16
        const u32 chunk = j + lane / 16;
        const u32 at = chunk / ${within} * ${t.box_bytes} + (warp * ${of_warp}${further} + lane % 16) * ${span} + chunk % ${within} * 16;
//@             else
        const u32 at = (warp * ${of_warp}${further} + lane % 16) * ${span} + (j + lane / 16) * 16;
//@             end
//@         end
//@         local deeper = groups == 2 and odd and "    " or ""
//@         if groups == 2 then
//@             if odd then
        if (j + 1 < ${width} / 8)
//@             end
        ${deeper}asm volatile("stmatrix.sync.aligned.m8n8.x4${trans}.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(${name}_place(base, at)),
        ${deeper}             "r"(part[2 * j]), "r"(part[2 * j + 1]), "r"(part[2 * j + 2]), "r"(part[2 * j + 3])
        ${deeper}             : "memory");
//@         end
//@         if odd then
//@             if groups == 2 then
        else
//@             end
        ${deeper}asm volatile("stmatrix.sync.aligned.m8n8.x2${trans}.shared.b16 [%0], {%1, %2};" ::"r"(${name}_place(base, at)),
        ${deeper}             "r"(part[2 * j]), "r"(part[2 * j + 1])
        ${deeper}             : "memory");
//@         end
    }
}
//@     end
//@     local types, places, ends, copy, policy = "", "", has(limited, name), map_rank(t) .. "d", ""
//@     if has(t, "cache") then copy, policy = "hinted_" .. copy, ", cache_" .. t.cache .. "()" end
//@     for d = 0, rank - 1 do types, places = types .. ", int i" .. d, places .. ", i" .. d end
//@     local find = ""
//@     if has(t, "pointers") then
//@         find = "int high, low;\n" .. name .. "_slice(args, i0, high, low);"
//@         places = ", high, low" .. places:sub(#", i0" + 1)
//@     end
//@     if ends then
//@         local at_row = ""
//@         for d = 0, rank - 1 do
//@             local first = d == 0 and has(t, "pointers") and "high, low" or "i" .. d
//@             at_row = at_row .. ", " .. first .. (d < rank - 1 and t.tile[d + 1] > 1 and " + row" or "")
//@         end

// One thread starts the store of the chunk's first `rows` rows at these coordinates, of fewer than all in parts, and
// closes its group. Goes on to the next buffer.
__device__ __forceinline__ void ${name}_store(const arguments &args, u32 consumer, u32 &buffer${types}, int rows)
{
    if (threadIdx.x % 128 == 0) {
        ${find}
        if (rows >= ${lines}) {
//@         for box = 0, t.boxes - 1 do
//@             local at, more = box * t.box_bytes, box > 0 and " + " .. box * t.box[rank] or ""
            tma_store_${copy}(&args.${name}_map, ${r}_buffer(consumer, buffer) + ${at}${places}${more}${policy});
//@         end
        } else {
            int row = 0;
            #pragma unroll 1
            for (; row + 8 <= rows; row += 8) {
//@         for box = 0, t.boxes - 1 do
//@             local at, more = box * t.box_bytes, box > 0 and " + " .. box * t.box[rank] or ""
                tma_store_${copy}(&args.${name}_map_8, ${r}_buffer(consumer, buffer) + ${at} + row * ${span}${at_row}${more}${policy});
//@         end
            }
            #pragma unroll 1
            for (; row < rows; ++row) {
//@         for box = 0, t.boxes - 1 do
//@             local at, more = box * t.box_bytes, box > 0 and " + " .. box * t.box[rank] or ""
                tma_store_${copy}(&args.${name}_map_1, ${r}_buffer(consumer, buffer) + ${at} + row * ${span}${at_row}${more}${policy});
//@         end
            }
        }
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    buffer = buffer + 1 == ${ring.stages} ? 0 : buffer + 1;
}
//@     else

// One thread starts the store of the chunk at these coordinates and closes its group. Goes on to the next buffer.
__device__ __forceinline__ void ${name}_store(const arguments &args, u32 consumer, u32 &buffer${types})
{
    if (threadIdx.x % 128 == 0) {
        ${find}
//@     for box = 0, t.boxes - 1 do
//@         local at, along = box * t.box_bytes, box * t.box[rank]
//@         local more = box > 0 and " + " .. along or ""
        tma_store_${copy}(&args.${name}_map, ${r}_buffer(consumer, buffer) + ${at}${places}${more}${policy});
//@     end
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    buffer = buffer + 1 == ${ring.stages} ? 0 : buffer + 1;
}
//@     end
//@ end
