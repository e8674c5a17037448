//@ -- NAME_chunk: where 16 bytes of a tensor's tile lie in shared memory, as a tensor copy would lay them. Boxes of
//@ -- whole columns stand beside each other; in a box each row of `span` bytes has its chunks permuted by the number of
//@ -- its 128 bytes, as far as the swizzle's mask has bits: row % 8 where the span is 128, row / 2 % 4 where it is 64.
//@ -- So eight rows of one column of chunks touch every bank once.
//@ param tensor table
//@ local t, height = tensor.name, 1
//@ for d = 1, tensor.rank - 1 do height = height * tensor.tile[d] end
//@ local span = tensor.box_bytes // height
//@ local chunks = span // 16
//@ local mask, rows, mixed = swizzle(tensor.swizzle).mask // 16, 128 // span, ""
//@ if mask > 0 then mixed = " ^ row" .. (rows > 1 and " / " .. rows or "") .. " % " .. mask + 1 end
//@ local column, box = "chunk", ""
//@ if tensor.boxes > 1 then
//@     column, box = "chunk % " .. chunks, " + chunk / " .. chunks .. " * " .. tensor.box_bytes
//@ end

// Byte in ${t}'s tile of 16-byte chunk `chunk` of row `row`: swizzle ${tensor.swizzle}.
__device__ __forceinline__ u32 ${t}_chunk(u32 row, u32 chunk)
{
    return row * ${span} + (${column}${mixed}) * 16${box};
}
