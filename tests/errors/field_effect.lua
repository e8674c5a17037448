local M, N, K = dims "M N K"
kernel "g" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  arch = { sm_80 = { cluster = { m = 2 }, pipeline = { consumers = 2 } }, sm_90a = { pipeline = { warps_m = 2, warps_n = 2 } } },
}
local g = kernel "both" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  cluster = { m = 2 }, pipeline = { consumers = 2 }, -- for sm_90a
}
kernel "inherits" { like = g, arch = { sm_80 = {} } } -- what the other says
kernel "alone" { like = g, arch = { sm_80 = {} }, cluster = { n = 2 }, pipeline = { turns = true } }
