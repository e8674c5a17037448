//@ -- NAME_chunk: where 16 bytes of a tensor's tile lie in shared memory, as a tensor copy would lay them. Boxes of
//@ -- whole columns stand beside each other; in a box each row of `span` bytes has its chunks permuted by
//@ --     span 128: row % 8        64: row / 2 % 4        32: row / 4 % 2
//@ -- so that eight rows of one column of chunks touch every bank once.
//@ param tensor table
//@ local t, span = tensor.name, tensor.box_bytes // tensor.tile[1]
//@ local chunks = span // 16
//@ local phase = { NONE = "", ["32B"] = " ^ row / 4 % 2", ["64B"] = " ^ row / 2 % 4", ["128B"] = " ^ row % 8" }
//@ local mixed = phase[tensor.swizzle]
//@ local column, box = "chunk", ""
//@ if tensor.boxes > 1 then
//@     column, box = "chunk % " .. chunks, " + chunk / " .. chunks .. " * " .. tensor.box_bytes
//@ end

// Byte in ${t}'s tile of 16-byte chunk `chunk` of row `row`: swizzle ${tensor.swizzle}.
__device__ __forceinline__ u32 ${t}_chunk(u32 row, u32 chunk)
{
    return row * ${span} + (${column}${mixed}) * 16${box};
}
