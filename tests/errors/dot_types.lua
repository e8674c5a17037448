-- What the dots of every architecture multiply.
local M, N, K = dims "M N K"
kernel "a" { family="gemm", A = tensor { M, K, dtype = "fp64" }, B = tensor { N, K, dtype = "fp64" }, D = tensor { M, N, dtype = "fp32" } }
kernel "b" { family="gemm", A = tensor { M, K, dtype = "fp32" }, B = tensor { N, K, dtype = "fp32" }, D = tensor { M, N, dtype = "fp32" } }
kernel "c" {
  axes = "m k n", tile = { m = 64, k = 64, n = 64 }, grid = { m = M },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { K, 64, dtype = "bf16" }, D = tensor { M, 64, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local s = loop("k", range(0, K, tile.k), { zeros() }, function(k, s)
      return dot(cast(load(t.A, span(at.m, tile.m), span(k, tile.k)), "fp32"), cast(load(t.B, span(k, tile.k), all), "fp32"), s)
    end)
    store(t.D, span(at.m, tile.m), all, s)
  end,
}
