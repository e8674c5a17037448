local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16", swizzle = "128B" },
  B = tensor { N, K, dtype = "bf16", swizzle = "128B" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 256, k = 96 },
}
