local M, N, K = dims "M N K"
kernel "gemm_program" {
  A = tensor { M, K, axes = "m k", dtype = "bf16" },
  B = tensor { N, K, axes = "n k", dtype = "bf16" },
  D = tensor { M, N, axes = "m n", dtype = "bf16", out = true },
  axes = "m n k", tile = { m = 128, n = 256, k = 64 }, grid = { m = M, n = N },
  run = { { M = 257, N = 512, K = 192 } },
  program = function(t, at, tile)
    local acc = loop("k", range(0, K, tile.k), { zeros() }, function(k, acc)
      local a, b = load(t.A, span(at.m, tile.m), span(k, tile.k)), load(t.B, span(at.n, tile.n), span(k, tile.k))
      return dot(a, b:t(), acc)
    end)
    store(t.D, span(at.m, tile.m), span(at.n, tile.n), acc)
  end,
}
