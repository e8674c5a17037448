//@ -- D = epilogue(alpha A B + beta C) on Ampere and newer.
//@ --
//@ -- All threads of a block keep a ring of A and B tiles full, by cp.async where rows are aligned, else by plain
//@ -- loads, and multiply the oldest stage by mma.sync, each warp its own part of the tile. One barrier a stage serves
//@ -- both sides: the stage that is read has landed for everybody, the one that was read before it may be filled.
//@ param entry text
//@ param launch.block int
//@ param launch.min_blocks int
//@ param tile table
//@ param extent.k text
//@ param pipeline.warps_m int
//@ local ab, mma = plan.ring.ab, plan.mma.mma
//@ local A, B = plan.tensor.A, plan.tensor.B
//@ local ahead = ab.stages - 1
//@ local copies = A.access == "cp_async" or B.access == "cp_async"
//@ local outputs = {}
//@ for _, t in ipairs(plan.tensor) do if t.out then outputs[#outputs + 1] = t end end
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/cp_async.cuh" tensors = { A, B }, ring = ab, shared = plan.shared, extent = plan.extent,
//@     threads = launch.block

//@ include "blocks/ring_cp_async.cuh" ring = ab, roles = plan.role

//@ include "blocks/mma_sync.cuh" mma = mma, a = A, b = B, a_offset = plan.shared["ab.A"].offset,
//@     b_offset = plan.shared["ab.B"].offset, warps_m = pipeline.warps_m

//@ include "blocks/schedule.cuh" tile = tile, extent = plan.extent, cluster_m = 1, cluster_n = 1,
//@     order = plan.schedule.order, group = plan.schedule.group

//@ include "blocks/epilogue.cuh" model = plan, outputs = outputs, lanes = 2

//@ include "blocks/store_fragments.cuh" outputs = outputs, mma = mma, extent = plan.extent, warps_m = pipeline.warps_m

extern "C" __global__ void __launch_bounds__(${launch.block}, ${launch.min_blocks})
${entry}(const __grid_constant__ arguments args)
{
    const u32 warp = threadIdx.x / 32;
    const int steps = (int)((${extent.k} + ${tile.k} - 1) / ${tile.k});
    tile_schedule tiles = schedule_begin(args);
    float sum[${mma.blocks_m}][${mma.blocks_n}][4];
    u32 fill = 0, read = 0;
    int m, n;
//@ role "block"
//@ loop "tiles" while schedule_next(tiles, m, n)
        mma_clear(sum);
        #pragma unroll 1
//@ loop "prologue" step < ${ahead}
//@ when step < steps
                const int k = step * ${tile.k};
//@ if mma.operand[1].mn_major then
                A_load(args, fill, k, m);
//@ else
                A_load(args, fill, m, k);
//@ end
//@ if mma.operand[2].mn_major then
                B_load(args, fill, k, n);
//@ else
                B_load(args, fill, n, k);
//@ end
                ab_advance(fill);
//@ endwhen
//@ if copies then
            ab_commit();
//@ end
//@ endloop
        #pragma unroll 1
//@ loop "k" step < steps
//@ if copies then
            ab_wait();
//@ end
            ab_meet();
//@ when step + ${ahead} < steps
                const int k = (step + ${ahead}) * ${tile.k};
//@ if mma.operand[1].mn_major then
                A_load(args, fill, k, m);
//@ else
                A_load(args, fill, m, k);
//@ end
//@ if mma.operand[2].mn_major then
                B_load(args, fill, k, n);
//@ else
                B_load(args, fill, n, k);
//@ end
                ab_advance(fill);
//@ endwhen
//@ if copies then
            ab_commit();
//@ end
            mma(sum, read, warp);
            ab_advance(read);
//@ endloop
//@ for _, t in ipairs(outputs) do
        ${t.name}_store_global(args, sum, warp, m, n);
//@ end
//@ endloop
//@ endrole
}
