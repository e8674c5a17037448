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
  local along = rows(span(0, tile.u))
  local across = along:t()
  local place = t.places[at.b][at.g][at.c]
  loop("q", range(at.c * tile.kv // tile.u * tile.u, extent "q", tile.u), {}, function(first)
    local function times(i)
      local q, sum = first + i, 0
      local query = min(q, extent "q" - 1)
      for s = 0, tile.s - 1 do
        local named = eq(t.lists[at.b][query][at.g][s], at.c)
        if given "lengths" then named = named & lt(s, t.lengths[at.b][query][at.g]) end
        sum = sum + where(named, 1, 0)
      end
      return where(lt(q, extent "q") & le(at.c, q // tile.kv), sum, 0)
    end
    local mine = row_max(where(ge(across, 0), times(along), 0)) -- looked up once a row, and once a column
    local other = column_max(where(ge(along, 0), times(across), 0))

    local before = column_sum(where(lt(along, across) & gt(mine, 0), 1, 0))
    local here = eq(before, along) & gt(other, 0)
    local into = span(place[first // tile.u], tile.u, place[first // tile.u + 1])
    store(t.queries, at.b, at.g, into, row_sum(where(here, first + across, 0)))
    store(t.times, at.b, at.g, into, row_sum(where(here, other, 0)))
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
    return { q = 1, s = extent.s or 16, c = 1, u = 64, kv = 64, why = "a turn's queries are compared with each other" }
  end,
}
