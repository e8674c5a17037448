//@ -- TENSOR_send: bulk stores take a stage's tile to its place in an output of any rank, box by box, as the ring's
//@ -- `from` brought it. What lies outside of the output is not written. adds: they add to what the output holds.
//@ param tensor table
//@ param from table
//@ param ring table
//@ param offset int
//@ param adds bool
//@ local t, rank, width, box_bytes = tensor.name, tensor.rank, tensor.box[tensor.rank], tensor.box_bytes
//@ local types, places, copy, policy = "", "", (adds and "add_" or "store_"), ""
//@ for d = 0, rank - 1 do
//@     types = types .. ", int i" .. d
//@     if d < rank - 1 and (d > 0 or not has(tensor, "maps")) then places = places .. ", i" .. d end
//@ end
//@ if has(tensor, "cache") then copy, policy = copy .. "hinted_", ", cache_" .. tensor.cache .. "()" end
//@ copy = copy .. map_rank(tensor) .. "d"
//@ local map = has(tensor, "maps") and t .. "_map[i0]" or t .. "_map" -- one of each slice, or one
// The tile of ${t} at these coordinates, from the stage's tile of ${from.name}. By one thread, in its open group.
__device__ __forceinline__ void ${t}_send(const arguments &args, ${ring.name}_position p${types})
{
    const u32 stage = shared_address(${offset} + p.stage * ${from.tile_bytes});
//@ for i = 0, tensor.boxes - 1 do
//@     local at, column, last = i * box_bytes, i * width, "i" .. rank - 1
    tma_${copy}(&args.${map}, stage + ${at}${places}, ${last} + ${column}${policy});
//@ end
}
