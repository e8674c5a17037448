//@ -- RING_NAME_load: windows of an image into a stage of its ring, by all threads of the block, 16 bytes at a time:
//@ -- rows of the tile are what lies on one tap for pixels of the result in turn. Outside of the images are zeros.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ param threads int
//@ param extent table
//@ local t, rank, window, size = tensor, tensor.rank, tensor.window, bytes(tensor.dtype)
//@ local name, elements, nodes, types = t.name, 16 // size, {}, ""
//@ for d = 0, rank - 1 do nodes[d + 1] = extent["d" .. d] end
//@ for d = 1, rank - 2 do types = types .. ", int tap" .. d end
//@ local ends = fragment_uniform("x", table.unpack(nodes))
//@ local along = {}
//@ for d = 1, rank - 2 do along[d] = ends[d + 1] end
//@ local statements, height, width = ends.at, t.tile[1], t.tile[rank] // elements
//@ local total = height * width
//@ local passes, images, channels, columns = ceil_div(total, threads), ends[1], ends[rank], t.tile[rank]

// The ${height} x ${columns} tile of windows of ${name} from that pixel of the result on, at these taps.
__device__ __forceinline__ void ${ring.name}_${name}_load(const arguments &args, u32 stage, int pixel${types}, int column)
{
    ${statements}
    const u32 tile = shared_address(${offset} + stage * ${t.tile_bytes});
    //@ include "blocks/window_pixels.cuh" window = window, along = along
    #pragma unroll
    for (u32 pass = 0; pass < ${passes}; ++pass) {
        const u32 i = pass * ${threads} + threadIdx.x, row = i / ${width}, chunk = i % ${width};
        const int at = column + (int)chunk * ${elements};
        u32 left = (u32)pixel + row;
//@ local inside, place = {}, "left * args." .. name .. "_stride0"
//@ for d = rank - 2, 1, -1 do
//@     local step, apart, before, last = window.step[d], window.dilation[d], window.before[d], ends[d + 1]
        const int i${d} = (int)(left % pixels${d}) * ${step} + tap${d} * ${apart} - ${before};
        left /= pixels${d};
//@     inside[#inside + 1] = "(u32)i" .. d .. " < (u32)" .. last
//@     place = place .. " + i" .. d .. " * args." .. name .. "_stride" .. d
//@ end
//@ local all = table.concat(inside, " && ")
        const bool inside = left < (u32)${images} && ${all} && at < ${channels};
        const u32 count = inside ? (u32)min((int)${channels} - at, ${elements}) : 0;
//@ if total % threads ~= 0 then
        if (i < ${total})
            copy_async(tile + ${name}_chunk(row, chunk), inside ? args.${name} + ${place} + at : args.${name}, count * ${size});
//@ else
        copy_async(tile + ${name}_chunk(row, chunk), inside ? args.${name} + ${place} + at : args.${name}, count * ${size});
//@ end
    }
}
