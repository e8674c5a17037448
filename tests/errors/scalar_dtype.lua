-- A scalar of fp8.
local M, N, K = dims "M N K"
kernel "g" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  alpha = scalar("fp8_e4m3", 2),
}
