-- A computed operand that the instruction reads from shared memory, where nothing computed lies.
local M, N, K = dims "M N K%8"

kernel "gemm" {
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  axes = "m n k",
  tile = { m = 128, n = 128, k = 64 },
  grid = { m = M, n = N },
  arch = { sm_90a = {}, sm_80 = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      local b = load(t.B, n, along)
      return dot(load(t.A, m, along), cast(b * 2, "bf16"):t(), sum)
    end)
    store(t.D, m, n, sum)
  end,
}
