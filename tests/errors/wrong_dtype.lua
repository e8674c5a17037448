local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bfloat16" },
  B = tensor { N, K, dtype = "bf16", swizzle = "256B" },
  D = tensor { M, N },
}
