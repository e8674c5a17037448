-- What begins as zeros() in an outer loop is carried on by an inner one.
local M, N, K = dims "M N K"

kernel "nested_zeros" {
  axes = "m n k", tile = { m = 64, n = 16, k = 16 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("o", range(0, K, 2 * tile.k), { zeros() }, function(o, sum)
      return loop("i", range(o, min(o + 2 * tile.k, K), tile.k), { sum }, function(k, sum)
        return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
      end)
    end)
    store(t.D, m, n, sum)
  end,
  run = { { M = 62, N = 8, K = 40 } },
}
