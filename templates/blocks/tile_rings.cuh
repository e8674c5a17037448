//@ -- What tiles come into shared memory by, on Hopper: barriers, bulk tensor copies, and each ring with the copies
//@ -- that fill it. model: the Plan. meets: all threads of a cluster meet once, before any of them goes on.
//@ param model table
//@ param meets bool
//@ local plan, rings_of, loads, shares, stores, shared_ring = model, {}, {}, {}, {}, {}
//@ local clustered, sizes, remote, own = plan.launch.cluster[1] > 1, {}, false, false
//@ local policies, hinted, windows, known = {}, {}, {}, {}
//@ local copied, limited = false, has(plan, "limited") and plan.limited or {}
//@ local parts = nil -- the ring of a loop whose turns blocks share: they stand behind those that share tiles
//@ for i, a in ipairs(plan.item) do sizes[i] = plan.cluster[a.axis] end
//@ for _, r in ipairs(plan.ring) do
//@     if r.filler == "peers" then parts = r end
//@ end
//@ if parts then sizes[#sizes] = 1 end
//@ for _, r in ipairs(plan.ring) do
//@     for _, name in ipairs(r.tensor) do
//@         local t = plan.tensor[name]
//@         local copy = (has(t, "cache") and "hinted_" or "") .. map_rank(t)
//@         if has(t, "cache") and not has(hinted, t.cache) then
//@             policies[#policies + 1], hinted[t.cache] = t.cache, true
//@         end
//@         if r.filler == "arrive" then
//@             copied = true
//@         elseif r.filler == "bulk" and t.access == "tma" then
//@             rings_of[name] = (has(rings_of, name) and rings_of[name] or 0) + 1
//@             local windowed, kind = has(t, "window"), copy .. (t.multicast > 1 and "shared" or "")
//@             if windowed and not has(known, kind) then
//@                 known[kind] = true
//@                 windows[#windows + 1] = { rank = t.rank, shared = t.multicast > 1, hinted = has(t, "cache") }
//@             end
//@             if t.multicast > 1 then shared_ring[r.name] = true end
//@             if t.multicast > 1 and not windowed then shares[copy] = true end
//@             if t.multicast == 1 and not windowed then loads[copy] = true end
//@         elseif r.filler == "own" then
//@             loads[copy] = true
//@         elseif r.filler ~= "bulk" then
//@             stores[copy] = true
//@         end
//@     end
//@ end
//@ -- Tensors that bulk stores take from the stages themselves.
//@ local sent = has(plan, "sent") and plan.sent or {}
//@ for name, way in pairs(sent) do
//@     local t = plan.tensor[name]
//@     stores[(way == 2 and "add_" or "") .. (has(t, "cache") and "hinted_" or "") .. map_rank(t)] = true
//@     if has(t, "cache") and not has(hinted, t.cache) then
//@         policies[#policies + 1], hinted[t.cache] = t.cache, true
//@     end
//@ end
//@ -- Axes of the cluster that tiles of a ring are shared along: how far apart and how many those blocks are.
//@ local function shares_of(r)
//@     local list, known = {}, {}
//@     for _, name in ipairs(r.tensor) do
//@         local size = plan.tensor[name].multicast
//@         if size > 1 and not has(known, plan.share[name]) then
//@             list[#list + 1] = { stride = plan.share[name], size = size }
//@             known[plan.share[name]] = true
//@         end
//@     end
//@     return list
//@ end
//@ -- Blocks along the two axes of the cluster that share tiles of a ring; 0: it has other axes, or not all of them.
//@ local function spans(r)
//@     local along = {}
//@     for _, n in ipairs(sizes) do if n > 1 then along[#along + 1] = n end end
//@     if not has(shared_ring, r.name) then return { 1, 1 } end
//@     if #along > 2 or #shares_of(r) < #along then return { 0, 0 } end
//@     return { along[1], along[2] or 1 }
//@ end
//@ for _, r in ipairs(plan.ring) do
//@     if r.filler ~= "threads" and r.filler ~= "own" and #r.tensor > 0 then
//@         if has(shared_ring, r.name) then remote = true else own = true end
//@     end
//@ end
//@ remote = remote or parts ~= nil
//@ local asked = false
//@ for _, role in ipairs(plan.role) do
//@     for _, step in ipairs(role.step) do asked = asked or step.op == "ask" end
//@ end
//@ include "blocks/mbarrier.cuh" remote = remote

//@ if asked then
//@ include "blocks/mbarrier_asked.cuh"

//@ end
//@ if remote and own then
//@ include "blocks/mbarrier_own.cuh"

//@ end
//@ if clustered and meets then
//@ include "blocks/cluster.cuh"

//@ end

//@ if plan.launch.programmatic then
//@ include "blocks/dependency.cuh"

//@ end
//@ include "blocks/tma_ranks.cuh" loads = loads, shares = shares, stores = stores, policies = policies

//@ if #windows > 0 then
//@ include "blocks/tma_windows.cuh" copies = windows

//@ end
//@ include "blocks/elect.cuh"

//@ for _, t in ipairs(plan.tensor) do
//@     if has(t, "pointers") and t.access == "tma" then
//@ include "blocks/tile_slice.cuh" tensor = t, extent = plan.extent[t.name]

//@     end
//@ end

//@ if copied then
//@ include "blocks/copy_async.cuh"

//@ end
//@ for _, r in ipairs(plan.ring) do
//@     if r.filler ~= "threads" and r.filler ~= "own" and #r.tensor > 0 then
//@ include "blocks/ring.cuh" ring = r, roles = plan.role, full_offset = plan.shared[r.full_shared].offset,
//@     empty_offset = plan.shared[r.empty_shared].offset, cluster_m = spans(r)[1], cluster_n = spans(r)[2]
//@         if spans(r)[1] == 0 then
//@ include "blocks/ring_shared.cuh" ring = r, shares = shares_of(r), blocks = plan.launch.cluster[1]
//@         end
//@         local skips, lane = false, false
//@         for _, role in ipairs(plan.role) do
//@             for _, step in ipairs(role.step) do
//@                 skips = skips or step.op == "skip" and step.ring == r.name
//@                 lane = lane or step.op == "wait_full" and step.call == r.name .. "_wait_full_lane"
//@             end
//@         end
//@         if lane then
//@ include "blocks/ring_lane.cuh" ring = r, role = plan.role.consumer
//@         end
//@         if skips then
//@ include "blocks/ring_skip.cuh" ring = r
//@         end

//@         for _, name in ipairs(r.tensor) do
//@             if r.filler == "arrive" then
//@ include "blocks/tile_gather.cuh" tensor = plan.tensor[name],
//@     offset = plan.shared[r.name .. "." .. name].offset, extent = plan.extent[name], name = name .. "_copy",
//@     position = r.name .. "_position", number = "p.stage"

//@             elseif plan.tensor[name].access == "global" then
//@ include "blocks/element_send.cuh" tensor = plan.tensor[name], ring = r,
//@     offset = plan.shared[r.name .. "." .. name].offset

//@             elseif has(plan.tensor[name], "window") then
//@ include "blocks/tile_windows.cuh" tensor = plan.tensor[name], ring = r,
//@     offset = plan.shared[r.name .. "." .. name].offset, stride = plan.share[name],
//@     name = (rings_of[name] > 1 and r.name .. "_" or "") .. name .. "_load", extent = plan.extent[name],
//@     finds = not has(known, name)
//@                 known[name] = true

//@             else
//@ local ends = false
//@ for _, role in ipairs(plan.role) do
//@     for _, step in ipairs(role.step) do
//@         ends = ends or step.op == "fill" and step.tensor == name and has(step, "end")
//@     end
//@ end
//@ include "blocks/tile_load.cuh" tensor = plan.tensor[name], ring = r,
//@     offset = plan.shared[r.name .. "." .. name].offset, stride = plan.share[name],
//@     name = (rings_of[name] > 1 and r.name .. "_" or "") .. name .. "_load", limited = has(limited, name),
//@     ends = ends

//@             end
//@         end
//@     end
//@ end
//@ if has(plan, "item_ring") then
//@     local r = plan.ring[plan.item_ring]
//@ include "blocks/ring.cuh" ring = r, roles = plan.role, full_offset = plan.shared[r.full_shared].offset,
//@     empty_offset = plan.shared[r.empty_shared].offset, cluster_m = 1, cluster_n = 1

//@ end
//@ if parts then
//@ include "blocks/parts.cuh" model = plan, ring = parts, stride = plan.parts.stride,
//@     full_offset = plan.shared[parts.full_shared].offset, empty_offset = plan.shared[parts.empty_shared].offset,
//@     offset = plan.shared[parts.name .. ".sums"].offset

//@ end
