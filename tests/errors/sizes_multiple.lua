local M, N, K = dims "M N K%8"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  run = { { M = 256, N = 256, K = 100 } },
}
