//@ -- A program with dots by mma.sync, from the steps that were derived and proved: each warp multiplies its own part
//@ -- of the item's tiles, and computes on the results in registers.
//@ --
//@ -- Without bulk copies all threads of a block fill rings of tiles, by cp.async where rows are aligned, else by plain
//@ -- loads. A barrier serves both sides: the stage that is read has landed for everybody, the one that was read before
//@ -- it may be filled. With them one warp more, behind those that multiply, fills the rings.
//@ param entry text
//@ param launch.block int
//@ param launch.min_blocks int
//@ param pipeline.warps_m int
//@ param pipeline.warps_n int
//@ local item, place, ring, bulk = plan.item, plan.place, plan.ring, has(plan.role, "producer")
//@ local block = bulk and plan.role.consumer or plan.role.block
//@ local grouped = block.registers > 0 -- the producer is a warpgroup, and gives registers to the others
//@ local multiplying = 32 * pipeline.warps_m * pipeline.warps_n -- threads
//@ local copied, known, read, dtypes = {}, {}, {}, {}
//@ for _, r in ipairs(ring) do
//@     for _, name in ipairs(r.tensor) do
//@         if not has(known, name) then copied[#copied + 1] = plan.tensor[name] end
//@         known[name] = true
//@     end
//@ end
//@ local adds = false
//@ for _, step in ipairs(block.step) do adds = adds or has(step, "adds") end
//@ for _, t in ipairs(plan.tensor) do if t.out then dtypes[t.dtype] = true end end
//@ for _, p in ipairs(place) do if p.kind == "operand" then dtypes[p.dtype] = true end end
//@ for _, node in ipairs(plan.fused) do
//@     if node.op == "TENSOR" then read[node.tensor], dtypes[plan.tensor[node.tensor].dtype] = true, true end
//@     if node.op == "CAST" or node.op == "SCALAR" then dtypes[node.dtype] = true end
//@ end
//@ -- A coordinate that is never below 0.
//@ local function natural(node)
//@     local n = plan.fused[node + 1]
//@     if n.op == "AT" or n.op == "SYMBOL" then return true end
//@     if n.op == "CONST_INT" then return n.integer >= 0 end
//@     for _, loop in ipairs(plan.loop) do
//@         if n.op == "LOOP" and loop.name == n.loop then return natural(loop.from) end
//@     end
//@     if n.op == "MAX" then return natural(n.arg[1]) or natural(n.arg[2]) end
//@     if n.op == "ADD" or n.op == "MUL" or n.op == "FLOORDIV" or n.op == "MIN" then
//@         return natural(n.arg[1]) and natural(n.arg[2])
//@     end
//@     return false
//@ end
//@ -- It may be of 64 bits, as what is computed from elements is.
//@ local function wide(node)
//@     local n = plan.fused[node + 1]
//@     if n.op == "TENSOR" or n.op == "MAX" or n.op == "MIN" then return true end
//@     for _, a in ipairs(n.arg) do
//@         if wide(a) then return true end
//@     end
//@     return false
//@ end
//@ local function begins(tensor)
//@     local all = {}
//@     for d = 1, tensor.rank do all[d] = true end
//@     for i = 1, #block.step do
//@         local step = block.step[i]
//@         if step.op == "fill" and step.tensor == tensor.name then
//@             for d, node in ipairs(step.at) do all[d] = all[d] and natural(node) end
//@         end
//@     end
//@     return all
//@ end
//@ local function widths(tensor)
//@     local any = {}
//@     for d = 1, tensor.rank do any[d] = false end
//@     for i = 1, #block.step do
//@         local step = block.step[i]
//@         if step.op == "fill" and step.tensor == tensor.name then
//@             for d, node in ipairs(step.at) do any[d] = any[d] or wide(node) end
//@         end
//@     end
//@     return any
//@ end
//@ -- By dim, whether each element that is read lies within the tensor there: at an item's place along an axis, or a
//@ -- turn's, that ends where the tensor does.
//@ local function within(tensor)
//@     local known, extent = {}, plan.extent[tensor.name]
//@     for d = 1, tensor.rank do known[d] = true end
//@     for _, node in ipairs(plan.fused) do
//@         if node.op == "TENSOR" and node.tensor == tensor.name then
//@             for d, index in ipairs(node.index) do
//@                 local n, last, found = plan.fused[index + 1], extent["d" .. d - 1], false
//@                 for _, a in ipairs(n.op == "AT" and item or {}) do
//@                     found = found or a.axis == n.axis and a.tile == 1 and a.extent == last and not has(a, "share")
//@                 end
//@                 for _, loop in ipairs(n.op == "LOOP" and plan.loop or {}) do
//@                     found = found or loop.name == n.loop and loop.to == last and natural(loop.from)
//@                 end
//@                 known[d] = known[d] and found
//@             end
//@         end
//@     end
//@     return known
//@ end
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ if bulk then
//@ include "blocks/tile_rings.cuh" model = plan, meets = false
//@ else
//@     if plan.launch.programmatic then
//@ include "blocks/dependency.cuh"

//@     end
//@ include "blocks/copies.cuh" tensors = copied, rings = ring, roles = plan.role, threads = launch.block
//@ end

//@ for _, t in ipairs(copied) do
//@ include "blocks/tile_chunk.cuh" tensor = t

//@ end
//@ for _, r in ipairs(bulk and {} or ring) do
//@     for _, name in ipairs(r.tensor) do
//@         local t = plan.tensor[name]
//@         if has(t, "window") then
//@ include "blocks/tile_windows_copy.cuh" tensor = t, ring = r, offset = plan.shared[r.name .. "." .. name].offset,
//@     threads = launch.block, extent = plan.extent[name]
//@         elseif has(t, "gathered") then
//@ include "blocks/tile_gather.cuh" tensor = t, offset = plan.shared[r.name .. "." .. name].offset,
//@     extent = plan.extent[name], name = r.name .. "_" .. name .. "_load", position = "u32", number = "p"
//@         else
//@ include "blocks/tile_copy.cuh" tensor = t, ring = r, offset = plan.shared[r.name .. "." .. name].offset,
//@     threads = launch.block, extent = plan.extent[name], begins = begins(t), wide = widths(t),
//@     limited = has(plan, "limited") and has(plan.limited, name)
//@         end

//@     end
//@ end
//@ local loaded = {}
//@ for _, step in ipairs(block.step) do
//@     if step.op == "read" and step.call and not loaded[step.call] then
//@         local held, name = plan.place[step.place], step.tensor
//@         loaded[step.call] = true
//@ include "blocks/operand_load.cuh" name = step.call:sub(1, -9), tensor = plan.tensor[name],
//@     offset = plan.shared[step.ring .. "." .. name].offset, blocks = plan.mma[1].blocks_m,
//@     words = held.registers // plan.mma[1].blocks_m, block_rows = 16, dtype = held.dtype,
//@     half = has(plan, "half") and plan.half[step.place] or -1,
//@     less = has(plan, "less") and plan.less[step.place] or 0

//@     end
//@ end
//@ for _, mma in ipairs(plan.mma) do
//@     -- Where the dot's operand lies: in the ring of the read before the instruction.
//@     local function offset(operand)
//@         local name, from, steps = operand.tensor, nil, block.step
//@         for i = 1, #steps do
//@             local op = steps[i].op
//@             if op == "read" and steps[i].tensor == name then from = steps[i].ring end
//@             if op == "mma" and steps[i].call == mma.name then break end
//@         end
//@         return name and plan.shared[from .. "." .. name].offset or 0
//@     end
//@     local sliced = false
//@     for _, step in ipairs(block.step) do
//@         sliced = sliced or step.op == "mma" and step.call == mma.name and has(step, "at")
//@     end
//@ include "blocks/mma_sync_dot.cuh" mma = mma, tensors = plan.tensor, a_offset = offset(mma.operand[1]),
//@     b_offset = offset(mma.operand[2]), warps_m = pipeline.warps_m, sliced = sliced,
//@     warps = pipeline.warps_m * pipeline.warps_n, by_pairs = plan.by_pairs[mma.name] == 1

//@ end
//@ include "blocks/prefetches.cuh" model = plan, threads = launch.block
//@ local sizes = {}
//@ for _, a in ipairs(item) do sizes[a.axis] = 1 end
//@ include "blocks/items.cuh" model = plan, schedule = plan.schedule, cluster = sizes

//@ if grouped then
//@ include "blocks/registers.cuh" roles = plan.role, threads = launch.block * launch.min_blocks

//@ end
//@ include "blocks/convert.cuh" dtypes = dtypes
//@ include "blocks/operand_bytes.cuh" model = plan, state = false, kept = false

//@ if not has(plan, "items_divide") then
//@ include "blocks/math.cuh" fused = plan.fused
//@ end
//@ if adds then

//@ include "blocks/add.cuh"
//@ end

//@ if has(plan, "parts") then
//@ include "blocks/parts_last.cuh" model = plan, threads = multiplying, first = 0, barrier = plan.barrier.block.id

//@ end
//@ for _, t in ipairs(plan.tensor) do
//@     local reads = has(read, t.name) and fragment_reads(t.name) or {}
//@     if has(reads, "elements") and reads.elements then
//@ include "blocks/element.cuh" tensor = t, extent = plan.extent[t.name], known = within(t),
//@     still = not t.out and not plan.launch.programmatic

//@     end
//@     if has(reads, "lines") and reads.lines then
//@ include "blocks/element_line.cuh" tensor = t, extent = plan.extent[t.name]

//@     end
//@     if has(reads, "pairs") and reads.pairs then
//@ include "blocks/tile_read.cuh" tensor = t, extent = plan.extent[t.name], columns = reads.columns

//@     end
//@ end

//@ include "blocks/listed.cuh" model = plan
//@ if profile() > 0 then
//@ include "blocks/profile.cuh" roles = plan.role, room = profile()

//@ end
//@ local blocks = plan.mma[1].blocks_m
//@ local rows, columns = 16 * blocks, plan.mma[1].blocks_n * 8
extern "C" __global__ void __launch_bounds__(${launch.block}, ${launch.min_blocks})
${entry}(const __grid_constant__ arguments args)
{
//@ if profile() > 0 then
    const u64 profile_began = profile_clock();
//@ end
//@ if bulk then
    const u32 warp = __shfl_sync(~0u, threadIdx.x / 32, 0); // one for the warp, as the compiler now knows
    if (threadIdx.x == 0) {
//@     for _, m in ipairs(plan.map) do
        tma_prefetch(&args.${m.name});
//@     end
//@     for _, r in ipairs(ring) do
        ${r.name}_init();
//@     end
        barrier_init_fence();
    }
    __syncthreads();
//@     if plan.launch.programmatic then
    dependency_wait();
    if (threadIdx.x == 0)
        dependency_trigger();
//@     end
//@     local next_item = ""
//@     for _, a in ipairs(item) do next_item = next_item .. ", at_" .. a.axis end
//@     local filler = multiplying // 32
    if (warp >= ${filler}) {
//@     if grouped then
        producer_registers();
//@     end
        if (warp == ${filler} && elect_one()) {
            item_order items = items_begin(args);
//@     for _, a in ipairs(item) do
            int at_${a.axis};
//@     end
//@     for _, r in ipairs(ring) do
            ${r.name}_position ${r.name}_fill = {0, 0};
//@     end
//@     if profile() > 0 then
            profile_stamps stamps = profile_begin(profile_began, 0, true);
//@     end
            //@ include "blocks/steps.cuh" model = plan, role = plan.role.producer, next_item = next_item, blocks = 1,
                //@     one_of = false
//@     if profile() > 0 then
            profile_end(stamps, 0);
//@     end
        }
        return;
    }
//@     if grouped then
    consumer_registers();
//@     end
    const u32 warp_m = warp % ${pipeline.warps_m};
//@ else
//@     for _, t in ipairs(copied) do
//@         if has(t, "prefetch") then
    ${t.name}_prefetch(args);
//@         end
//@     end
//@     if plan.launch.programmatic then
    dependency_wait();
    if (threadIdx.x == 0)
        dependency_trigger();
//@     end
    const u32 warp = threadIdx.x / 32, warp_m = warp % ${pipeline.warps_m};
//@ end
    [[maybe_unused]] const int first_row = (int)warp_m * ${rows} + threadIdx.x % 32 / 4;
//@ if pipeline.warps_n > 1 then
    [[maybe_unused]] const int first_column = (int)(warp / ${pipeline.warps_m}) * ${columns} + threadIdx.x % 4 * 2;
//@ else
    [[maybe_unused]] const int first_column = threadIdx.x % 4 * 2;
//@ end
    item_order items = items_begin(args);
//@ local starts, next_item = {}, ""
//@ for i, a in ipairs(item) do starts[i], next_item = "at_" .. a.axis, next_item .. ", at_" .. a.axis end
//@ local start_list = csv(starts)
    int ${start_list};
//@ for _, p in ipairs(place) do
//@     local type = p.kind == "operand" and "u32" or ctype(p.dtype)
//@     local each = p.registers // blocks
    ${type} ${p.name}[${blocks}][${each}];
//@ end
    //@ include "blocks/operand_bytes.cuh" model = plan, state = true, kept = false
//@ for _, r in ipairs(ring) do
//@     local last = r.stages - 1
//@     if bulk then
    ${r.name}_position ${r.name}_next = {0, 0};
    u32 ${r.name}_stage = 0;
//@     else
    u32 ${r.name}_fill = 0, ${r.name}_stage = ${last};
//@     end
//@ end
//@ local executor = bulk and 1 or 0
//@ if profile() > 0 then
    profile_stamps stamps = profile_begin(profile_began, ${executor}, threadIdx.x == 0);
//@ end
    //@ include "blocks/steps.cuh" model = plan, role = block, next_item = next_item, blocks = blocks, one_of = false
//@ if profile() > 0 then
    profile_end(stamps, ${executor});
//@ end
}
//@ if has(plan, "list") then

//@ include "blocks/list.cuh" model = plan, entry = entry
//@ end
