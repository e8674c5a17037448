local M, N, K = dims "M N K"
kernel "g" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16", out = true },
  bias = tensor { N, dtype = "bf16", axes = "n" },
  epilogue = function(acc, t, i) return t.bias[i.n] end,
  run = { { M = 256, N = 256, K = 256 } },
}
