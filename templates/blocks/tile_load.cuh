//@ -- name: a function that brings a tensor's tile, of any rank, into a stage of its ring. A tile wider than the
//@ -- swizzle's span lies as several boxes beside each other. With multicast the blocks that share the tile, `stride`
//@ -- ranks apart, each load a slice of its rows for all of them. A tile of rows by number comes row by row, each by a
//@ -- thread of its own; the hardware swizzles by address, so that a row lies as it would in a box of all. limited:
//@ -- rows from some one on arrive as zeros, in boxes that lie outside of the tensor. ends: so may rows of a run.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ param stride int
//@ param name text
//@ param limited bool
//@ param ends bool
//@ local t, rank, width = tensor.name, tensor.rank, tensor.box[tensor.rank]
//@ local types, places, mask, rows, slice_bytes = "", "", 0, 0, 0
//@ for d = 0, rank - 1 do
//@     types = types .. ", int i" .. d
//@     if d < rank - 1 and (d > 0 or not has(tensor, "maps")) then
//@         local split = tensor.multicast > 1 and tensor.tile[d + 1] > 1
//@         places = places .. ", i" .. d .. (split and " + (int)share * " .. tensor.box[d + 1] or "")
//@         if split then rows = tensor.box[d + 1] end
//@     end
//@ end
//@ for i = 0, tensor.multicast - 1 do mask = mask | (1 << (i * stride)) end
//@ slice_bytes = tensor.box_bytes // tensor.multicast
//@ local copy, policy = map_rank(tensor) .. "d", ""
//@ local map = has(tensor, "maps") and t .. "_map[i0]" or t .. "_map" -- one of each slice, or one
//@ -- Where slices have addresses, two coordinates of the map in the place of the tensor's first.
//@ local pointers, find = has(tensor, "pointers"), ""
//@ if pointers then
//@     find = "int high, low;\n" .. t .. "_slice(args, i0, high, low);"
//@     places = ", high, low" .. places:sub(#", i0" + 1)
//@ end
//@ if has(tensor, "cache") then copy, policy = "hinted_" .. copy, ", cache_" .. tensor.cache .. "()" end

//@ if has(tensor, "gathered") then
//@     local row_bytes = tensor.box_bytes // tensor.tile[tensor.gathered]
// Row `row` of the tile of ${t}, from these coordinates.
__device__ __forceinline__ void ${name}(const arguments &args, ${ring.name}_position p, int row${types})
{
    u32 place = shared_address(${offset} + p.stage * ${tensor.tile_bytes} + row * ${row_bytes});
    ${find}
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
    tma_load_${copy}(place + ${at}, &args.${t}_map, ${ring.name}_full(p.stage)${places}, ${last} + ${column}${policy});
//@     end
}
//@     if has(tensor, "run") then
//@         local run, along, single, others = tensor.run, "i" .. tensor.gathered - 1, "", ""
//@         for d = 0, rank - 1 do
//@             local index = "i" .. d
//@             single = single .. ", " .. (index == along and "i < ending[1] ? ending[2] + i : -1" or index)
//@             if index ~= along then others = others .. ", int " .. index end
//@         end

//@         local more = ends and ", int (&ending)[3]" or ""
// ${run} rows of it from row `row` on, whose numbers follow each other; zeros where none of them is `there`.
//@         if ends then
// Of a tile one such run at most ends in between: it is left to ${name}_end, as { row, there, ${along} }.
//@         end
__device__ __forceinline__ void ${name}_run(const arguments &args, ${ring.name}_position p, int row, int there${types}${more})
{
    u32 place = shared_address(${offset} + p.stage * ${tensor.tile_bytes} + row * ${row_bytes});
    ${find}
//@         if ends then
    if (there % ${run} != 0) {
        ending[0] = row;
        ending[1] = there;
        ending[2] = ${along};
        return;
    }
//@         end
    if (there == 0)
        ${along} = -${run};
//@         for i = 0, tensor.boxes - 1 do
//@             local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
    tma_load_${copy}(place + ${at}, &args.${t}_map_${run}, ${ring.name}_full(p.stage)${places}, ${last} + ${column}${policy});
//@         end
}
//@         if ends then

__device__ __forceinline__ void ${name}_end(const arguments &args, ${ring.name}_position p, const int (&ending)[3]${others})
{
    if (ending[1] == 0)
        return;
    #pragma unroll 1
    for (int i = 0; i < ${run}; ++i)
        ${name}(args, p, ending[0] + i${single});
}
//@         end
//@     end
//@ elseif limited then
//@     local height, along = 1, 0
//@     for d = 0, rank - 2 do
//@         if tensor.tile[d + 1] > 1 then height, along = tensor.tile[d + 1], d end
//@     end
//@     local row_bytes = tensor.box_bytes // height
//@     -- Coordinates with this one along the rows.
//@     local function from(first)
//@         local list = ""
//@         for d = 0, rank - 2 do
//@             list = list .. ", " .. (d == along and first or d == 0 and pointers and "high, low" or "i" .. d)
//@         end
//@         return list
//@     end
//@     local eight = from("row < rows ? i" .. along .. " + row : -8")
//@     local one = from("row + i < rows ? i" .. along .. " + row + i : -1")
// The first `rows` rows of the tile of ${t} at these coordinates, then zeros: where it is not whole, in parts, of which
// those without rows lie outside of the tensor.
__device__ __forceinline__ void ${name}(const arguments &args, ${ring.name}_position p${types}, int rows)
{
    u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes});
    ${find}
    if (rows >= ${height}) {
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
        tma_load_${copy}(stage + ${at}, &args.${t}_map, ${ring.name}_full(p.stage)${places}, ${last} + ${column}${policy});
//@     end
        return;
    }
    #pragma unroll 1
    for (int row = 0; row < ${height}; row += 8) {
        const u32 part = stage + row * ${row_bytes};
        if (row + 8 <= rows || row >= rows) {
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
            tma_load_${copy}(part + ${at}, &args.${t}_map_8, ${ring.name}_full(p.stage)${eight}, ${last} + ${column}${policy});
//@     end
            continue;
        }
        #pragma unroll 1
        for (int i = 0; i < 8; ++i) {
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
            tma_load_${copy}(part + i * ${row_bytes} + ${at}, &args.${t}_map_1, ${ring.name}_full(p.stage)${one}, ${last} + ${column}${policy});
//@     end
        }
    }
}
//@ elseif tensor.multicast > 1 then
// The tile of ${t} at these coordinates: this block's ${rows} rows of it, for ${tensor.multicast} blocks.
__device__ __forceinline__ void ${name}(const arguments &args, ${ring.name}_position p${types})
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    u32 share = rank / ${stride} % ${tensor.multicast};
    u16 blocks = (u16)(${hex(mask)} << (rank - share * ${stride}));
    u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes} + share * ${slice_bytes});
    ${find}
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
    tma_multicast_${copy}(stage + ${at}, &args.${map}, ${ring.name}_full(p.stage)${places}, ${last} + ${column}, blocks${policy});
//@     end
}
//@ else
// The tile of ${t} at these coordinates.
__device__ __forceinline__ void ${name}(const arguments &args, ${ring.name}_position p${types})
{
    u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes});
    ${find}
//@     for i = 0, tensor.boxes - 1 do
//@         local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
    tma_load_${copy}(stage + ${at}, &args.${map}, ${ring.name}_full(p.stage)${places}, ${last} + ${column}${policy});
//@     end
}
//@ end
