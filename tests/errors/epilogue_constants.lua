local M, N, K = dims "M N K"
local plain = kernel "largest" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t, i) return max(acc * 3.4e38, -inf) end,
}
kernel "beyond" { like = plain, epilogue = function(acc, t, i) return acc * 1e39 end }
kernel "computed" { like = plain, epilogue = function(acc, t, i) return acc + exp(100) end }
kernel "too_small" { like = plain, epilogue = function(acc, t, i) return acc * 1e-300 end }
