//@ param entry text
//@ param launch.block int
//@ local x, ring, case = plan.tensor.x, plan.ring.x, entry
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/mbarrier.cuh" remote = false

//@ include "blocks/tma.cuh" loads = true, multicast = false, stores = false

//@ include "blocks/ring.cuh" ring = ring, roles = plan.role, full_offset = plan.shared["x.full"].offset,
//@     empty_offset = plan.shared["x.empty"].offset, cluster_m = 1, cluster_n = 1

//@ include "blocks/tma_load.cuh" tensor = x, ring = ring, offset = plan.shared["x.x"].offset, over = "m",
//@     cluster_m = 1

//@ include "blocks/tile_pointer.cuh" tensor = x, ring = ring, offset = plan.shared["x.x"].offset

//@ if case == "in_a_macro" then
#define TAKE(p) x_wait_full(p)
//@ elseif case == "in_a_function" then
__device__ void take(x_position &p)
{
    x_wait_full(p);
}
//@ end

extern "C" __global__ void __launch_bounds__(${launch.block}) ${entry}(const __grid_constant__ arguments args)
{
    const i64 row = blockIdx.x;
    const int steps = (args.K + 63) / 64, mine = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        x_init();
        barrier_init_fence();
    }
    __syncthreads();
//@ if case == "by_return" then
    if (row == 7)
        return;
//@ elseif case == "role_in_if" then
    if (threadIdx.x != 999) {
//@ end

//@ role "producer"
//@ elect
            x_position fill = {0, 0};
//@ loop "k" step < steps
//@ if case ~= "no_wait" then
                x_wait_empty(fill);
//@ end
                x_expect(fill);
                x_load(args, fill, (int)row, step * 64);
//@ if case ~= "not_moved" then
                x_advance(fill);
//@ end
//@ endloop
//@ endelect
//@ endrole
//@ role "consumer"
        x_position read = {0, 0};
//@ local bound = case == "other_trips" and 4 or case == "for_whoever" and "mine" or "steps"
//@ loop "k" step < ${bound}
//@ if case == "never" then
            if (0)
                x_wait_full(read);
//@ elseif case == "by_goto" then
            if (step > 3)
                goto out;
//@ elseif case == "by_choice" then
            step < steps ? x_wait_full(read) : __syncwarp();
//@ elseif case == "by_and" then
            const bool full = step < steps && (x_wait_full(read), true);
//@ elseif case == "in_a_lambda" then
            auto take = [&](x_position &p) { x_wait_full(p); };
//@ elseif case == "in_a_while" then
            while (step < steps) {
                x_wait_full(read);
            }
//@ elseif case == "in_a_comment" then
            // The tile has landed. \
            x_wait_full(read);
//@ elseif case == "left_out" then
#if 0
            x_wait_full(read);
#endif
//@ else
            x_wait_full(read);
//@ end
//@ if case == "early_release" then
            x_release(read);
//@ end
            const float *tile = x_tile(read);
            for (int i = threadIdx.x - 32; i < 64; i += 64)
                args.y[row * args.y_stride0 + step * 64 + i] = tile[i];
//@ if case == "one_thread" then
            if (threadIdx.x == 999)
                x_release(read);
//@ elseif case == "first_turn" then
            if (step == 0) {
                x_release(read);
            }
//@ elseif case == "own_arrival" then
            barrier_arrive(x_empty(read.stage));
//@ elseif case ~= "early_release" and case ~= "no_release" then
            x_release(read);
//@ end
//@ endloop
//@ endrole
}
