//@ -- Multi-scale deformable attention whose samples come by tensor maps: for each a box of two rows of two pixels with
//@ -- all channels, from the map of its level. What lies outside of the level arrives as zeros, so that no bound is
//@ -- checked. Coordinates are clamped to where a box still touches the level: one wholly outside takes many times as
//@ -- long. A block takes some queries of a batch, a stage a point of each level: a lane of the first warp fills, the
//@ -- second warp multiplies and adds.
//@ param entry text
//@ param launch.block int
//@ local ring, type = plan.ring[1], plan.tensor.out.dtype
//@ local tile, channels, samples = plan.tile.out["1"], plan.tile.out["2"], plan.tile.weight["2"]
//@ local last = samples - 1
//@ local levels, of, by = #ring.tensor, plan.tensor.loc.dtype, plan.tensor.weight.dtype
//@ local points = samples // levels
//@ local groups = channels // 8 -- vectors of a pixel
//@ local each = 4 * groups -- of a box
//@ local loads = ceil_div(levels * each, 32) -- of a stage, by a warp
//@ local rest = levels * each % 32
//@ assert(channels == 16 or channels == 32, "a lane keeps 8 of 16 or of 32 channels")
//@ assert(samples <= 32, "a lane places one sample of each query, of 32 at most")
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/convert.cuh" dtypes = { [type] = true, [of] = true, [by] = true }

//@ include "blocks/mbarrier.cuh" remote = false

//@ include "blocks/ring.cuh" ring = ring, roles = plan.role,
//@     full_offset = plan.shared[ring.name .. ".full"].offset,
//@     empty_offset = plan.shared[ring.name .. ".empty"].offset, cluster_m = 1, cluster_n = 1

//@ for _, name in ipairs(ring.tensor) do
//@     local offset = plan.shared[ring.name .. "." .. name].offset
//@ include "blocks/tma_box.cuh" tensor = plan.tensor[name], ring = ring, offset = offset

//@ include "blocks/tile_pointer.cuh" tensor = plan.tensor[name], ring = ring, offset = offset

//@ end
// Along one axis: the first of the sample's two pixels, and how far behind its middle the sample lies.
struct place {
    int pixel;
    float past;
};

// 0 to 1 across the level. What is no number goes where all that is too small does: both pixels count as zeros there.
__device__ __forceinline__ place place_of(float at, float extent)
{
    const float x = fminf(fmaxf(at * extent - 0.5f, -1.0f), extent);
    const float pixel = fminf(floorf(x), extent - 1.0f);
    return {(int)pixel, x - pixel};
}

// 8 of ${type}.
struct alignas(16) vector {
    u32 word[4];
};

extern "C" __global__ void __launch_bounds__(${launch.block}) ${entry}(const __grid_constant__ arguments args)
{
    const int tiles = (args.Q + ${tile} - 1) / ${tile};
    const int batch = blockIdx.x / tiles, first = blockIdx.x % tiles * ${tile};
    const int queries = min(args.Q - first, ${tile});
    if (threadIdx.x == 0) {
//@ for _, m in ipairs(plan.map) do
//@     local map = m.name .. (has(plan.tensor[m.tensor], "maps") and "[batch]" or "")
        asm volatile("prefetch.tensormap [%0];" ::"l"(&args.${map}) : "memory");
//@ end
        ${ring.name}_init();
        barrier_init_fence();
    }
    __syncthreads();

    // A lane has a sample of its own, or the last one.
    const int lane = threadIdx.x % 32, sample = min(lane, ${last}), level = sample / ${points};
    float columns = 0.0f, rows = 0.0f;
//@ for l, name in ipairs(ring.tensor) do
//@     local t, number = plan.tensor[name], l - 1
//@     local h, w = t.dim[2], t.dim[3]
    if (level == ${number}) {
        columns = ${w}.0f;
        rows = ${h}.0f;
    }
//@ end
    const ${ctype(of)} *const loc = args.loc + batch * args.loc_stride0 + 2 * sample;
    const ${ctype(by)} *const weights = args.weight + batch * args.weight_stride0 + sample;

    ${ctype(type)} *const out = args.out + batch * args.out_stride0;

//@ role "producer"
        ${ring.name}_position fill = {0, 0};
//@ loop "queries" query < queries
            const place x = place_of(from_${of}(loc[(first + query) * args.loc_stride1]), columns);
            const place y = place_of(from_${of}(loc[(first + query) * args.loc_stride1 + 1]), rows);
//@ loop "points" point < ${points}
//@ for l = 0, levels - 1 do
//@     local from = l > 0 and l * points .. " + point" or "point"
                const int x${l} = __shfl_sync(~0u, x.pixel, ${from});
                const int y${l} = __shfl_sync(~0u, y.pixel, ${from});
//@ end
//@ elect
                    ${ring.name}_wait_empty(fill);
                    ${ring.name}_expect(fill);
//@ for l, name in ipairs(ring.tensor) do
//@     local number = l - 1
                    ${name}_load(args, fill, batch, y${number}, x${number}, 0);
//@ end
                    ${ring.name}_advance(fill);
//@ endelect
//@ endloop
//@ endloop
//@ endrole
//@ role "consumer"
        ${ring.name}_position read = {0, 0};
//@ loop "queries" query < queries
            const place x = place_of(from_${of}(loc[(first + query) * args.loc_stride1]), columns);
            const place y = place_of(from_${of}(loc[(first + query) * args.loc_stride1 + 1]), rows);
            const float weight = from_${by}(weights[(first + query) * args.weight_stride1]);
            float sum[8] = {};
//@ loop "points" point < ${points}
                ${ring.name}_wait_full(read);
//@ for _, name in ipairs(ring.tensor) do
                const u16 *const ${name} = ${name}_tile(read);
//@ end
//@ for i = 0, loads - 1 do
                {
//@     local behind = i > 0 and i * 32 .. " + " or ""
                    const int v = ${behind}lane;
//@     local box, lowest = ring.tensor[levels], levels - 1
//@     for l = levels - 1, 1, -1 do box = "v < " .. l * each .. " ? " .. ring.tensor[l] .. " : " .. box end
                    const u16 *const box = ${box};
                    const int from = min(v / ${each}, ${lowest}) * ${points} + point;
                    const vector value = *(const vector *)(box + v % ${each} * 8);
                    const float u = __shfl_sync(~0u, x.past, from), down = __shfl_sync(~0u, y.past, from);
                    const float by_row = __shfl_sync(~0u, weight, from) * (v / ${groups} / 2 % 2 ? down : 1.0f - down);
                    const float by = by_row * (v / ${groups} % 2 ? u : 1.0f - u);
//@     if rest > 0 and i == loads - 1 then
                    const float counts = v < ${each} * ${levels} ? by : 0.0f;
//@     else
                    const float counts = by;
//@     end
                    #pragma unroll
                    for (int e = 0; e < 8; ++e)
                        sum[e] += counts * from_${type}((u16)(value.word[e / 2] >> e % 2 * 16));
                }
//@ end
                ${ring.name}_release(read);
//@ endloop
            // Lanes of one place among a pixel's vectors have the same channels; each stores one of the 8.
            float mine = 0.0f;
//@ for e = 0, 7 do
//@     for step = log2(groups), 4 do
//@         local other = 1 << step
            sum[${e}] += __shfl_xor_sync(~0u, sum[${e}], ${other});
//@     end
            mine = lane / ${groups} == ${e} ? sum[${e}] : mine;
//@ end
            if (lane < ${channels})
                out[(first + query) * args.out_stride1 + lane % ${groups} * 8 + lane / ${groups}] = to_${type}(mine);
//@ endloop
//@ endrole
}
