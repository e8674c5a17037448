-- A tile that becomes bf16 in registers, where the instruction reads shared memory.
local M, N, K = dims "M N K%16"

kernel "weights" {
  A = tensor { M, K, dtype = "bf16" },
  W = tensor { N, K, dtype = "int8" },
  D = tensor { M, N, dtype = "bf16", out = true },
  axes = "m n k",
  tile = { m = 64, n = 64, k = 64 },
  grid = { m = M, n = N },
  arch = { sm_90a = {}, sm_80 = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, m, along), cast(load(t.W, n, along):t(), "bf16"), sum)
    end)
    store(t.D, m, n, sum)
  end,
}
