local M, N, K = dims "M N K"

local base = kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  beta = scalar("fp32", 2),
}
kernel "reads_it" {
  like = base,
  C = tensor { M, N, dtype = "bf16" },
}
kernel "traces_it" { like = base, epilogue = function(acc, t, i) return acc * t.beta end }
kernel "other" { like = base, beta = false, slope = scalar "fp32" }
