-- 256 x 200: its sums leave 32 registers, which is enough where tiles come and results leave by bulk copies alone.
local M, N, K = dims "M N K"
local base = kernel "base" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 256, n = 192, k = 64 }, arch = { sm_90a = {} },
}
kernel "any_alignment" { like = base, tile = { n = 200 } }
kernel "by_elements" {
  like = base, tile = { n = 200 }, B = tensor { 403, K, dtype = "bf16" }, D = tensor { M, 403, dtype = "bf16" },
}
kernel "n_innermost" {
  like = base, tile = { n = 200 },
  B = tensor { K, 408, axes = "k n", dtype = "bf16" }, D = tensor { M, 408, dtype = "bf16" },
}
