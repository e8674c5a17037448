local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm", template = "plan_rings.cu",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  grid = { M }, threads = 32, rings = { { "A" } },
}
