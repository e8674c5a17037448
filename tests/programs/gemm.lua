-- D = A B^T as a program.
local M, N, K = dims "M N K"

kernel "gemm_program" {
  axes = "m n k",
  A = tensor { M, K, dtype = "bf16", axes = "m k" },
  B = tensor { N, K, dtype = "bf16", axes = "n k" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  tile = { m = 128, n = 256, k = 64 },
  grid = { m = M, n = N },
  arch = { sm_90a = {} },
  program = function(t, at, tile)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local a = load(t.A, span(at.m, tile.m), span(k, tile.k))
      local b = load(t.B, span(at.n, tile.n), span(k, tile.k))
      return dot(a, b:t(), sum)
    end)
    store(t.D, span(at.m, tile.m), span(at.n, tile.n), sum)
  end,
  run = { { M = 256, N = 256, K = 64 }, { M = 264, N = 520, K = 328 }, { M = 8, N = 8, K = 8 }, { M = 640, N = 512, K = 1024 } },
}
