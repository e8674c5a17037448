local M, N, K = dims "M N K"

local base = kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
}
kernel "unknown" { like = base, A = tensor { M, K, dtype = "bf16", fill = "zzz" } }
kernel "near" { like = base, A = tensor { M, K, dtype = "bf16", fill = "zeroes" } }
kernel "empty" { like = base, A = tensor { M, K, dtype = "bf16", fill = "" } }
kernel "number" { like = base, A = tensor { M, K, dtype = "bf16", fill = "documents" } }
kernel "range" { like = base, A = tensor { M, K, dtype = "bf16", fill = "documents 0" } }
kernel "two" { like = base, A = tensor { M, K, dtype = "bf16", fill = "integers 4" } }
kernel "order" { like = base, A = tensor { M, K, dtype = "bf16", fill = "integers 4 -4" } }
kernel "between" { like = base, A = tensor { M, K, dtype = "bf16", fill = "integers 0.2 0.8" } }
kernel "more" { like = base, A = tensor { M, K, dtype = "bf16", fill = "iota 3" } }
kernel "type" { like = base, A = tensor { M, K, dtype = "bf16", fill = 7 } }
kernel "function" { like = base, A = tensor { M, K, dtype = "bf16", fill = function(i, j) return i - j end } }
kernel "good" { like = base, A = tensor { M, K, dtype = "bf16", fill = "integers -4 4" } }
