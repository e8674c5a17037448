-- Three consumers have the registers for 64 x 224 sums, but not before setmaxnreg.
local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { n = 224 },
  pipeline = { consumers = 3 },
  arch = { sm_90a = {} },
}
