-- out = in weights^T: a layer without more.
local M, N, K = dims "M N K"

kernel "layer" {
  family = "gemm",
  A = tensor { M, K, dtype = "fp16" },
  B = tensor { N, K, dtype = "fp16" },
  D = tensor { M, N, dtype = "fp16" },
  tile = { m = 64, n = 64, k = 64 },
  arch = { sm_90a = { pipeline = { consumers = 1 } }, sm_80 = {} },
  run = { { M = 100, N = 64, K = 64 } },
}
