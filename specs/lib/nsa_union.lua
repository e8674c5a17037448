-- Native sparse attention, before it: the union of the lists of blocks of tile.q neighbouring queries.
--
-- lists[b][q][g] names the blocks of query q, of which lengths[b][q][g], if given, count, from the first on. Of
-- queries u * tile.q and those behind it, blocks[b][u][g] receives each block that one of them sees once, in their
-- order, and counts[b][u][g] how many there are; times has for each how often the lists of these queries name it, seven
-- bits a query: at most 4 queries, and lists of at most 127. A block is seen if its number is none below 0 and none
-- above that of the query's own, where tile.kv keys are a block. Behind its end a list holds 0.

local function program(t, at, tile)
  local slots = tile.n // tile.q
  if constant(extent "s") ~= slots or slots > 127 then
    refuse("lists", "a list's blocks are a constant, 127 at most, and tile.n // tile.q of them; write a number")
  end
  if tile.q > 4 or tile.n ~= tile.q * slots then
    refuse("tile", "4 queries at most share a union, and n is all places of their lists; write q, and leave n out")
  end

  -- A row is a union, its columns are the entries of its queries' lists, one list behind the other.
  local unions, places = span(at.u, tile.u), span(0, tile.n)
  local entry = rows(places):t()
  local slot, q = entry % slots, rows(unions) * tile.q + entry // slots
  local query = min(q, extent "q" - 1)
  local block = t.lists[at.b][query][at.g][slot]
  local sees = lt(q, extent "q") & ge(block, 0) & le(block, q // tile.kv)
  if given "lengths" then sees = sees & lt(slot, t.lengths[at.b][query][at.g]) end

  local none = (1 << 31) - 1
  local seen = where(sees, block, none)
  local place, weight = where(lt(seen, none), row_rank(seen), -1), 1
  for i = 1, tile.q - 1 do weight = select(ge(entry, i * slots), 1 << 7 * i, weight) end
  store(t.blocks, at.b, unions, at.g, places, max(row_segment_max(seen, place), 0)) -- behind the last -(1 << 31)
  store(t.times, at.b, unions, at.g, places, row_segment_sum(weight, place))
  store(t.counts, at.b, unions, at.g, whole(row_max(place + 1.0)):t())
end

return {
  axes = "b q g s u n kv",
  grid = "b u g",
  meaning = "q kv n",
  tensors = {
    { "lists", axes = "b q g s", shared = true },
    { "lengths", axes = "b q g", optional = true, shared = true },
    { "blocks", axes = "b u g n", out = true },
    { "times", axes = "b u g n", out = true },
    { "counts", axes = "b u g", out = true },
  },
  program = program,
  sizes = function(arch, said, extent)
    local q = said.q or 4
    local why = "four queries of 16 heads fill an instruction"
    return { q = q, u = 32 // q, n = q * (extent.s or 16), kv = 64, why = why }
  end,
}
