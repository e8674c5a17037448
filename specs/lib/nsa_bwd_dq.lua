-- Native sparse attention backward, dQ of the selected branch: from the LSE that family nsa left, and delta.
--
-- Axes, lists and what they may hold are those of family nsa, without unions. With P = exp(scale Q K^T - LSE) and
-- dS = P * (dO V^T - delta), dQ = scale dS K, summed over the blocks that the query's own list names. A block that is
-- named twice counts twice. A query that sees nothing gets 0, whatever its LSE.

local log2e = 1.4426950408889634

local function program(t, at, tile)
  -- Rows that fill no instruction are of queries behind the item's, which do not count.
  local queries = span(at.q, math.max(64 // tile.h, 1), at.q + 1)
  local rows_of = { b = at.b, q = queries, g = at.g, h = span(at.h, tile.h), d = all }
  local q, o = load(t.Q, places(t.Q, rows_of)):as "q", load(t.dO, places(t.dO, rows_of)):as "o"
  local i = index()
  local lse, delta = t.LSE[at.b][i.q][at.g][i.h], t.delta[at.b][i.q][at.g][i.h]
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  local count = extent "s"
  if given "counts" then count = clamp(t.counts[at.b][at.q][at.g], 0, count) end

  local dq = loop("slots", range(0, count, 1), { zeros() }, function(slot, dq)
    local block = t.blocks[at.b][at.q][at.g][slot]
    block = max(where(ge(block, 0) & le(block, at.q // tile.kv), block, extent "kv"), 0)
    local first = block * tile.kv
    local place = { b = at.b, g = at.g, kv = span(first, tile.kv), d = all }
    local k, v = load(t.K, places(t.K, place)):as "k", load(t.V, places(t.V, place)):as "v"
    local s, dp = dot(q, k:t()):as "s", dot(o, v:t()):as "dp"
    local p = where(le(first + column(), at.q), exp2(s * (scale * log2e) - lse * log2e), 0)
    return dot(cast(p * (dp - delta), dtype(t.K)), k, dq):as "dq"
  end)
  store(t.dQ, places(t.dQ, rows_of, dq * scale))
end

return {
  axes = "b h g q kv d s",
  grid = "b g h q",
  meaning = "kv",
  tensors = {
    { "Q", axes = "b q g h d" },
    { "K", axes = "b kv g d" },
    { "V", axes = "b kv g d" },
    { "dO", axes = "b q g h d" },
    { "LSE", axes = "b q g h" },
    { "delta", axes = "b q g h" },
    { "blocks", axes = "b q g s", shared = true },
    { "counts", axes = "b q g", optional = true, shared = true },
    { "dQ", axes = "b q g h d", out = true },
  },
  scalars = { "scale" },
  program = program,
  -- Heads that share keys, of one query: lists of neighbours need not have anything in common.
  sizes = function(arch, said, extent)
    return {
      h = said.h or extent.h or 16, q = 1, kv = 64, why = "a query's heads are rows of one tile, a block its keys",
    }
  end,
}
