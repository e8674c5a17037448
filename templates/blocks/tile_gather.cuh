//@ -- name: 16 bytes of a tensor's tile into a stage, by one thread: the chunk of a row that lies at these coordinates,
//@ -- where a tensor copy would put it. What lies outside of the tensor arrives as zeros. position: the type that says
//@ -- which stage p is; number: what of it is the stage's number.
//@ param tensor table
//@ param offset int
//@ param extent table
//@ param name text
//@ param position text
//@ param number text
//@ local t, rank, size = tensor.name, tensor.rank, bytes(tensor.dtype)
//@ local height = tensor.tile[tensor.gathered]
//@ local span, elements = tensor.box_bytes // height, 16 // size
//@ local chunks = span // 16
//@ local mask = swizzle(tensor.swizzle).mask
//@ local types, inside, place, nodes, last = "", {}, {}, {}, "i" .. rank - 1
//@ for d = 1, rank do nodes[d] = extent["d" .. d - 1] end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local statements, end_of_row = ends.at, ends[rank]
//@ local base, from = slice(tensor, "i0")
//@ for d = 0, rank - 1 do
//@     local index = "i" .. d
//@     types = types .. ", int " .. index
//@     if d < rank - 1 then
//@         inside[#inside + 1] = index .. " >= 0 && " .. index .. " < " .. ends[d + 1]
//@         if d + 1 >= from then place[#place + 1] = "(i64)" .. index .. " * args." .. t .. "_stride" .. d end
//@     end
//@ end
//@ place[#place + 1] = "column"
//@ local condition, row_start = table.concat(inside, " && "), table.concat(place, " + ")
//@ local outside = from > 1 and "(const " .. ctype(tensor.dtype) .. " *)args." .. t or "args." .. t
//@ local swizzled = mask == 0 and "at" or "(at ^ (at >> 3 & " .. mask .. "))"

// Chunk `chunk` of row `row` of the tile of ${t}, whose row is the one at these coordinates.
__device__ __forceinline__ void ${name}(const arguments &args, ${position} p, u32 row, u32 chunk${types})
{
    ${statements}
    const u32 stage = shared_address(${offset} + ${number} * ${tensor.tile_bytes});
    const u32 at = chunk / ${chunks} * ${tensor.box_bytes} + row * ${span} + chunk % ${chunks} * 16;
    const int column = ${last} + (int)chunk * ${elements};
    const bool inside = ${condition} && column >= 0 && column < ${end_of_row};
    const u32 count = inside ? (u32)min((int)${end_of_row} - column, ${elements}) : 0;
    copy_async(stage + ${swizzled}, inside ? ${base} + ${row_start} : ${outside}, count * ${size});
}
