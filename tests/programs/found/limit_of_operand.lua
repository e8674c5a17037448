-- refused by PROGRAM-LOWER: the box of an operand ends with the tensor, not at a limit along its columns.
local M, N, K = dims "M N K"

kernel "limit_of_operand" {
  axes = "m n k", tile = { m = 64, n = 16, k = 16 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k, K - 5)
      return dot(load(t.A, m, along), load(t.B, n, along):t(), sum)
    end)
    store(t.D, m, n, sum)
  end,
  run = { { M = 62, N = 8, K = 40 } },
}
