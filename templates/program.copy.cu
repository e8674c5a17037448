//@ -- A program that stores tiles as it loads them: bulk copies bring them into a ring's stages, and take them out.
//@ -- One lane of the first warp, the producer, fills; one of the second, the consumer, stores. A resident block takes
//@ -- item after item.
//@ param entry text
//@ param launch.block int
//@ local ring, clustered, sends = plan.ring[1], plan.launch.cluster[1] > 1, {}
//@ local full = ring.name .. "."
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/tile_rings.cuh" model = plan, meets = true
//@ include "blocks/sends.cuh"
//@ include "blocks/math.cuh" fused = plan.fused

//@ for _, s in ipairs(plan.role.consumer.step) do
//@     if s.op == "read" then
//@ include "blocks/tile_send.cuh" tensor = plan.tensor[s.to], from = plan.tensor[s.tensor], ring = ring,
//@     offset = plan.shared[ring.name .. "." .. s.tensor].offset, adds = has(s, "adds")

//@     end
//@ end
//@ if profile() > 0 then
//@ include "blocks/profile.cuh" roles = plan.role, room = profile()

//@ end
extern "C" __global__ void __launch_bounds__(${launch.block}) ${entry}(const __grid_constant__ arguments args)
{
//@ if profile() > 0 then
    const u64 profile_began = profile_clock();
//@ end
    if (threadIdx.x == 0) {
//@ for _, m in ipairs(plan.map) do
//@     if not has(plan.tensor[m.tensor], "maps") then -- of many a block takes few
        tma_prefetch(&args.${m.name});
//@     end
//@ end
        ${ring.name}_init();
        barrier_init_fence();
    }
//@ if clustered then
    cluster_meet();
//@ else
    __syncthreads();
//@ end
//@ if plan.launch.programmatic then
    dependency_wait();
//@ end
//@ local nodes, product = {}, ""
//@ for n, item in ipairs(plan.item) do nodes[n] = item.extent end
//@ local counts = place_uniform("items_", table.unpack(nodes))
//@ for n = 1, #plan.item do product = product .. (n > 1 and " * " or "") .. "(u32)(" .. counts[n] .. ")" end
//@ local before = counts.at
    ${before}
    const u32 items = ${product};
    if (threadIdx.x < 32) {
        if (elect_one()) {
            //@ include "blocks/copy_steps.cuh" model = plan, role = plan.role.producer, number = 0
        }
    } else {
        //@ include "blocks/copy_steps.cuh" model = plan, role = plan.role.consumer, number = 1
    }
}
