//@ -- A program with dots on Hopper, from the steps that were derived and proved.
//@ --
//@ -- One warpgroup, the producer, or one warp behind the others, fills rings of tiles by bulk tensor copies. The
//@ -- consumers multiply them with wgmma, each its own rows of the item's tiles, and compute on the results in
//@ -- registers. A block takes item after item.
//@ param entry text
//@ param launch.block int
//@ local item, place, ring, resident = plan.item, plan.place, plan.ring, plan.launch.min_blocks
//@ local read, dtypes, clustered = {}, {}, plan.launch.cluster[1] > 1
//@ -- Rows by number, by all threads; boxes for several blocks.
//@ local gathers, by_row, shared = false, false, false
//@ for _, r in ipairs(ring) do
//@     for _, name in ipairs(r.tensor) do
//@         local t = plan.tensor[name]
//@         if r.filler == "bulk" and t.multicast > 1 then shared = true end
//@         if has(t, "gathered") and not has(t, "run") then gathers, by_row = true, by_row or r.filler == "bulk" end
//@     end
//@ end
//@ for _, t in ipairs(plan.tensor) do if t.out then dtypes[t.dtype] = true end end
//@ for _, p in ipairs(place) do if p.kind == "operand" then dtypes[p.dtype] = true end end
//@ for _, s in ipairs(plan.role.consumer.step) do
//@     local rows = s.op == "read" and has(s, "place") and place[s.place].kind == "rows"
//@     if rows then dtypes[plan.tensor[s.tensor].dtype] = true end
//@ end
//@ for _, node in ipairs(plan.fused) do
//@     if node.op == "TENSOR" then read[node.tensor], dtypes[plan.tensor[node.tensor].dtype] = true, true end
//@     if node.op == "CAST" or node.op == "SCALAR" then dtypes[node.dtype] = true end
//@ end
//@ -- A warp that alone fills rings of this block sets their barriers up itself and waits for nobody. Else another warp
//@ -- sets barriers up while it finds its first item: those of other blocks that it copies into must stand first.
//@ local alone = not (shared or gathers or has(plan, "item_ring"))
//@ -- Threads of the two, and whether a thread is of the warp that fills.
//@ local first, others = 32 * plan.role.producer.first_warp, 32 * plan.role.consumer.first_warp
//@ local fills, waits, fetcher = "threadIdx.x < 32", "threadIdx.x >= 32", 32
//@ local fills_of, number_of = "threadIdx.x < 32 && ", "warpgroup - 1"
//@ if first > 0 then
//@     fills, waits, fetcher = "threadIdx.x >= " .. first, "threadIdx.x < " .. first, 0
//@     fills_of, number_of = "", "warpgroup"
//@ end
//@ local producer, tensor = first // 128, has(plan, "memory")
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/tile_rings.cuh" model = plan, meets = not alone
//@ if alone then

//@ include "blocks/start.cuh" clustered = clustered, threads = launch.block
//@ end

//@ include "blocks/dots.cuh" model = plan

//@ include "blocks/items.cuh" model = plan, schedule = plan.schedule, cluster = plan.cluster
//@ if has(plan, "item_ring") then

//@ include "blocks/items_counter.cuh" model = plan
//@ end

//@ if fragment_foretold() then
//@ include "blocks/unforetold.cuh"
//@ end

//@ include "blocks/registers.cuh" roles = plan.role, threads = launch.block * resident

//@ include "blocks/convert.cuh" dtypes = dtypes
//@ include "blocks/operand_bytes.cuh" model = plan, state = false, kept = true

//@ if not has(plan, "items_divide") then
//@ include "blocks/math.cuh" fused = plan.fused
//@ end
//@ include "blocks/elements.cuh" model = plan, read = read
//@ if has(plan, "parts") and has(plan.parts, "record") then
//@ include "blocks/parts_last.cuh" model = plan, threads = 32 * plan.role.consumer.warps, first = others,
//@     barrier = plan.barrier.parts_barrier.id

//@ end
//@ include "blocks/stores.cuh" model = plan
//@ include "blocks/prefetches.cuh" model = plan, threads = launch.block

//@ if profile() > 0 then

//@ include "blocks/profile.cuh" roles = plan.role, room = profile()
//@ end

extern "C" __global__ void __launch_bounds__(${launch.block}, ${resident}) ${entry}(const __grid_constant__ arguments args)
{
//@ if profile() > 0 then
    const u64 profile_began = profile_clock();
//@ end
//@ if tensor then
    products_allocate();
//@ end
//@ for _, t in ipairs(plan.tensor) do
//@     if has(t, "prefetch") then
    ${t.name}_prefetch(args);
//@     end
//@ end
    const u32 warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // one for the warp, as the compiler now knows
    //@ include "blocks/barriers_begin.cuh" model = plan, alone = alone, fetcher = fetcher, fills = fills
//@ if alone and clustered then
    cluster_arrive();
//@ elseif alone then
    if (${fills})
        block_arrive();
//@ end
//@ local starts, next_item = {}, ""
//@ for i, a in ipairs(item) do starts[i], next_item = "at_" .. a.axis, next_item .. ", at_" .. a.axis end
//@ local start_list = csv(starts)
//@ -- What other kernels of the stream wrote, as items' number may be, is read once they have ended.
//@ local early = not has(plan, "item_ring") and not (plan.launch.programmatic and next(read) ~= nil)
//@ if early then
    //@ include "blocks/items_first.cuh" item = item, next_item = next_item, early = early
//@ end
//@ if alone then
//@     local all = clustered and "cluster" or "block"
    if (${waits})
        ${all}_wait();
//@ elseif clustered then
    cluster_meet();
//@ else
    __syncthreads();
//@ end
//@ if plan.launch.programmatic then
    dependency_wait();
//@ end

//@ if has(plan, "item_ring") then
    int ${start_list};
//@ elseif not early then
    //@ include "blocks/items_first.cuh" item = item, next_item = next_item, early = early
//@ end
    if (warpgroup == ${producer}) {
//@ if plan.role.producer.registers > 0 then
        producer_registers();
//@ end
//@ if gathers and not by_row then
        {
//@ elseif gathers then
        {
            const u32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0); // known to be the same in all lanes
//@ else
        if (${fills_of}elect_one()) {
//@ end
//@ if has(plan, "item_ring") then
            item_order items = items_begin(args);
            ${plan.item_ring}_position ${plan.item_ring}_fill = {0, 0};
//@ end
//@ for _, r in ipairs(ring) do
//@     if r.filler ~= "threads" and r.filler ~= "own" and #r.tensor > 0 then
            ${r.name}_position ${r.name}_fill = {0, 0};
//@     end
//@ end
//@ if profile() > 0 then
//@     local one = gathers and "threadIdx.x == 0" or "true"
            profile_stamps stamps = profile_begin(profile_began, 0, ${one});
//@ end
            //@ include "blocks/steps.cuh" model = plan, role = plan.role.producer, next_item = next_item, blocks = 1,
                //@     one_of = gathers
//@ if profile() > 0 then
            profile_end(stamps, 0);
//@ end
//@ if plan.launch.programmatic and gathers then
            if (threadIdx.x == 0)
                dependency_trigger();
//@ elseif plan.launch.programmatic then
            dependency_trigger();
//@ end
        }
//@ if tensor then
        products_free();
//@ end
    } else {
//@ if plan.role.producer.registers > 0 then
        consumer_registers();
//@ end
        const u32 consumer = ${number_of};
//@ local blocks = plan.mma[1].blocks_m * (tensor and plan.memory.wide == 1 and 2 or 1)
        //@ include "blocks/consumer_state.cuh" model = plan, blocks = blocks
//@ if profile() > 0 then
        profile_stamps stamps = profile_begin(profile_began, 1 + consumer, threadIdx.x % 128 == 0);
//@ end
        //@ include "blocks/steps.cuh" model = plan, role = plan.role.consumer, next_item = next_item, blocks = blocks,
        //@     one_of = false
//@ if profile() > 0 then
        profile_end(stamps, 1 + consumer);
//@ end
//@ if tensor then
        products_end();
//@ end
    }
}
//@ if has(plan, "list") then

//@ include "blocks/list.cuh" model = plan, entry = entry
//@ end
