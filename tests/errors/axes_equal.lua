local M, N, K = dims "M N K"
local function square(n) return tensor { n, n, dtype = "bf16" } end

kernel "all_equal" {
  family = "gemm", A = square(1024), B = square(1024), D = square(1024),
}
kernel "weights" {
  family = "gemm",
  A = tensor { M, 4096, dtype = "bf16" },
  B = square(4096),
  D = tensor { M, 4096, dtype = "bf16" },
}
kernel "beside" {
  family = "gemm",
  A = tensor { 1024, K, dtype = "bf16" },
  B = tensor { 1024, K, dtype = "bf16" },
  D = tensor { 1024, 1024, axes = "m n", dtype = "bf16" },
  bias = tensor { 1024, dtype = "bf16" },
  R = square(1024),
  epilogue = function(acc, t) return acc + t.bias + t.R end,
}
kernel "residual" {
  family = "gemm",
  A = tensor { 1024, K, dtype = "bf16" },
  B = tensor { 1024, K, dtype = "bf16" },
  D = tensor { 1024, 1024, axes = "m n", dtype = "bf16" },
  R = square(1024),
  epilogue = function(acc, t) return acc + t.R end,
}
