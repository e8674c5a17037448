local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gem",
  A = tensor { M, K, dtype = "bf16" },
}
