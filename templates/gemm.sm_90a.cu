//@ -- D = epilogue(alpha A B + beta C) on Hopper.
//@ --
//@ -- One warpgroup, the producer, keeps a ring of A and B tiles full by bulk tensor copies. The consumers multiply them with
//@ -- wgmma, each its own rows of the tile, and hand the result over through shared memory to bulk stores that run on
//@ -- under the next tile. A block takes tile after tile.
//@ param entry text
//@ param launch.block int
//@ param tile table
//@ param extent.k text
//@ param store text
//@ local ab = plan.ring.ab
//@ local cluster_m, cluster_n = plan.cluster.m, plan.cluster.n
//@ local clustered = cluster_m * cluster_n > 1
//@ local mma, consumer = plan.mma.mma, plan.role.consumer
//@ local outputs = {}
//@ for _, t in ipairs(plan.tensor) do if t.out then outputs[#outputs + 1] = t end end
//@ local A, B = plan.tensor.A, plan.tensor.B
//@ local fused = plan.epilogue.set or plan.tensor.C ~= nil
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/mbarrier.cuh" remote = clustered

//@ if clustered then
//@ include "blocks/cluster.cuh"

//@ end
//@ if plan.launch.programmatic then
//@ include "blocks/dependency.cuh"

//@ end
//@ include "blocks/tma.cuh" loads = A.multicast == 1 or B.multicast == 1,
//@     multicast = A.multicast > 1 or B.multicast > 1, stores = store == "tma"

//@ include "blocks/ring.cuh" ring = ab, roles = plan.role, full_offset = plan.shared["ab.full"].offset,
//@     empty_offset = plan.shared["ab.empty"].offset, cluster_m = cluster_m, cluster_n = cluster_n

//@ include "blocks/tma_load.cuh" tensor = A, ring = ab, offset = plan.shared["ab.A"].offset,
//@     over = "n", cluster_m = cluster_m

//@ include "blocks/tma_load.cuh" tensor = B, ring = ab, offset = plan.shared["ab.B"].offset,
//@     over = "m", cluster_m = cluster_m

//@ include "blocks/wgmma.cuh" mma = mma, a = A, b = B, a_offset = plan.shared["ab.A"].offset,
//@     b_offset = plan.shared["ab.B"].offset, roles = plan.role

//@ include "blocks/schedule.cuh" tile = tile, extent = plan.extent, cluster_m = cluster_m, cluster_n = cluster_n,
//@     order = plan.schedule.order, group = plan.schedule.group

//@ include "blocks/registers.cuh" roles = plan.role, threads = launch.block

//@ local lanes = store == "tma" and 2 or 1
//@ include "blocks/epilogue.cuh" model = plan, outputs = outputs, lanes = lanes

//@ if store == "tma" then
//@ include "blocks/store_staged.cuh" ring = plan.ring.d, outputs = outputs, roles = plan.role, barriers = plan.barrier,
//@     offset = plan.shared.d.offset, ring_bytes = plan.shared.d.bytes, mma = mma
//@ else
//@ include "blocks/store_global.cuh" outputs = outputs, mma = mma, extent = plan.extent,
//@     offset = plan.shared.rows.offset, columns = plan.store_columns
//@ end

extern "C" __global__ void __launch_bounds__(${launch.block}, 1) ${entry}(const __grid_constant__ arguments args)
{
    const u32 warpgroup = threadIdx.x / 128;
    const int steps = (int)((${extent.k} + ${tile.k} - 1) / ${tile.k});
    if (threadIdx.x == 0) {
//@ for _, m in ipairs(plan.map) do
        tma_prefetch(&args.${m.name});
//@ end
        ab_init();
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

    tile_schedule tiles = schedule_begin(args);
    int m, n;
//@ role "producer"
        producer_registers();
//@ elect
            ab_position fill = {0, 0};
//@ loop "tiles" while schedule_next(tiles, m, n)
                #pragma unroll 1
//@ loop "k" step < steps
                    ab_wait_empty(fill);
                    ab_expect(fill);
//@ if mma.operand[1].mn_major then
                    A_load(args, fill, step * ${tile.k}, m);
//@ else
                    A_load(args, fill, m, step * ${tile.k});
//@ end
//@ if mma.operand[2].mn_major then
                    B_load(args, fill, step * ${tile.k}, n);
//@ else
                    B_load(args, fill, n, step * ${tile.k});
//@ end
                    ab_advance(fill);
//@ endloop
//@ endloop
//@ if plan.launch.programmatic then
            dependency_trigger();
//@ end
//@ if clustered then
            ab_drain(fill);
//@ end
//@ endelect
//@ endrole
//@ role "consumer"
        consumer_registers();
        const u32 consumer = warpgroup - 1;
//@ local rows, registers = mma.blocks_m * mma.m, mma.n // 2
//@ local blocks = mma.blocks_m
        float sum[${blocks}][${registers}];
        mma_clear(sum); // stays so where K is 0
        ab_position read = {0, 0}, release = {0, 0};
//@ if store == "tma" then
        u32 buffer = 0;
//@ end
//@ loop "tiles" while schedule_next(tiles, m, n)
            #pragma unroll 1
//@ loop "k" step < steps
                ab_wait_full(read);
                mma(sum, read.stage, consumer, step > 0);
                mma_commit();
                ab_advance(read);
                mma_wait_1();
//@ when step > 0
                    ab_release(release);
//@ endwhen
//@ endloop
            mma_wait_0();
//@ when steps > 0
                ab_release(release);
//@ endwhen
            m += (int)consumer * ${rows};
//@ for _, t in ipairs(outputs) do
//@     if store == "tma" then
//@         local width = t.axis[1] == "n" and t.tile[1] or t.tile[2]
//@         local across = mma.n // width
//@         local chunks = across * blocks
//@         -- A fused function stands in the code once: all of its copies would take the compiler seconds.
//@         local unroll = fused and 1 or chunks
            #pragma unroll ${unroll}
//@         loop "${t.name}" chunk < ${chunks}
                const int at_m = m + chunk / ${across} * ${mma.m}, at_n = n + chunk % ${across} * ${width};
                float part[${width} / 2];
                ${t.name}_part(sum, chunk, part);
                d_wait();
                d_barrier(consumer);
                ${t.name}_write(args, part, consumer, buffer, at_m, at_n);
                d_fence();
                d_barrier(consumer);
                ${t.name}_store(args, consumer, buffer, at_m, at_n);
//@         endloop
//@     else
            ${t.name}_store_global(args, sum, m, n);
//@     end
//@ end
//@ endloop
//@ if store == "tma" then
        d_wait_0();
//@ end
//@ endrole
}
