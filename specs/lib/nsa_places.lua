-- Native sparse attention by blocks of keys, first: where the queries that name a block are to stand.
--
-- lists[b][q][g] names the blocks of query q, of which lengths[b][q][g], if given, count, from the first on. A block is
-- seen if its number is none below 0 and none above that of the query's own, where tile.kv keys are a block. The
-- queries that see block c will be listed from places[b][g][c][0] on, behind those of lower blocks, as family
-- nsa_queries writes them: those from tile.u * u on from places[b][g][c][u] on, and the last place is the list's
-- end. A query that names a block twice is listed once; the room for the second stays, and so T S places hold all.

local function program(t, at, tile)
  if constant(extent "s") ~= tile.s then
    refuse("lists", "a list's blocks are a constant, tile.s; write a number, and leave s out of tile")
  end
  local function named(q)
    local queries = span(q, tile.u)
    local block = load(t.lists, at.b, queries, at.g, span(0, tile.s))
    local seen = ge(block, 0) & le(block, (q + row()) // tile.kv)
    if given "lengths" then seen = seen & lt(column(), load(t.lengths, at.b, queries, at.g):t()) end
    return block, seen
  end
  local function count(condition) return row_sum(where(condition, 1, 0)) end

  local first = loop("before", range(0, extent "q", tile.u), { rows(0) }, function(q, sum)
    local block, seen = named(q)
    return sum + column_sum(count(seen & lt(block, at.c)))
  end)
  local last = loop("own", range(0, extent "q", tile.u), { first }, function(q, place)
    local block, seen = named(q)
    store(t.places, at.b, at.g, at.c, span(q // tile.u, 1), place)
    return place + column_sum(where(gt(count(seen & eq(block, at.c)), 0), 1, 0))
  end)
  store(t.places, at.b, at.g, at.c, span((extent "q" + tile.u - 1) // tile.u, 1), last)
end

return {
  axes = "b q g s c u kv",
  grid = "b g c",
  meaning = "kv u s",
  tensors = {
    { "lists", axes = "b q g s" },
    { "lengths", axes = "b q g", optional = true },
    { "places", axes = "b g c u", out = true },
  },
  program = program,
  sizes = function(arch, said, extent)
    return { q = 1, s = extent.s or 16, c = 1, u = 64, kv = 64, why = "a turn's queries, whose places are counted" }
  end,
}
