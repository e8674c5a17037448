-- Native sparse attention, which blocks matter: for each query the weights that compressed keys have, summed over the
-- heads that share a list.
--
-- Compressed key c stands for the tile.s tokens from c times so many on. It has weight exp(scale q k - LSE) for a query
-- that is not before the last of them; LSE is that of attention over the compressed keys. score[b][r][g][c] receives
-- the sum over axis h for query r; its rows are for whole tiles of queries, a multiple of tile.q. The scale is
-- 1 / sqrt(d) where the kernel has none. tile.q queries with all heads are columns of one product, tile.c compressed
-- keys its rows.

local log2e = 1.4426950408889634

local function program(t, at, tile)
  local place = { b = at.b, q = span(at.q, tile.q), g = at.g, h = span(0, tile.h), c = span(at.c, tile.c), d = all }
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  local k, q = load(t.K, places(t.K, place)):as "k", load(t.Q, places(t.Q, place)):as "q"
  local query, head = at.q + column() // tile.h, column() % tile.h
  local lse = t.LSE[at.b][query][at.g][head]
  local seen = le((at.c + row() + 1) * tile.s, query + 1)
  local p = where(seen, exp2((dot(k, q:t()):as "s" * scale - lse) * log2e), 0)
  for i = 0, tile.q - 1 do
    local own = where(eq(column() // tile.h, i), p, 0)
    store(t.score, at.b, at.q + i, at.g, span(at.c, tile.c), row_sum(own))
  end
end

return {
  axes = "b q g h c d s r",
  grid = "b g q c",
  meaning = "s h",
  tensors = {
    { "Q", axes = "b q g h d" },
    { "K", axes = "b c g d" },
    { "LSE", axes = "b q g h" },
    { "score", axes = "b r g c", out = true },
  },
  scalars = { "scale" },
  program = program,
  sizes = function(arch, said, extent)
    local h = said.h or extent.h or 16
    return { h = h, q = math.max(64 // h, 1), c = 64, s = 64, why = "the least of an instruction, both ways" }
  end,
}
