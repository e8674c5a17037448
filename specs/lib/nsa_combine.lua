-- Native sparse attention by blocks of keys, last: each query's results of the blocks that it sees, put together.
--
-- lists, lengths and what is seen are those of families nsa_places and nsa_queries, places and queries what they left,
-- part and weight what family nsa_kv did; tile.kv and tile.u are to be the same. O = the sum of 2^weight part over the
-- blocks that the query sees, each once, by the sum of 2^weight; LSE receives that sum's logarithm. Queries that see
-- nothing are 0, and -inf in LSE. A query's place in a block's list is found by counting those before it, of tile.u at
-- most: no more than the head size.

local ln2 = 0.6931471805599453

local function program(t, at, tile)
  local slots = constant(extent "s")
  if not slots or slots > tile.d or tile.u > tile.d then
    refuse("lists", "a list's blocks are a constant, and neither they nor tile.u more than the head size; write a "
      .. "number, or a smaller u")
  end
  local count, list, turn = slots, t.lists[at.b][at.q][at.g], at.q // tile.u
  if given "lengths" then count = clamp(t.lengths[at.b][at.q][at.g], 0, count) end
  local across = rows(span(0, tile.d)):t()

  local o, most, sum = loop("slots", range(0, count, 1), { zeros(), rows(-inf), rows(0) },
    function(slot, o, most, sum)
      local block = list[slot]
      local seen = ge(block, 0) & le(block, at.q // tile.kv)
      local place = t.places[at.b][at.g][where(seen, block, 0)]
      local n = place[turn] + across
      local here = lt(across, tile.u) & lt(n, place[turn + 1])
      local before = row_sum(where(here & lt(t.queries[at.b][at.g][n], at.q), 1, 0))
      local again = row_sum(where(lt(across, slot) & eq(list[across], block), 1, 0))

      local row = (place[turn] + before) * tile.h + rows(span(0, tile.h))
      local weight = where(seen & eq(again, 0), t.weight[at.b][at.g][row], -inf)
      local m = max(most, weight)
      local p, r = exp2_diff(weight, m), exp2_diff(most, m)
      return o * r + where(gt(p, 0), gather(t.part, at.b, at.g, row, all), 0) * p, m, sum * r + p
    end)
  local query = { b = at.b, q = at.q, g = at.g, h = span(0, tile.h), d = all }
  store(t.O, places(t.O, query, ratio(o, sum, 0)))
  if given "LSE" then store(t.LSE, places(t.LSE, query, (most + log2(sum)) * ln2)) end
end

return {
  axes = "b h g q kv d c n u m s",
  grid = "b g q",
  meaning = "kv u h d",
  tensors = {
    { "lists", axes = "b q g s", shared = true },
    { "lengths", axes = "b q g", optional = true, shared = true },
    { "places", axes = "b g c u", shared = true },
    { "queries", axes = "b g n", shared = true },
    { "part", axes = "b g m d" },
    { "weight", axes = "b g m" },
    { "O", axes = "b q g h d", out = true },
    { "LSE", axes = "b q g h", out = true, optional = true },
  },
  program = program,
  sizes = function(arch, said, extent)
    local d = extent.d or 128
    return { h = extent.h or 1, d = d, q = 1, u = 64, kv = 64, why = "a query's heads are rows" }
  end,
}
