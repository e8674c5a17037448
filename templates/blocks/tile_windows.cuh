//@ -- name: a function that brings windows of an image into a stage of their ring: rows of a tile are what lies on one
//@ -- tap for pixels of the result in turn. NAME_find gives the place of their first. A tile wider than the swizzle's
//@ -- span lies as boxes beside each other. With multicast the blocks that share the tile, `stride` ranks apart, each
//@ -- load a slice of its rows for all. extent: of the tensor, nodes of plan.fused. finds: no other ring has them.
//@ param tensor table
//@ param ring table
//@ param offset int
//@ param stride int
//@ param name text
//@ param extent table
//@ param finds bool
//@ local t, rank, width, window = tensor.name, tensor.rank, tensor.box[tensor.rank], tensor.window
//@ local types, nodes, starts, taps, mask = "", {}, "", "", 0
//@ for d = 1, rank - 2 do
//@     types, nodes[d] = types .. ", int tap" .. d, extent["d" .. d]
//@     starts = starts .. ", from.i" .. d
//@     local apart = window.dilation[d]
//@     taps = taps .. ", (u16)" .. (apart > 1 and "(tap" .. d .. " * " .. apart .. ")" or "tap" .. d)
//@ end
//@ for i = 0, tensor.multicast - 1 do mask = mask | (1 << (i * stride)) end
//@ local rows, shared, stage_bytes = tensor.box[1], tensor.multicast > 1, tensor.tile_bytes
//@ local copy, policy = (shared and "multicast" or "load"), ""
//@ if has(tensor, "cache") then copy, policy = copy .. "_hinted", ", cache_" .. tensor.cache .. "()" end
//@ local blocks, slice_bytes = shared and ", blocks" or "", tensor.box_bytes // tensor.multicast
//@ if finds then
//@     local along = fragment_uniform("x", table.unpack(nodes))
//@     local statements = along.at
// Where windows of ${t} begin: the image, and of each of its dims the pixel that the first tap of the first one is on.
struct ${t}_place {
//@     for d = 0, rank - 2 do
    int i${d};
//@     end
};

//@     if shared then
// That of a pixel of the result, from which this block loads ${rows} of the tile's windows for ${tensor.multicast} blocks.
//@     else
// That of a pixel of the result.
//@     end
__device__ __forceinline__ ${t}_place ${t}_find(const arguments &args, int pixel)
{
    ${t}_place at;
    u32 left = (u32)pixel;
//@     if shared then
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    left += rank / ${stride} % ${tensor.multicast} * ${rows};
//@     end
    ${statements}
    //@ include "blocks/window_pixels.cuh" window = window, along = along
//@     for d = rank - 2, 1, -1 do
//@         local step, before = window.step[d], window.before[d]
//@         local place = "(int)(left % pixels" .. d .. ")" .. (step > 1 and " * " .. step or "")
//@         if before > 0 then place = place .. " - " .. before end
    at.i${d} = ${place};
    left /= pixels${d};
//@     end
    at.i0 = (int)left;
    return at;
}

//@ end
// Of windows of ${t} from there on what lies on these taps.
__device__ __forceinline__ void ${name}(const arguments &args, ${ring.name}_position p, ${t}_place from${types}, int column)
{
//@ if shared then
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    u32 share = rank / ${stride} % ${tensor.multicast};
    u16 blocks = (u16)(${hex(mask)} << (rank - share * ${stride}));
    u32 stage = shared_address(${offset} + p.stage * ${stage_bytes} + share * ${slice_bytes});
//@ else
    u32 stage = shared_address(${offset} + p.stage * ${stage_bytes});
//@ end
//@ for i = 0, tensor.boxes - 1 do
//@     local at, more = i * tensor.box_bytes, i > 0 and " + " .. i * width or ""
    tma_windows_${copy}_${rank}d(stage + ${at}, &args.${t}_map, ${ring.name}_full(p.stage), from.i0${starts}, column${more}${taps}${blocks}${policy});
//@ end
}
