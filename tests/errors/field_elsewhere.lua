local M, N, K = dims "M N K"
kernel "g" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  stages = 4, n = 128, warps_m = 2, order = "row",
  pipeline = { persistent = false, group = 4 },
  arch = { sm_90a = { consumers = 1 }, sm_80 = {} },
}
