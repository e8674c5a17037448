local M, N, K = dims "M N K"

kernel "sm_80" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 48, k = 64 }, arch = { sm_80 = {} },
  split = { k = 2 },
}

kernel "rows" {
  axes = "m k", grid = { m = M }, tile = { m = 16, k = 128 },
  x = tensor { M, K, dtype = "bf16" }, y = tensor { M, dtype = "fp32", out = true },
  split = { sum = 4 },
  program = function(t, at, tile)
    store(t.y, span(at.m, tile.m), loop("sum", range(0, K, tile.k), { rows(0) }, function(k, s)
      return s + row_sum(load(t.x, span(at.m, tile.m), span(k, tile.k)))
    end))
  end,
}
