//@ -- A program whose threads hold tiles in registers: the Plan's one role, step by step.
//@ param entry text
//@ param launch.block int
//@ local steps, moved, folds, adds, paired = plan.role[1].step, {}, {}, false, false
//@ local function not_moved()
//@     return { loads = false, once = false, stores = false, shifts = false, near = false }
//@ end
//@ for _, s in ipairs(steps) do
//@     adds = adds or has(s, "adds")
//@     if s.op == "global" and s.cols > 1 and not has(s, "adds") then
//@         local name = plan.tensor[s.tensor].dtype
//@         moved[name] = moved[name] or not_moved()
//@         local near = has(plan.tensor[s.tensor], "fixed") and "near" or "loads"
//@         local use = has(s, "place") and (has(s, "once") and "once" or near) or "stores"
//@         moved[name][use] = true
//@         moved[name].shifts = moved[name].shifts or has(s, "shift")
//@     end
//@     if has(s, "reduction") and s.call:sub(1, 8) ~= "segment_" then
//@         local of = plan.place[has(s, "place2") and s.place2 or s.place]
//@         folds[s.reduction .. (of.dtype == "int64" and " whole" or " real")] = true
//@     end
//@ end
//@ local dtypes = {}
//@ for _, t in ipairs(plan.tensor) do dtypes[t.dtype] = true end
//@ for _, node in ipairs(plan.fused) do if node.op == "SCALAR" then dtypes[node.dtype] = true end end
//@ for _, p in ipairs(plan.place) do
//@     dtypes[p.dtype] = true
//@     if has(p, "packed") and p.packed then
//@         moved[p.dtype] = moved[p.dtype] or not_moved()
//@     end
//@ end
//@ for _, s in ipairs(steps) do
//@     paired = paired or s.call == "pairs"
//@     if s.call == "window" and has(s, "shift") then moved[plan.place[s.place].dtype].shifts = true end
//@ end
//@ local vector, reals = plan.layout[1].vector, { bf16 = true, fp16 = true, fp32 = true }
${banner}

//@ include "blocks/types.cuh" parameters = plan.param, parameter_bytes = plan.param_bytes,
//@     shared_align = plan.shared_align

//@ include "blocks/convert.cuh" dtypes = dtypes

//@ include "blocks/convert_integer.cuh" dtypes = dtypes

//@ include "blocks/math.cuh" fused = plan.fused

//@ for name, uses in pairs(moved) do
//@     include "blocks/vector.cuh" dtype = name, vector = vector, loads = uses.loads, once = uses.once,
//@         stores = uses.stores, shifts = uses.shifts, near = uses.near

//@ end
//@ if paired then
//@     include "blocks/pairs.cuh"

//@ end
//@ if adds then
//@     include "blocks/add.cuh"

//@ end
//@ for _, name in ipairs { "sum", "max", "min" } do
//@     for _, kind in ipairs { "real", "whole" } do
//@         if folds[name .. " " .. kind] then
//@             include "blocks/fold.cuh" reduction = name, kind = kind

//@         end
//@     end
//@ end
//@ if plan.launch.programmatic then
//@ include "blocks/dependency.cuh"

//@ end
//@ if profile() > 0 then
//@ include "blocks/profile.cuh" roles = plan.role, room = profile()

//@ end
//@ local each = launch.block // plan.role[1].instances
extern "C" __global__ void __launch_bounds__(${launch.block}) ${entry}(const __grid_constant__ arguments args)
{
//@ for n, l in ipairs(plan.layout) do
//@     local number, step, down, alike = n - 1, l.across * l.vector, l.down, has(l, "alike") and l.alike or 1
//@     local lanes = l.across * alike
//@     local rows, vectors = l.rows // l.down, l.cols // step
//@     local many = rows > 1 and rows .. " rows " .. l.apart .. " apart" or "one row"
//@     local wide = vectors > 1 and vectors .. " vectors " .. step .. " columns apart" or "one vector"
    // Tiles of ${l.rows} x ${l.cols}: a thread has ${many}, of each ${wide}.
//@     if l.down > 1 then
//@         local each = l.apart ~= l.down and rows > 1 and " * " .. rows or ""
    const int row${number} = threadIdx.x / ${lanes}${each};
//@     elseif l.rows > 1 then
    const int row${number} = 0;
//@     end
//@     local lane = alike > 1 and "0" or l.down > 1 and "threadIdx.x % " .. l.across or "threadIdx.x"
//@     local scale = l.vector > 1 and alike == 1 and " * " .. l.vector or ""
//@     if l.cols > 1 then
    const int column${number} = ${lane}${scale};
//@     end
//@ end

//@ if plan.launch.programmatic then
    dependency_wait();
    if (threadIdx.x == 0)
        dependency_trigger();

//@ end
//@ local items, persistent = #plan.item, false
//@ for _, s in ipairs(steps) do persistent = persistent or s.op == "loop" and s.call == "items" end
//@ if not persistent then
    //@ include "blocks/item_places.cuh" axes = plan.item, first = "blockIdx.x"
//@ end

//@ for _, p in ipairs(plan.place) do
//@     if p.kind ~= "shared" then
//@         local l = plan.layout[p.layout + 1]
//@         local rows, vectors = p.rows // l.down + p.more, p.cols // (l.across * l.vector)
//@         local type = p.packed and p.dtype .. "_vector" or reals[p.dtype] and "float"
//@             or has(p, "narrow") and "int" or "i64"
//@         local size = (p.turns > 0 and "[" .. p.turns .. "]" or "") .. (rows > 1 and "[" .. rows .. "]" or "")
//@         size = size .. (vectors > 1 and "[" .. vectors .. "]" or "")
//@         size = size .. (not p.packed and p.cols > 1 and l.vector > 1 and "[" .. l.vector .. "]" or "")
    ${type} ${p.name}${size};
//@     end
//@ end

//@ if profile() > 0 then
    profile_stamps stamps = profile_begin(profile_clock(), threadIdx.x / ${each}, threadIdx.x % ${each} == 0);

//@ end
//@ local open = {}
//@ for n, s in ipairs(steps) do
//@     if s.op == "loop" and s.call == "items" then
//@         local nodes = {}
//@         for n, item in ipairs(plan.item) do nodes[n] = item.extent end
//@         local counts, product = place_uniform("items_", table.unpack(nodes)), ""
//@         for n = 1, items do product = product .. (n > 1 and " * " or "") .. "(u32)(" .. counts[n] .. ")" end
//@         local before = counts.at
    ${before}
    const u32 items = ${product};
    #pragma unroll 1
    for (u32 block = blockIdx.x; block < items; block += gridDim.x) {
//@         deeper()
    //@     include "blocks/item_places.cuh" axes = plan.item, first = "block"

//@     elseif s.op == "loop" then
//@         local loop = plan.loop[s.loop + 1]
//@         local range = place_uniform(loop.name .. n .. "_", loop.from, loop.to)
//@         local before, from, to, step, count = range.at, range[1], range[2], loop.step, s.count
    ${before}
//@         if has(s, "kept") then
    #pragma unroll
    for (int turn = 0; turn < ${count}; ++turn) {
//@             local start = from == "0" and "" or from .. " + "
        const i64 ${loop.name} = ${start}turn * ${step};
        if (${loop.name} >= ${to})
            break;
//@         else
//@             local skipped = has(s, "less") and s.less * step or 0
//@             if skipped > 0 then from = from == "0" and skipped or from .. " + " .. skipped end
    #pragma unroll 1
    for (i64 ${loop.name} = ${from}; ${loop.name} < ${to}; ${loop.name} += ${step}) {
//@         end
//@         deeper()
//@         open[#open + 1] = n
//@     elseif s.op == "end" then
//@         shallower()
//@         open[#open] = nil
    }

//@     elseif s.op == "barrier" then
    __syncthreads();

//@     elseif s.call == "window" then
    //@     include "blocks/tile_window.cuh" step = s, place = plan.place[s.place], first = plan.place[s.window],
//@             second = plan.place[has(s, "window2") and s.window2 or s.window], layout = plan.layout[s.layout + 1]

//@     elseif s.call == "pick" then
    //@     include "blocks/tile_pick.cuh" step = s, place = plan.place[s.place], from = plan.place[s.window],
//@             layout = plan.layout[plan.place[s.window].layout + 1]

//@     elseif s.call == "pairs" then
    //@     include "blocks/tile_pairs.cuh" step = s, text = place_pairs(n), place = plan.place[s.place],
//@             layout = plan.layout[s.layout + 1]

//@     elseif s.call == "lanes" then
    //@     include "blocks/tile_lanes.cuh" step = s, place = plan.place[s.place], layout = plan.layout[s.layout + 1]

//@     elseif s.call == "share" or s.call == "gather" then
    //@     include "blocks/tile_share.cuh" step = s, scratch = plan.place[s.place], place = plan.place[s.place2],
//@             layout = plan.layout[s.layout + 1], offset = plan.shared[s.place].offset

//@     elseif s.call:sub(1, 5) == "rank_" then
    //@     include "blocks/tile_rank.cuh" step = s, scratch = plan.place[s.place], place = plan.place[s.place2],
//@             counted = has(s, "window") and s.window or "", layout = plan.layout[s.layout + 1],
//@             offset = plan.shared[s.place].offset

//@     elseif s.call:sub(1, 8) == "segment_" then
    //@     include "blocks/tile_segment.cuh" step = s, scratch = plan.place[s.place], place = plan.place[s.place2],
//@             numbers = has(s, "window") and s.window or "", layout = plan.layout[s.layout + 1],
//@             offset = plan.shared[s.place].offset

//@     elseif s.call == "turn" and s.op == "scratch_read" then
    //@     include "blocks/tile_turned.cuh" step = s, text = place_step(n), scratch = plan.place[s.place],
//@             place = plan.place[s.place2], layout = plan.layout[s.layout + 1], offset = plan.shared[s.place].offset

//@     else
//@         local place = has(s, "place") and plan.place[s.place] or {}
//@         local tensor = s.tensor and plan.tensor[s.tensor] or {}
//@         local shared = s.op == "scratch_write" and plan.shared[s.place].offset or 0
    //@     include "blocks/tile_step.cuh" step = s, text = place_step(n), place = place, tensor = tensor,
//@             layout = plan.layout[s.layout + 1], offset = shared

//@     end
//@     if profile() > 0 and s.op ~= "end" and (s.op ~= "loop" or s.call == "items") then
    profile_mark<${n}>(stamps);

//@     end
//@ end
//@ if profile() > 0 then
    profile_end(stamps, threadIdx.x / ${each});
//@ end
}
