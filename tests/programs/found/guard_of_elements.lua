-- Under a mask of columns, which elements of a thread differ in: what lies beside is read whatever it says.
local M, N, K = dims "M N%8 K"

kernel "guard_of_elements" {
  axes = "m n k", tile = { m = 64, n = 16, k = 16 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
  C = tensor { M, N, dtype = "bf16", axes = "m n" }, along = tensor { M, dtype = "fp32", axes = "m" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
    end)
    local c = load(t.C, m, n)
    store(t.D, m, n, where(le(index().n, N // 2 + 1), where(le(index().n, index().m + 8), c + c, t.along), 0) + sum)
  end,
  run = { { M = 62, N = 24, K = 40 } },
}
