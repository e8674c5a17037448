-- A number of each row into a place of many columns, beside dots.
local M, N, K = dims "M N K"
kernel "c" {
  axes = "m k n", tile = { m = 64, k = 64, n = 64 }, grid = { m = M, n = N },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { K, N, dtype = "bf16" }, D = tensor { M, N, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local s = loop("k", range(0, K, tile.k), { zeros() }, function(k, s)
      return dot(load(t.A, span(at.m, tile.m), span(k, tile.k)), load(t.B, span(k, tile.k), span(at.n, tile.n)), s)
    end)
    store(t.D, span(at.m, tile.m), span(at.n, tile.n), row_sum(s))
  end,
  run = { { M = 65, N = 40, K = 72 } },
}
