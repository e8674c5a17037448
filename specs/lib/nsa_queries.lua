-- Native sparse attention by blocks of keys, second: for each block of keys the queries that see it, the lists of
-- family nsa_places turned round.
--
-- lists, lengths and what is seen are those of that family, places what it left; tile.u and tile.kv are to be the same.
-- From places[b][g][c][0] up to the last of places[b][g][c], queries[b][g] receives the queries that see block c, in
-- their order, and times[b][g] how often the list of each names it. Nothing is written between these lists.

local function program(t, at, tile)
  if constant(extent "s") ~= tile.s then
    refuse("lists", "a list's blocks are a constant, tile.s; write a number, and leave s out of tile")
  end
  if tile.c ~= 1 then refuse("tile", "an item's lists are those of one block; leave c out of tile") end
  -- A row is what a turn's queries say of the block, a column each.
  local column = clamp(rows(span(0, tile.u)):t(), 0, tile.u - 1)
  local place = t.places[at.b][at.g][at.c]
  loop("q", range(at.c * tile.kv // tile.u * tile.u, extent "q", tile.u), {}, function(first)
    local q, times = first + column, 0
    local query = min(q, extent "q" - 1)
    for s = 0, tile.s - 1 do
      local named = eq(t.lists[at.b][query][at.g][s], at.c)
      if given "lengths" then named = named & lt(s, t.lengths[at.b][query][at.g]) end
      times = times + where(named, 1, 0)
    end
    times = where(lt(q, extent "q") & le(at.c, q // tile.kv), times, 0)

    -- Sorted, those that see the block stand first; what is behind them is beyond the span's end.
    local base = tile.s + 1
    local value = where(gt(times, 0), column * base + times, tile.u * base)
    local listed = row_segment_max(value, row_rank(value))
    local into = span(place[first // tile.u], tile.u, place[first // tile.u + 1])
    store(t.queries, at.b, at.g, into, first + listed // base)
    store(t.times, at.b, at.g, into, listed % base)
  end)
end

return {
  axes = "b q g s c u n kv",
  grid = "b g c",
  meaning = "kv u s",
  tensors = {
    { "lists", axes = "b q g s", shared = true },
    { "lengths", axes = "b q g", optional = true, shared = true },
    { "places", axes = "b g c u", shared = true },
    { "queries", axes = "b g n", out = true },
    { "times", axes = "b g n", out = true },
  },
  program = program,
  sizes = function(arch, said, extent)
    return { q = 1, s = extent.s or 16, c = 1, u = 64, kv = 64, why = "a turn's queries are sorted in one row" }
  end,
}
