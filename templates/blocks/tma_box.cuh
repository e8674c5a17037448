//@ -- NAME_load: a tile of a tensor of any rank into a stage of its ring, as one box of a tensor map of that rank: what
//@ -- of it lies outside of the tensor arrives as zeros. A tile wider than the swizzle's span, or than a box, lies as
//@ -- several boxes beside each other along the innermost dim. Of slices with maps it is that of i0.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ local t, rank, space = tensor.name, tensor.rank, copy_space()
//@ local inner, width = rank - 1, tensor.box[rank]
//@ local outer, dims, map = 0, map_rank(tensor), t .. "_map" -- the map's outermost dim, and how many it has
//@ if has(tensor, "maps") then outer, map = 1, map .. "[i0]" end
//@ local types, from = "", ""
//@ for d = 0, inner do types = types .. ", int i" .. d end
//@ for d = inner, outer, -1 do from = from .. "%" .. (3 + inner - d) .. (d > outer and ", " or "") end

// The tile of ${t} at these coordinates.
//@ op fill tensor = t, ring = ring.name, count = tensor.tile_bytes, by = "one"
__device__ __forceinline__ void ${t}_load(const arguments &args, ${ring.name}_position p${types})
{
    const u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes});
//@ for i = 0, tensor.boxes - 1 do
//@     local at, column, others = i * tensor.box_bytes, i > 0 and " + " .. i * width or "", ""
//@     for d = inner - 1, outer, -1 do others = others .. ', "r"(i' .. d .. ")" end
    asm volatile("cp.async.bulk.tensor.${dims}d.${space}.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {${from}}], [%2];" ::"r"(stage + ${at}),
                 "l"(&args.${map}), "r"(${ring.name}_full(p.stage)), "r"(i${inner}${column})${others}
                 : "memory");
//@ end
}
