-- A tile that is carried on is computed from the dot that is issued a turn ahead, where the next turn's sum is already.
local M, N, K = dims "M N K"

kernel "k" {
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  V = tensor { 32, 32, dtype = "bf16", axes = "n k" }, D = tensor { M, N, dtype = "fp32", out = true },
  axes = "m n k", tile = { m = 64, n = 32, k = 32 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  ahead = { x = { turns = 1, before = "o" } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local most, sum = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, most, sum)
      local x = dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t()):as "x"
      return max(most, x), dot(cast(relu(x), "bf16"), load(t.V, span(0, 32), span(0, 32)), sum):as "o"
    end)
    store(t.D, m, n, most + sum)
  end,
}
