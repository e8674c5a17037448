local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, axes = "m n", dtype = "bf16" },
  B = tensor { N, dtype = "bf16" },
  D = tensor { M, N, axes = "m q", dtype = "bf16" },
}
