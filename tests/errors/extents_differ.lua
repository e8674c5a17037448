local M, N, K, L = dims "M N K L"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, L, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
}
