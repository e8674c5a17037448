local M, N, K = dims "M N K"
kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 },
  arch = { sm_90a = {}, sm_80 = { cluster = { m = 1 } } },
}
