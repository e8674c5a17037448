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

local log2e, ln2 = 1.4426950408889634, 0.6931471805599453

local function program(t, at, tile)
  -- Rows that fill no instruction are of queries behind the item's, which do not count.
  local fill = tile.m // tile.h
  local queries = fill > tile.q and span(at.q, fill, at.q + tile.q) or span(at.q, tile.q)
  local rows_of = { b = at.b, q = queries, g = at.g, h = span(at.h, tile.h), d = all }
  local q = load(t.Q, places(t.Q, rows_of)):as "q"
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  local shift = (given "lengths" and t.lengths[at.b] or extent "kv") - extent "q" -- from a row of Q to its token
  local u, count, first, behind = at.q // tile.q, extent "s", 0, nil
  if given "sequence" ~= given "starts_q" or given "sequence" ~= given "starts_kv"
    or (given "sequence" and (given "times" or given "lengths")) then
    refuse("sequence", "it comes with starts_q and starts_kv, and with neither times nor lengths; write these tensors")
  elseif given "sequence" then
    local q, kv, n = t.starts_q[at.b], t.starts_kv[at.b], t.sequence[at.b][at.q]
    first, behind = max(kv[n], 0), kv[n + 1]
    shift, count = behind - first - q[n + 1], select(ge(n, 0), count, 0)
  end
  if tile.q > (given "times" and 4 or 1) then
    refuse("tile", "up to 4 queries share the union of their lists, where times says whose a block is; each has its "
      .. "own else; write q = 1, or give what family nsa_union leaves")
  end
  if given "counts" then count = clamp(t.counts[at.b][u][at.g], 0, count) end

  local o, most, sum = loop("slots", range(0, count, 1), { zeros(), rows(-inf), rows(0) },
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

return {
  axes = "b h g q kv d u s n m",
  grid = "b g h q",
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
  -- Heads that share keys, of one query: lists of neighbours need not have anything in common.
  sizes = function(arch, said, extent)
    local h, q = said.h or extent.h or 16, said.q or 1
    local rows = said.instruction == "mma.sync" and 16 or 64 -- of an instruction
    return {
      h = h, q = 1, kv = 64, m = (h * q + rows - 1) // rows * rows,
      why = "a query's heads are rows of one tile, a block its keys",
    }
  end,
}
