local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  run = { { M = 256, N = 256 }, { M = 256, N = 256, K = 64, L = 1 }, { M = -1, N = 1, K = 1.5 } },
  bench = { M = 4096, N = 4096, K = 4096 },
}
