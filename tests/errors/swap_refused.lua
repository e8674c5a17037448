-- What pipeline.swap does not turn round: a computed first operand, sums of rows, one number a row; and its shapes: the
-- tile of n is the instruction's rows now, that of m its columns.
local M, N, K = dims "M N K"
local swapped = kernel "narrow" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "bf16" },
  B        = tensor { N, K, dtype = "bf16" },
  D        = tensor { M, N, dtype = "bf16" },
  arch     = { sm_90a = {} },
  pipeline = { swap = true },
  tile     = { m = 16, n = 96, k = 64 },
}
kernel "odd" { like = swapped, tile = { m = 20, n = 64 } }
kernel "wide" { like = swapped, tile = { m = 264, n = 64 } }

kernel "computed" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  pipeline = { swap = true },
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  S = tensor { M, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local a = load(t.A, m, span(k, tile.k))
      return dot(cast(relu(a), "bf16"), load(t.B, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, m, n, sum)
    store_add(t.S, m, row_sum(sum * sum))
  end,
}
