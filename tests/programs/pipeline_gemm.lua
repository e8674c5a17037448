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
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do sum = sum + t.A[i][k] * t.B[j][k] end
        t.D[i][j] = sum
      end
    end
  end,
  run = { { M = 200, N = 264, K = 344 }, { M = 8, N = 8, K = 8 }, { M = 300, N = 520, K = 72 }, { M = 9, N = 16, K = 0 } },
}
