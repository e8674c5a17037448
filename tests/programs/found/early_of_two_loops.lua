-- Two loops over the same tensors, the first of which waits for its own products: its operands are found in the turn
-- before, from the stages of its own ring.
local M, N, K = dims "M N K"

kernel "early_of_two_loops" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "fp32", out = true },
  run = { { M = 100, N = 72, K = 328 }, { M = 64, N = 64, K = 0 } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local function turn(k) return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t()) end
    local squares = loop("k", range(0, K, tile.k), { zeros() }, function(k, o)
      local s = turn(k)
      return o + s * s
    end)
    local sums = loop("j", range(0, K, tile.k), { zeros() }, function(k, o) return o + turn(k) end)
    store(t.D, m, n, squares + sums)
  end,
}
