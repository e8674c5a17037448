-- Native sparse attention by blocks of keys, first: where the queries that name a block are to stand.
--
-- lists[b][q][g] names the blocks of query q, of which lengths[b][q][g], if given, count, from the first on. A block is
-- seen if its number is none below 0 and none above that of the query's own, where tile.kv keys are a block. The
-- queries that see block c will be listed from places[b][g][c][0] on, behind those of lower blocks, as family
-- nsa_queries writes them: those from tile.u * u on from places[b][g][c][u] on, and the last place is the list's
-- end. A query that names a block twice is listed once; the room for the second stays, and so T S places hold all. For
-- tile.c blocks of keys, an item, the lists are read once.

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
  -- f(i) for each of the item's blocks, as values.
  local function each(f)
    local values = {}
    for i = 1, tile.c do values[i] = f(i) end
    return table.unpack(values)
  end

  -- Of blocks before the first, and of each of the item's but the last.
  local sum = { loop("before", range(0, extent "q", tile.u), { each(function() return rows(0) end) }, function(q, ...)
    local sum, block, seen = { ... }, named(q)
    return each(function(i)
      local counts = eq(block, at.c + i - 2)
      if i == 1 then counts = lt(block, at.c) end
      return sum[i] + column_sum(count(seen & counts))
    end)
  end) }
  for i = 2, tile.c do sum[i] = sum[i - 1] + sum[i] end
  local function put(i, u, place) store(t.places, at.b, at.g, span(at.c + i - 1, 1), span(u, 1), place) end
  local last = { loop("own", range(0, extent "q", tile.u), sum, function(q, ...)
    local place, block, seen = { ... }, named(q)
    return each(function(i)
      put(i, q // tile.u, place[i])
      return place[i] + column_sum(where(gt(count(seen & eq(block, at.c + i - 1)), 0), 1, 0))
    end)
  end) }
  for i = 1, tile.c do put(i, (extent "q" + tile.u - 1) // tile.u, last[i]) end
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
