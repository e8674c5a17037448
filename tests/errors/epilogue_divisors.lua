local M, N, K = dims "M N K"
local plain = kernel "dims" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t, i) return acc + i.n % M + i.m // (i.n + 1) + i.m % max(i.n, 1) + i.n // (M // N) end,
}
kernel "by_index" { like = plain, epilogue = function(acc, t, i) return acc + i.n % i.m end }
kernel "by_difference" { like = plain, epilogue = function(acc, t, i) return acc + i.n // (i.n - i.m) end }
kernel "by_element" {
  like = plain,
  period = tensor { M, axes = "m", dtype = "int32" },
  epilogue = function(acc, t, i) return acc + i.n % t.period end,
}
kernel "by_zero" { like = plain, epilogue = function(acc, t, i) return acc + i.n % (i.m - i.m) end }
