local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tune = { tile = { n = { 128, 0, "wide" } }, threads = 128 },
}
