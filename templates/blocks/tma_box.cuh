//@ -- NAME_load: a box of a tensor of three dims or more into a stage of its ring, by a tensor map of that rank: what
//@ -- of it lies outside of the tensor arrives as zeros. A tile wider than the swizzle's span lies as several boxes
//@ -- beside each other along the innermost dim.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ local t, rank, space = tensor.name, tensor.rank, copy_space()
//@ local inner, width = rank - 1, tensor.box[rank]
//@ local types, from = "", ""
//@ for d = 0, inner do types = types .. ", int i" .. d end
//@ for d = inner, 0, -1 do from = from .. "%" .. (3 + inner - d) .. (d > 0 and ", " or "") end

// The tile of ${t} at these coordinates.
//@ op fill tensor = t, ring = ring.name, count = tensor.tile_bytes, by = "one"
__device__ __forceinline__ void ${t}_load(const arguments &args, ${ring.name}_position p${types})
{
    const u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes});
//@ for i = 0, tensor.boxes - 1 do
//@     local at, column, others = i * tensor.box_bytes, i > 0 and " + " .. i * width or "", ""
//@     for d = inner - 1, 0, -1 do others = others .. ', "r"(i' .. d .. ")" end
    asm volatile("cp.async.bulk.tensor.${rank}d.${space}.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {${from}}], [%2];" ::"r"(stage + ${at}),
                 "l"(&args.${t}_map), "r"(${ring.name}_full(p.stage)), "r"(i${inner}${column})${others}
                 : "memory");
//@ end
}
