-- Beside a dot a row's reduction is of the columns that its lanes hold: one number of each row has none.
local M, N, K = dims "M N K"

kernel "k" {
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "fp32", out = true },
  axes = "m n k", tile = { m = 64, n = 32, k = 32 }, grid = { m = M, n = N },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum, most = loop("k", range(0, K, tile.k), { zeros(), rows(0) }, function(k, sum, most)
      local x = dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
      return x, most + row_max(row_sum(x))
    end)
    store(t.D, m, n, sum + most)
  end,
}
