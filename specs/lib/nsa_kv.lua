-- Native sparse attention by blocks of keys, third: what each block gives to the queries that see it.
--
-- Where few heads of Q share one of K and V, a query's blocks are many bytes for few rows. Here an item is a block and
-- up to tile.i rows of the queries that see it, by the lists of families nsa_places and nsa_queries, tile.r of them a
-- turn: K and V are read once for all of them, and a query's results are put together afterwards, by family
-- nsa_combine. Q is seen as rows of all heads: row (q G + g) H + h of batch b is head h of query q, where H = tile.h
-- heads share one of K and V.
--
-- Row n H + h of part[b][g] receives attention of head h of the query at place n of queries[b][g] over that one block,
-- and weight[b][g] the logarithm to base 2 of what it weighs, the sum of exp(scale Q K), which a block that its list
-- names n times has n times. Nothing is written between the lists. grid = { i = T * H }: the most rows that a block may
-- have; how many it has is read on the device. The scale is 1 / sqrt(d) where the kernel has none.

local log2e = 1.4426950408889634

local function program(t, at, tile)
  local place = t.places[at.b][at.g][at.c]
  local begin, last = place[0] * tile.h, place[extent "u" - 1] * tile.h
  local from, first = begin + at.i, at.c * tile.kv
  local keys = { b = at.b, g = at.g, kv = span(first, tile.kv), d = all }
  local k, v = load(t.K, places(t.K, keys)):as "k", load(t.V, places(t.V, keys)):as "v"
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  loop("rows", range(from, min(from + tile.i, last), tile.r), {}, function(row)
    local r = rows(span(row, tile.r, last))
    local query, times = t.queries[at.b][at.g][r // tile.h], t.times[at.b][at.g][r // tile.h]
    local q = gather(t.Q, at.b, (query * extent "g" + at.g) * tile.h + r % tile.h, all):as "q"
    local s = where(le(first + column(), query), dot(q, k:t()):as "s" * (scale * log2e), -inf)
    local most = row_max(s)
    local p = exp2_diff(s, most)
    local sum = row_sum(p)
    local found = { b = at.b, g = at.g, m = span(row, tile.r, last), d = all }
    store(t.part, places(t.part, found, dot(cast(p, dtype(t.V)), v):as "o" / sum))
    store(t.weight, places(t.weight, found, most + log2(sum * times)))
  end)
end

return {
  axes = "b h g q kv d c n u r m i",
  grid = "b g c i",
  extents = "i",
  meaning = "kv h",
  tensors = {
    { "Q", axes = "b r d" },
    { "K", axes = "b kv g d" },
    { "V", axes = "b kv g d" },
    { "places", axes = "b g c u", shared = true },
    { "queries", axes = "b g n", shared = true },
    { "times", axes = "b g n", shared = true },
    { "part", axes = "b g m d", out = true },
    { "weight", axes = "b g m", out = true },
  },
  scalars = { "scale" },
  program = program,
  sizes = function(arch, said, extent)
    return { h = said.h or 1, i = 1024, r = 64, kv = 64, c = 1, why = "64 rows an instruction, a block its columns" }
  end,
}
