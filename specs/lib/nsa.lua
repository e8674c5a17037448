-- Native sparse attention, the selected branch: each query attends to blocks of keys that a list of its own names.
--
-- Axis g counts the heads of K and V, h the heads of Q that share one of them and its lists: rows of one tile. tile.kv
-- keys are a block. blocks[b][q][g] names the blocks of query q, counts[b][q][g], if given, how many of them count,
-- from the first on. A key is seen if its token is none before 0 and none behind q: of a block that begins behind q, or
-- whose number is below 0, nothing is. A block that is named twice counts twice. What names no block costs a turn but
-- no bytes. The scale is 1 / sqrt(d) where the kernel has none. LSE receives the logarithm of each row's sum. Queries
-- that see nothing are 0, and -inf in LSE.
--
-- Queries are the newest tokens: where there are more keys than queries, the last query is at the last key, or, with
-- lengths[b], at that of the request's so many tokens. What other branches gave is mixed in: O receives gate times what
-- is computed here + window_gate * window + compressed_gate * compressed, as far as the kernel has these tensors.
--
-- Sequences may lie behind each other in a batch: sequence n has the rows from starts_q[b][n] up to starts_q[b][n + 1]
-- of Q, of what is by its rows and of the lists, and those of K and V by starts_kv[b]; its block 0 begins at its first
-- key, and its last query is at its last key. sequence[b][q] is the one that row q belongs to; -1: to none, and the row
-- sees nothing.
--
-- tile.q neighbouring queries (2 to 4) share the union of their lists, if the kernel has the tensor `times`: blocks,
-- times and counts are those of family nsa_union then, by axis u for q. Each block is brought and multiplied once for
-- all of them, so that four queries of 16 heads fill the 64 rows of an instruction; queries whose own lists do not name
-- it give it the weight 0, those that name it n times n.
--
-- Without `times` tile.q queries, more than one, have their own lists, and find all keys in shared memory: K and V of a
-- head lie there whole, as far as the item's last query sees, where their rows are a constant number and fit. Each warp
-- multiplies the blocks that its own query names, by mma.sync: in bf16 or fp16, tile.h and tile.kv multiples of 16, and
-- up to 128 rows. It is for what the L2 holds back: 2 x 512 queries with 8 blocks of 32 keys of 64 elements bring 9 MB
-- out of it instead of 67.
--
-- What multiplies is chosen by a tile's rows, tile.q queries of tile.h heads, on sm_90a and sm_100a. 16 and 32 rows,
-- and fewer where tile.h divides 16: mma.sync, one stage of keys, and as many blocks a multiprocessor as
-- its registers and shared memory hold; for heads of up to 128 elements and blocks of up to 128 keys. Blocks of up to
-- 2,048 elements are copied by the threads that multiply them, into two stages; where a list has one slot the L2 is
-- asked for all of K and V before it is read. Up to 64 rows otherwise: wgmma, two blocks, scores a turn ahead, for
-- heads of up to 128 elements and blocks of up to 64 keys. What a kernel says stands before it. Of one head each
-- block of keys is brought for one row, as fast as the L2 gives it; families nsa_places to nsa_combine bring it for 64.
--
-- What stands in a list behind the last block that its query sees takes no turns, where the list has no more than
-- tile.s slots: each of them is read before an item begins. 16 where mma.sync was chosen so; 1, none, elsewhere: by
-- wgmma a tile's registers leave no room for it. Unions have none such.

local MOST_ROWS = 128 -- of queries with lists of their own: eight warps
local log2e, ln2 = 1.4426950408889634, 0.6931471805599453

-- Why K and V may not stay in shared memory for queries with lists of their own, told; true: they may.
local function may_stay(t, tile)
  if not constant(extent "kv") then
    refuse("tile", "queries share the union of their lists, where times says whose a block is, or find all keys in "
      .. "shared memory, where the rows of K and V are a number; write q = 1, give what family nsa_union leaves, or "
      .. "write that number")
  elseif tile.h % 16 ~= 0 then
    refuse("tile", "a warp takes 16 rows of a query with a list of its own, and tile.h = " .. tile.h .. " heads are no "
      .. "multiple of them; write q = 1, or give what family nsa_union leaves")
  elseif tile.kv % 16 ~= 0 then
    refuse("tile", "of K and V in shared memory whole groups of 16 rows are multiplied, not " .. tile.kv .. "; write "
      .. "kv = 16 or a multiple, or q = 1")
  elseif tile.q * tile.h > MOST_ROWS then
    refuse("tile", "queries with lists of their own have up to " .. MOST_ROWS .. " rows, 16 a warp, not "
      .. tile.q * tile.h .. "; write q = " .. math.max(MOST_ROWS // tile.h, 1))
  elseif dtype(t.K) ~= "bf16" and dtype(t.K) ~= "fp16" then
    refuse("tile", "queries with lists of their own find K and V in bf16 or fp16, not " .. dtype(t.K)
      .. "; write q = 1")
  elseif given "sequence" then
    refuse("sequence", "queries with lists of their own share one head's K and V; write tile.q = 1")
  else
    return true
  end
end

-- Queries that have their own lists: a loop over their slots, through K and V that stay in shared memory.
local function resident(t, at, tile, q, scale, shift)
  local keys = constant(extent "kv")
  local blocks = (keys + tile.kv - 1) // tile.kv
  local place = { b = at.b, g = at.g, kv = span(0, blocks * tile.kv, at.q + tile.q + shift), d = all }
  local k, v = load(t.K, places(t.K, place)):as "k", load(t.V, places(t.V, place)):as "v"
  -- Of rows behind the last query's nothing is stored.
  local query = min(at.q + row() // tile.h, extent "q" - 1)
  return loop("slots", range(0, extent "s"), { zeros(), rows(-inf), rows(0) }, function(slot, o, most, sum)
    local block = t.blocks[at.b][query][at.g][slot]
    local seen, first = ge(block, 0) & lt(block, blocks), clamp(block, 0, blocks - 1) * tile.kv
    if given "counts" then seen = seen & lt(slot, t.counts[at.b][query][at.g]) end
    local s = dot(q, slice(k, first, tile.kv):t()):as "s" * (scale * log2e)
    s = where(le(first + column(), where(seen, index().q + shift, -1)), s, -inf)
    local m = max(most, row_max(s))
    local p, r = exp2_diff(s, m), exp2_diff(most, m)
    return dot(cast(p, dtype(t.V)), slice(v, first, tile.kv), o * r):as "o", m, sum * r + row_sum(p)
  end)
end

-- One list for all rows of an item: the keys of its blocks are brought turn by turn.
local function brought(t, at, tile, q, scale, shift)
  local u, count, first, behind = at.q // tile.q, extent "s", 0, nil
  if given "sequence" and given "starts_q" and given "starts_kv" then
    local rows, kv, n = t.starts_q[at.b], t.starts_kv[at.b], t.sequence[at.b][at.q]
    first, behind = max(kv[n], 0), kv[n + 1]
    shift, count = behind - first - rows[n + 1], select(ge(n, 0), count, 0)
  end
  if given "counts" then count = clamp(t.counts[at.b][u][at.g], 0, count) end

  if tile.s > 1 and not given "times" then -- what stands behind the last block that is seen takes no turns
    local behind = 0
    for slot = 0, tile.s - 1 do
      local block = t.blocks[at.b][u][at.g][min(slot, extent "s" - 1)]
      local seen = ge(block, 0) & le(block, (at.q + shift) // tile.kv) & lt(slot, count)
      behind = select(seen, slot + 1, behind)
    end
    count = select(gt(count, tile.s), count, behind)
  end
  return loop("slots", range(0, count, 1), { zeros(), rows(-inf), rows(0) },
    function(slot, o, most, sum)
      local block = t.blocks[at.b][u][at.g][slot]
      if given "times" then
        block = max(block, 0)
      else -- what is not seen lies where there is no memory, and nothing is brought
        block = max(where(ge(block, 0) & le(block, (at.q + shift) // tile.kv), block, extent "kv" + 1), 0)
      end
      local token = block * tile.kv
      local place = { b = at.b, g = at.g, kv = span(first + token, tile.kv, behind), d = all }
      local k, v = load(t.K, places(t.K, place)):as "k", load(t.V, places(t.V, place)):as "v"
      local s, last = dot(q, k:t()):as "s" * (scale * log2e), index().q + shift
      if given "times" then -- seven bits a query
        local of_all = t.times[at.b][u][at.g][slot]
        local times = of_all % 128
        for i = 1, tile.q - 1 do
          times = select(eq(index().q - at.q, i), of_all // (1 << 7 * i) % 128, times)
        end
        s, last = s + log2(times), where(gt(times, 0), last, -1) -- an infinite score of another's block too
      end
      s = where(le(token + column(), last), s, -inf)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, dtype(t.V)), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
end

local function program(t, at, tile)
  -- Rows that fill no instruction are of queries behind the item's, which do not count.
  local fill = tile.m // tile.h
  local queries = fill > tile.q and span(at.q, fill, at.q + tile.q) or span(at.q, tile.q)
  local rows_of = { b = at.b, q = queries, g = at.g, h = span(at.h, tile.h), d = all }
  local q = load(t.Q, places(t.Q, rows_of)):as "q"
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  local shift = (given "lengths" and t.lengths[at.b] or extent "kv") - extent "q" -- from a row of Q to its token
  if given "sequence" ~= given "starts_q" or given "sequence" ~= given "starts_kv"
    or (given "sequence" and (given "times" or given "lengths")) then
    refuse("sequence", "it comes with starts_q and starts_kv, and with neither times nor lengths; write these tensors")
  end
  if tile.q > 4 and given "times" then
    refuse("tile", "up to 4 queries share the union of their lists, where times says whose a block is; write q = 4")
  end
  local turns = tile.q > 1 and not given "times" and may_stay(t, tile) and resident or brought
  local o, most, sum = turns(t, at, tile, q, scale, shift)
  local result, i = ratio(o, sum, 0), index()
  if given "gate" then result = result * t.gate[at.b][i.q][at.g][i.h] end
  for _, branch in ipairs { "window", "compressed" } do
    if given(branch) then
      local gate = t[branch .. "_gate"][at.b][i.q][at.g][i.h]
      result = result + load(t[branch], places(t[branch], rows_of)) * gate
    end
  end
  store(t.O, places(t.O, rows_of, result))
  if given "LSE" then store(t.LSE, places(t.LSE, rows_of, (most + log2(sum)) * ln2)) end
end

-- By mma.sync, a warp for each 16 rows: so many blocks a multiprocessor, each with one stage of keys unless more is
-- said. Small blocks of keys are copied by the warp that multiplies them: bulk copies take their rows one by one, and
-- rows of 64 bytes as long as those of 128. nil: registers or fields that are said speak against it.
local function by_warps(m, kv, d, slots, said, times)
  if d > 128 or kv > 128 or said.ahead or said.via or said.direction or said.cache or said.split
    or said.persistent or said.max_registers or said.tuned.instruction or (said.warps_m or m // 16) * 16 ~= m then
    return nil
  end
  local free = not said.tuned.stages
  local copied = said.copied
  if copied == nil then copied = kv * d <= 2048 and not times and (said.stages or 2) > 1 and free end
  local many = 12 -- warps of 168 registers a thread; 8 of 248, 16 of 128, 20 of 96
  if copied then
    many = d <= 32 and 20 or 12
  elseif kv > 64 or d > 64 and kv < 64 then
    many = 8
  elseif d <= 64 and not times then
    many = 16
  end
  local warps = m // 16 + (copied and 0 or 1) -- with the one that brings keys
  local bytes = kv * d * 4 * (said.stages or copied and 2 or 1) + m * d * 2 + 2048 -- of a block, of 228 KB
  local blocks = math.max(math.min(many // warps, 233472 // bytes), 1)
  return {
    pipeline = {
      instruction = "mma.sync", stages = free and not said.stages and (copied and 2 or 1) or nil,
      why = "a warp multiplies 16 rows, wgmma 64; some blocks multiply while keys come for others",
    },
    schedule = free and not said.tuned.blocks
      and { blocks = blocks, why = "registers of " .. many .. " warps, as far as shared memory holds them" } or nil,
    via = copied and {
      q = "cp_async", k = "cp_async", v = "cp_async", why = "so few bytes come sooner by threads than by bulk copies",
    } or nil,
    cache = copied and slots == 1 and {
      K = "prefetch", V = "prefetch", why = "they are under way before a list says which block of them is wanted",
    } or nil,
  }
end

-- By wgmma, of 64 rows: two blocks of one consumer, unless there is no room or something else is said.
local function by_two(kv, d, said)
  if kv > 64 or d > 128 or (said.consumers or 1) > 1 or said.mode or said.stages or said.stream or said.split
    or said.persistent ~= nil or next(said.tuned) then
    return {}
  end
  return {
    pipeline = { instruction = "wgmma", why = "an instruction has 64 rows" },
    schedule = { blocks = 2, why = "one multiplies while the other computes weights" },
    ahead = { s = { turns = 1, before = "o" }, why = "scores come while weights are computed" },
  }
end

-- A tile is the heads of one query, which share keys: lists of neighbours need not have anything in common. On an H200
-- 16 rows are nearly twice as quick by mma.sync as by wgmma. Unions of two queries, 32 rows, are by mma.sync as quick
-- as those of four, 64 rows, by wgmma, which are slower by mma.sync (tests/bench/notes.md).
local function sizes(arch, said, extent, bytes)
  local h, kv, d = said.h or extent.h or 16, said.kv or 64, extent.d or 128
  local rows, size = h * (said.q or 1), { h = h, q = 1, kv = 64, s = 1 }
  local function filled(of) return (rows + of - 1) // of * of end
  size.m = filled(said.instruction == "mma.sync" and 16 or 64)
  size.why = "a query's heads are rows of one tile, a block its keys"
  if rows > h and not bytes.times and bytes.K == 2 and rows % 16 == 0 and rows <= MOST_ROWS then
    size.m, size.pipeline = rows, {
      instruction = (arch == "sm_90a" or arch == "sm_100a") and "mma.sync" or nil, warps_m = rows // 16,
      why = "a warp has 16 rows, whose list is its own",
    }
    return size
  end
  if arch ~= "sm_90a" and arch ~= "sm_100a" or bytes.K ~= 2 then return size end
  local m = 16 % h == 0 and rows <= 16 and 16 or rows -- rows behind a query's heads are of none
  local whole, how = m % 16 == 0 and m <= 32 and (said.m or m) == m, nil -- of bulk copies
  if whole and said.instruction ~= "wgmma" and not bytes.starts_kv then
    how = by_warps(m, kv, d, extent.s, said, bytes.times)
    if how then size.m, size.s = m, math.min(extent.s or 16, 16) end
  end
  if not how and said.instruction ~= "mma.sync" and (said.m or size.m) == 64 then how = by_two(kv, d, said) end
  for field, value in pairs(how or {}) do size[field] = value end
  return size
end

return {
  axes = "b h g q kv d u s n m",
  grid = "b g h q",
  meaning = "kv q",
  tensors = {
    { "Q", axes = "b q g h d" },
    { "K", axes = "b kv g d" },
    { "V", axes = "b kv g d" },
    { "O", axes = "b q g h d", out = true },
    { "LSE", axes = "b q g h", out = true, optional = true },
    { "window", axes = "b q g h d", optional = true },
    { "compressed", axes = "b q g h d", optional = true },
    { "gate", axes = "b q g h", optional = true },
    { "window_gate", axes = "b q g h", optional = true },
    { "compressed_gate", axes = "b q g h", optional = true },
    { "lengths", axes = "b", optional = true, shared = true },
    { "sequence", axes = "b q", optional = true, shared = true },
    { "starts_q", axes = "b n", optional = true, shared = true },
    { "starts_kv", axes = "b n", optional = true, shared = true },
    { "blocks", axes = "b u g s", shared = true },
    { "counts", axes = "b u g", optional = true, shared = true },
    { "times", axes = "b u g s", optional = true, shared = true },
  },
  scalars = { "scale" },
  program = program,
  sizes = sizes,
}
