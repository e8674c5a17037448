//@ -- A program with dots on Hopper, from the steps that were derived and proved.
//@ --
//@ -- One warpgroup, the producer, fills rings of tiles by bulk tensor copies. The consumers multiply them with wgmma, each
//@ -- its own rows of the item's tiles, and compute on the results in registers. A block takes item after item.
//@ param entry text
//@ param launch.block int
//@ local item, place, ring = plan.item, plan.place, plan.ring
//@ local outputs, loads, stores, read, dtypes = {}, {}, {}, {}, {}
//@ local rings_of, shares, shared_ring, staged = {}, {}, {}, nil
//@ local clustered, sizes, remote, own = plan.launch.cluster[1] > 1, {}, false, false
//@ local copied, gathers, by_row = false, false, false -- rows by number come by all threads of the producer
//@ local limited = has(plan, "limited") and plan.limited or {}
//@ for i, a in ipairs(plan.item) do sizes[i] = plan.cluster[a.axis] end
//@ for _, r in ipairs(ring) do
//@     if r.filler == "threads" then staged = r end
//@     for _, name in ipairs(r.tensor) do
//@         local t = plan.tensor[name]
//@         if has(t, "gathered") then gathers = true end
//@         if r.filler == "arrive" then
//@             copied = true
//@         elseif r.filler == "bulk" then
//@             by_row = by_row or has(t, "gathered")
//@             rings_of[name] = (has(rings_of, name) and rings_of[name] or 0) + 1
//@             if t.multicast > 1 then shares[t.rank], shared_ring[r.name] = true, true else loads[t.rank] = true end
//@         else
//@             outputs[#outputs + 1], stores[t.rank] = t, true
//@         end
//@     end
//@ end
//@ for _, t in ipairs(plan.tensor) do if t.out then dtypes[t.dtype] = true end end
//@ for _, p in ipairs(place) do if p.kind == "operand" then dtypes[p.dtype] = true end end
//@ for _, node in ipairs(plan.fused) do
//@     if node.op == "TENSOR" then read[node.tensor], dtypes[plan.tensor[node.tensor].dtype] = true, true end
//@     if node.op == "CAST" then dtypes[node.dtype] = true end
//@ end
//@ -- Blocks along the two axes of the cluster that share tiles of a ring.
//@ local function spans(r)
//@     local along = {}
//@     for _, n in ipairs(sizes) do if n > 1 then along[#along + 1] = n end end
//@     if not has(shared_ring, r.name) then return { 1, 1 } end
//@     return { along[1], along[2] or 1 }
//@ end
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ for _, r in ipairs(ring) do
//@     if r.filler ~= "threads" and #r.tensor > 0 then
//@         if has(shared_ring, r.name) then remote = true else own = true end
//@     end
//@ end
//@ include "blocks/mbarrier.cuh" remote = remote

//@ if remote and own then
//@ include "blocks/mbarrier_own.cuh"

//@ end
//@ if clustered then
//@ include "blocks/cluster.cuh"

//@ end

//@ if plan.launch.programmatic then
//@ include "blocks/dependency.cuh"

//@ end
//@ include "blocks/tma_ranks.cuh" loads = loads, shares = shares, stores = stores

//@ if by_row then
//@ include "blocks/elect.cuh"

//@ end
//@ if copied then
//@ include "blocks/copy_async.cuh"

//@ end
//@ for _, r in ipairs(ring) do
//@     if r.filler ~= "threads" and #r.tensor > 0 then
//@ include "blocks/ring.cuh" ring = r, roles = plan.role, full_offset = plan.shared[r.full_shared].offset,
//@     empty_offset = plan.shared[r.empty_shared].offset, cluster_m = spans(r)[1], cluster_n = spans(r)[2]

//@         for _, name in ipairs(r.tensor) do
//@             if r.filler == "arrive" then
//@ include "blocks/tile_gather.cuh" tensor = plan.tensor[name], ring = r,
//@     offset = plan.shared[r.name .. "." .. name].offset, extent = plan.extent[name], name = name .. "_copy"

//@             else
//@ include "blocks/tile_load.cuh" tensor = plan.tensor[name], ring = r,
//@     offset = plan.shared[r.name .. "." .. name].offset, stride = plan.share[name],
//@     name = (rings_of[name] > 1 and r.name .. "_" or "") .. name .. "_load", limited = has(limited, name)

//@             end
//@         end
//@     end
//@ end
//@ if has(plan, "item_ring") then
//@     local r = plan.ring[plan.item_ring]
//@ include "blocks/ring.cuh" ring = r, roles = plan.role, full_offset = plan.shared[r.full_shared].offset,
//@     empty_offset = plan.shared[r.empty_shared].offset, cluster_m = 1, cluster_n = 1

//@ end
//@ for _, step in ipairs(plan.role.consumer.step) do
//@     if step.op == "read" and has(step, "place") and step.call then
//@         local held, name = plan.place[step.place], step.tensor
//@ include "blocks/operand_load.cuh" tensor = plan.tensor[name], offset = plan.shared[step.ring .. "." .. name].offset,
//@     blocks = plan.mma[1].blocks_m, words = held.registers // plan.mma[1].blocks_m, block_rows = 64

//@     end
//@ end
//@ include "blocks/wgmma_descriptor.cuh"

//@ include "blocks/wgmma_order.cuh" roles = plan.role

//@ if plan.barrier.turn then
//@ include "blocks/turns.cuh" barrier = plan.barrier.turn, consumers = plan.role.consumer.instances

//@ end
//@ for _, mma in ipairs(plan.mma) do
//@     -- Where the dot's operand lies: in the ring of the read before the instruction.
//@     local function offset(operand)
//@         local name, ring = operand.tensor, nil
//@         for _, step in ipairs(plan.role.consumer.step) do
//@             if step.op == "read" and step.tensor == name then ring = step.ring end
//@             if step.op == "mma" and step.call == mma.name then break end
//@         end
//@         return name and plan.shared[ring .. "." .. name].offset or 0
//@     end
//@     local fresh = true
//@     for _, step in ipairs(plan.role.consumer.step) do
//@         if step.op == "mma" and step.call == mma.name then fresh = fresh and has(step, "least") and step.least == 2 end
//@     end
//@ include "blocks/wgmma_dot.cuh" mma = mma, tensors = plan.tensor, a_offset = offset(mma.operand[1]),
//@     b_offset = offset(mma.operand[2]), fresh = fresh

//@ end
//@ include "blocks/items.cuh" model = plan, schedule = plan.schedule, cluster = plan.cluster
//@ if has(plan, "item_ring") then

//@ include "blocks/items_counter.cuh" model = plan
//@ end

//@ include "blocks/registers.cuh" roles = plan.role, threads = launch.block

//@ include "blocks/convert.cuh" dtypes = dtypes

//@ include "blocks/math.cuh" fused = plan.fused

//@ for _, t in ipairs(plan.tensor) do
//@     local reads = has(read, t.name) and fragment_reads(t.name) or {}
//@     if has(reads, "elements") and reads.elements then
//@ include "blocks/element.cuh" tensor = t, extent = plan.extent[t.name]

//@     end
//@     if has(reads, "pairs") and reads.pairs then
//@ include "blocks/tile_read.cuh" tensor = t, extent = plan.extent[t.name], columns = reads.columns

//@     end
//@ end
//@ if staged then
//@ include "blocks/store_tile.cuh" ring = staged, outputs = outputs, roles = plan.role,
//@     barrier = plan.barrier.d_barrier, offset = plan.shared[staged.name].offset,
//@     ring_bytes = plan.shared[staged.name].bytes, turned = plan.turned, limited = limited
//@ end

extern "C" __global__ void __launch_bounds__(${launch.block}, 1) ${entry}(const __grid_constant__ arguments args)
{
    const u32 warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // one for the warp, as the compiler now knows
    if (threadIdx.x == 0) {
//@ for _, m in ipairs(plan.map) do
        tma_prefetch(&args.${m.name});
//@ end
//@ for _, r in ipairs(ring) do
//@     if r.filler ~= "threads" and #r.tensor > 0 then
        ${r.name}_init();
//@     end
//@ end
//@ if has(plan, "item_ring") then
        ${plan.item_ring}_init();
//@ end
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

//@ if not has(plan, "item_ring") then
    item_order items = items_begin(args);
//@ end
//@ local starts, next_item = {}, ""
//@ for i, a in ipairs(item) do starts[i], next_item = "at_" .. a.axis, next_item .. ", at_" .. a.axis end
//@ local start_list = csv(starts)
    int ${start_list};
    if (warpgroup == 0) {
        producer_registers();
//@ if gathers and not by_row then
        {
//@ elseif gathers then
        {
            const u32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0); // known to be the same in all lanes
//@ else
        if (threadIdx.x == 0) {
//@ end
//@ if has(plan, "item_ring") then
            item_order items = items_begin(args);
            ${plan.item_ring}_position ${plan.item_ring}_fill = {0, 0};
//@ end
//@ for _, r in ipairs(ring) do
//@     if r.filler ~= "threads" and #r.tensor > 0 then
            ${r.name}_position ${r.name}_fill = {0, 0};
//@     end
//@ end
            //@ include "blocks/steps.cuh" model = plan, role = plan.role.producer, next_item = next_item, blocks = 1,
                //@     one_of = gathers
//@ if plan.launch.programmatic and gathers then
            if (threadIdx.x == 0)
                dependency_trigger();
//@ elseif plan.launch.programmatic then
            dependency_trigger();
//@ end
        }
    } else {
        consumer_registers();
        const u32 consumer = warpgroup - 1;
//@ if has(plan, "item_ring") then
        ${plan.item_ring}_position ${plan.item_ring}_next = {0, 0}, ${plan.item_ring}_oldest = {0, 0};
        u32 ${plan.item_ring}_stage = 0;
//@ end
//@ local blocks = plan.mma[1].blocks_m
//@ local rows = 64 * blocks
        [[maybe_unused]] const int first_row = (int)consumer * ${rows} + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
        [[maybe_unused]] const int first_column = threadIdx.x % 4 * 2;
//@ for _, p in ipairs(place) do
//@     local type = p.kind == "operand" and "u32" or "float"
//@     local each = p.registers // blocks
        ${type} ${p.name}[${blocks}][${each}];
//@ end
//@ for _, r in ipairs(ring) do
//@     if r.filler ~= "threads" and #r.tensor > 0 then
        ${r.name}_position ${r.name}_next = {0, 0}, ${r.name}_oldest = {0, 0};
        u32 ${r.name}_stage = 0;
//@     end
//@ end
//@ if staged then
        u32 buffer = 0;
//@ end
        //@ include "blocks/steps.cuh" model = plan, role = plan.role.consumer, next_item = next_item, blocks = blocks,
        //@     one_of = false
    }
}
