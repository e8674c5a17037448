-- refused by STAGES: a ring of one stage holds what the dot in flight reads: nothing is left to fill meanwhile.
local M, N, K = dims "M N K"

kernel "one_stage" {
  axes = "m n k", tile = { m = 64, n = 16, k = 16 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  pipeline = { stages = 1 },
  A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, m, n, sum)
  end,
  run = { { M = 62, N = 8, K = 40 } },
}
