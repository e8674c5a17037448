local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { n = 0 },
  pipeline = { stages = 0 },
  arch = { sm_90a = {}, sm_80 = { tile = { k = 0 } } },
}
