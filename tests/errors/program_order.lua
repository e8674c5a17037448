-- A Hilbert curve fills squares whose side is a power of two.
local M, N, K = dims "M N K"
local k = kernel "of_twelve" {
  family = "gemm", tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {}, sm_80 = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  schedule = { order = "hilbert", group = 12 },
}
kernel "of_one" { like = k, schedule = { group = 1 } }
