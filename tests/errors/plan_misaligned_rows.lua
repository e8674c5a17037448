local M, N = dims "M N"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, 100, dtype = "bf16" },
  B = tensor { N, 100, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
}
