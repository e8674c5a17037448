//@ -- NAME_load: a tensor's tile, of any rank, into a stage of its ring. A tile wider than the swizzle's span lies as
//@ -- several boxes beside each other.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ local t, rank, width = tensor.name, tensor.rank, tensor.box[tensor.rank]
//@ local types, places = "", ""
//@ for d = 0, rank - 1 do
//@     types, places = types .. ", int i" .. d, d < rank - 1 and places .. ", i" .. d or places
//@ end

// The tile of ${t} at these coordinates.
__device__ __forceinline__ void ${t}_load(const arguments &args, ${ring.name}_position p${types})
{
    u32 stage = shared_address(${offset} + p.stage * ${tensor.tile_bytes});
//@ for i = 0, tensor.boxes - 1 do
//@     local at, column, last = i * tensor.box_bytes, i * width, "i" .. rank - 1
    tma_load_${rank}d(stage + ${at}, &args.${t}_map, ${ring.name}_full(p.stage)${places}, ${last} + ${column});
//@ end
}
