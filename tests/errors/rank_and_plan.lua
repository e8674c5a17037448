-- A tensor of the wrong rank, and architectures that there are not: what else is wrong is told beside them.
local M, N, K = dims "M N K"
kernel "g" {
  family = "gemm",
  A = tensor { M, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 100, n = 128, k = 64 }, pipeline = { stages = 1 },
}
kernel "h" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 100, n = 128, k = 64 }, pipeline = { stages = 1 },
  arch = { sm_75 = {} },
}
kernel "i" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 100, n = 128, k = 64 }, pipeline = { stages = 1 },
  arch = { sm_75 = {}, sm_90a = {} },
}
