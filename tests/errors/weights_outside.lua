-- Four bits less 8 of bytes that may lie outside of the tensor, where they come as 0.
local M, N, K = dims "M N K%8"

kernel "weights" {
  A = tensor { M, K, dtype = "bf16" },
  W = tensor { N, K // 2, dtype = "uint8" },
  D = tensor { M, N, dtype = "bf16", out = true },
  axes = "m n k",
  tile = { m = 64, n = 64, k = 128 },
  grid = { m = M, n = N },
  arch = { sm_90a = {}, sm_80 = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local w = load(t.W, n, span(k // 2, 64))
      return dot(cast(w % 16 - 8, "bf16"), load(t.A, m, span(k, 64)):t(), sum)
    end)
    store(t.D, m, n, sum:t())
  end,
}
