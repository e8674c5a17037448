local M, N, K = dims "M N K"
kernel "g" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  arch = { sm_80 = {} }, tile = { m = 128, n = 128, k = 32 }, pipeline = { warps_m = 8, warps_n = 4 },
}
