-- Bytes become bf16 in registers with k innermost alone.
local M, N, K = dims "M N%16 K"

kernel "weights" {
  A = tensor { M, K, dtype = "bf16" },
  W = tensor { K, N, dtype = "uint8", axes = "k n" },
  D = tensor { M, N, dtype = "bf16", out = true },
  axes = "m n k",
  tile = { m = 64, n = 64, k = 64 },
  grid = { m = M, n = N },
  arch = { sm_90a = {}, sm_80 = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(cast(load(t.W, along, n), "bf16"):t(), load(t.A, m, along):t(), sum)
    end)
    store(t.D, m, n, sum:t())
  end,
}
