local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  bias = tensor { N, axes = "n", dtype = "bf16" },
  E = tensor { M, N, dtype = "bf16", out = true },
  slope = scalar "fp32",
  epilogue = function(acc) return relu(acc) end,
}
