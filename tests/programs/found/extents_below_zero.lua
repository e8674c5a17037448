-- Extents of items that sizes make less than nothing, of both axes: there are no items, and not one of the product.
local M, N, K = dims "M N K"

kernel "extents_below_zero" {
  axes = "m n k", tile = { m = 128, n = 128, k = 64 }, grid = { m = M - 300, n = N - 300 }, arch = { sm_90a = {}, sm_80 = {} },
  schedule = { order = "row" },
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, m, along), load(t.B, n, along):t(), sum)
    end)
    store(t.D, m, n, sum)
  end,
  run = { { M = 64, N = 64, K = 64 }, { M = 64, N = 500, K = 64 }, { M = 700, N = 460, K = 136 } },
}
