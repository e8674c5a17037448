-- Native sparse attention, before it: the union of the lists of blocks of tile.q neighbouring queries.
--
-- lists[b][q][g] names the blocks of query q, of which lengths[b][q][g], if given, count, from the first on. Of
-- queries u * tile.q and those behind it, blocks[b][u][g] receives each block that one of them sees once, in their
-- order, and counts[b][u][g] how many there are; times has for each how often the lists of these queries name it, seven
-- bits a query: at most 4 queries, and lists of at most 127. A block is seen if its number is none below 0 and none
-- above that of the query's own, where tile.kv keys are a block. Behind its end a list holds 0.

-- Blocks and places are computed as real numbers, which take half the registers of whole ones and fewer instructions;
-- they are exact up to 1 << 24.
local function program(t, at, tile)
  local slots, from = tile.n // tile.q, at.u * tile.q
  if constant(extent "s") ~= slots or slots > 127 then
    refuse("lists", "a list's blocks are a constant, 127 at most, and tile.n // tile.q of them; write a number")
  end
  if tile.q > 4 or tile.n ~= tile.q * slots then
    refuse("tile", "4 queries at most share a union, and n is all places of their lists; write q, and leave n out")
  end
  local along = rows(span(0, tile.n))
  local across = along:t()

  -- The block that place i of all lists names, one behind the other; inf: it is not seen.
  local function entry(i)
    local slot, q = i % slots, from + i // slots
    local query = min(q, extent "q" - 1)
    local block = t.lists[at.b][query][at.g][slot]
    local counts = lt(q, extent "q") & ge(block, 0) & le(block, q // tile.kv)
    if given "lengths" then counts = counts & lt(slot, t.lengths[at.b][query][at.g]) end
    return where(counts, block, inf)
  end
  local mine = row_max(where(ge(across, 0), entry(along), 0)) -- looked up once a row, and once a column
  local other = column_max(where(ge(along, 0), entry(across), 0))

  local same = eq(mine, other)
  local before = row_sum(where(same & lt(across, along), 1.0, 0.0))
  local first = where(eq(column_sum(where(same & lt(along, across), 1.0, 0.0)), 0), other, inf) -- of each block once
  local weight = 1
  for q = 1, tile.q - 1 do weight = select(ge(across, q * slots), 1 << 7 * q, weight) end
  local place, times = row_sum(where(lt(first, mine), 1.0, 0.0)), row_sum(where(same, weight, 0))

  local found = eq(place, across) & eq(before, 0) & lt(mine, inf)
  store(t.blocks, at.b, at.u, at.g, span(0, tile.n), whole(column_max(where(found, mine, 0.0))))
  store(t.times, at.b, at.u, at.g, span(0, tile.n), column_max(where(found, times, 0)))
  store(t.counts, at.b, at.u, at.g, whole(row_sum(where(lt(first, inf), 1.0, 0.0))))
end

return {
  axes = "b q g s u n kv",
  grid = "b u g",
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
    return { q = q, u = 1, n = q * (extent.s or 16), kv = 64, why = "four queries of 16 heads fill an instruction" }
  end,
}
