//@ -- y[r, c] = x[r, c] / sqrt(mean over c of x[r, c]^2 + eps) * w[c]. A block takes one row and reads it twice, tile
//@ -- by tile through the ring: once for the mean, once for the result.
//@ param entry text
//@ param launch.block int
//@ local x, ring = plan.tensor.x, plan.ring.x
//@ local width, warps = plan.tile.x["1"], plan.role.consumer.warps
//@ local consumers = warps * 32
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/convert.cuh" dtypes = { [x.dtype] = true }

//@ include "blocks/mbarrier.cuh" remote = false

//@ include "blocks/tma.cuh" loads = true, multicast = false, stores = false

//@ include "blocks/ring.cuh" ring = ring, roles = plan.role, full_offset = plan.shared["x.full"].offset,
//@     empty_offset = plan.shared["x.empty"].offset, cluster_m = 1, cluster_n = 1

//@ include "blocks/tma_load.cuh" tensor = x, ring = ring, offset = plan.shared["x.x"].offset, over = "m",
//@     cluster_m = 1

//@ include "blocks/tile_pointer.cuh" tensor = x, ring = ring, offset = plan.shared["x.x"].offset

//@ include "blocks/reduce.cuh" name = "row_sum", barrier = 1, warps = warps

//@ local own = plan.shared.own.offset
extern "C" __global__ void __launch_bounds__(${launch.block}) ${entry}(const __grid_constant__ arguments args)
{
    const i64 row = blockIdx.x;
    const int tiles = (args.C + ${width} - 1) / ${width};
    if (threadIdx.x == 0) {
        x_init();
        barrier_init_fence();
    }
    __syncthreads();

//@ role "producer"
//@ elect
            x_position fill = {0, 0};
//@ for _, pass in ipairs { "sum", "scale" } do
//@ loop "${pass}" tile < tiles
                x_wait_empty(fill);
                x_expect(fill);
                x_load(args, fill, (int)row, tile * ${width});
                x_advance(fill);
//@ endloop
//@ end
//@ endelect
//@ endrole
//@ role "consumer"
        const int thread = (int)threadIdx.x - 32;
        x_position read = {0, 0};
        float squares = 0.0f;
//@ loop "sum" tile < tiles
            x_wait_full(read);
            const u16 *x = x_tile(read);
            for (int i = thread; i < ${width}; i += ${consumers}) {
                const float value = from_${x.dtype}(x[i]);
                squares += value * value; // columns past the last are zero
            }
            x_release(read);
//@ endloop
        const float sum = row_sum(squares, (float *)(shared_memory + ${own}), thread / 32);
        const float scale = rsqrtf(sum / args.C + args.eps);
//@ loop "scale" tile < tiles
            x_wait_full(read);
            const u16 *x = x_tile(read);
            for (int i = thread; i < ${width}; i += ${consumers}) {
                const int c = tile * ${width} + i;
                const float value = from_${x.dtype}(x[i]) * scale;
                if (c < args.C)
                    args.y[row * args.y_stride0 + c] = to_${x.dtype}(value * from_${x.dtype}(args.w[c]));
            }
            x_release(read);
//@ endloop
//@ endrole
}
