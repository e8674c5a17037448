local M, N, K = dims "M N K"

local base = kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  bias = tensor { M, axes = "m", dtype = "bf16" },
  epilogue = function(acc, t, i) return acc + t.bias[i.m % 0] end,
}
kernel "quotient" { like = base, epilogue = function(acc, t, i) return acc + t.bias[i.m // (2 - 2)] end }
local half = N // 0
