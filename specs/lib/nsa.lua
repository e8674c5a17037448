-- Native sparse attention, the selected branch: each query attends to blocks of keys that a list of its own names.
--
-- Heads of Q (h) that share one of K and V (g) share its lists too; tile.h of them, which divides H // G, are rows of
-- one tile, and tile.kv keys are a block. blocks[b][q][g] names the blocks of query q, counts[b][q][g], if given, how
-- many of them count, from the first on. A key is seen if its token is none before 0 and none behind q: of a block that
-- begins behind q, or whose number is below 0, nothing is. A block that is named twice counts twice. What is behind a
-- list's end, or names no block, costs a turn but no bytes. The scale is 1 / sqrt(d) where the kernel has none. LSE
-- receives the logarithm of each row's sum. Queries that see nothing are 0, and -inf in LSE.
--
-- tile.q neighbouring queries (2 to 4) share the union of their lists, if the kernel has the tensor `times`: blocks,
-- times and counts are those of family nsa_union then, dims by axis u. Each block is brought and multiplied once for
-- all of them, so 64 rows of an instruction are full with 16 heads; queries whose own lists do not name it give it the
-- weight 0, those that name it n times n.

local log2e, ln2 = 1.4426950408889634, 0.6931471805599453

-- Coordinates of tensor x by the names of its axes, in the order of its dims, and what follows them.
local function places(x, by, ...)
  local list = {}
  for n, axis in ipairs(axes(x)) do list[n] = by[axis] end
  for n = 1, select("#", ...) do list[#list + 1] = (select(n, ...)) end
  return table.unpack(list)
end

local function program(t, at, tile)
  -- Rows that fill no instruction are of queries behind the item's, which do not count.
  local queries = span(at.q, math.max(64 // tile.h, tile.q), at.q + tile.q)
  local rows_of = { b = at.b, q = queries, h = span(at.h, tile.h), d = all }
  local q = load(t.Q, places(t.Q, rows_of)):as "q"
  local head, scale = at.h // (extent "h" // extent "g"), given "scale" and t.scale or rsqrt(extent "d")
  local own = { b = at.b, u = at.q // tile.q, g = head }
  local count = extent "s"
  if given "counts" then count = clamp(t.counts[own.b][own.u][own.g], 0, count) end

  local o, most, sum = loop("slots", range(0, count, 1), { zeros(), rows(-inf), rows(0) },
    function(slot, o, most, sum)
      local function entry(x) return x[own.b][own.u][own.g][slot] end
      local block = entry(t.blocks)
      if not given "times" then -- what is not seen lies where there is no memory, and nothing is brought
        block = where(ge(block, 0) & le(block, at.q // tile.kv), block, extent "kv")
      end
      local first = block * tile.kv
      local place = { b = at.b, g = head, kv = span(first, tile.kv), d = all }
      local k, v = load(t.K, places(t.K, place)):as "k", load(t.V, places(t.V, place)):as "v"
      local s = dot(q, k:t()):as "s" * (scale * log2e)
      s = where(le(first + column(), index().q), s, -inf)
      if given "times" then -- seven bits a query
        local all_times = entry(t.times)
        local times = all_times % 128
        for i = 1, tile.q - 1 do
          times = select(eq(index().q - at.q, i), all_times // (1 << 7 * i) % 128, times)
        end
        s = s + log2(times)
      end
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, dtype(t.V)), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
  store(t.O, places(t.O, rows_of, ratio(o, sum, 0)))
  if given "LSE" then store(t.LSE, places(t.LSE, rows_of, (most + log2(sum)) * ln2)) end
end

return {
  axes = "b h g q kv d u s",
  grid = "b h q",
  tensors = {
    { "Q", axes = "b q h d" },
    { "K", axes = "b kv g d" },
    { "V", axes = "b kv g d" },
    { "O", axes = "b q h d", out = true },
    { "LSE", axes = "b q h", out = true, optional = true },
    { "blocks", axes = "b u g s", shared = true },
    { "counts", axes = "b u g", optional = true, shared = true },
    { "times", axes = "b u g s", optional = true, shared = true },
  },
  scalars = { "scale" },
  program = program,
  -- Heads that share keys, of one query: lists of neighbours need not have anything in common.
  sizes = function(arch, said, extent)
    return { h = said.h or 16, q = 1, kv = 64, why = "a query's heads are rows of one tile, a block its keys" }
  end,
}
