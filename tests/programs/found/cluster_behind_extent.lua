-- Tiles that divide their extent need no condition on rows, and blocks of a cluster make whole clusters: the second block
-- of the last one wrote behind the tensor.
local M, N, K = dims "M%128 N K"
local plain = kernel "constant" {
  family = "gemm",
  A = tensor { 128, K, axes = "m k", dtype = "bf16" },
  B = tensor { N, K, axes = "n k", dtype = "bf16" },
  D = tensor { 128, N, axes = "m n", dtype = "bf16" },
  tile = { m = 128, n = 48 },
  run = { { N = 40, K = 72 } },
}
kernel "multiple" {
  like = plain,
  A = tensor { M, K, axes = "m k", dtype = "bf16" },
  D = tensor { M, N, axes = "m n", dtype = "bf16" },
  run = { { M = 128, N = 41, K = 72 } },
}
kernel "asked" { like = plain, cluster = { m = 2 }, arch = { sm_90a = {} } }
