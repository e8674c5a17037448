local M, N, K = dims "M N K"
local A, B = tensor { M, K, dtype = "bf16" }, tensor { N, K, dtype = "bf16" }
local D = tensor { M, N, dtype = "bf16" }

-- asked is said of an architecture.
kernel "everywhere" { family = "gemm", A = A, B = B, D = D, asked = true }
kernel "tuned" { family = "gemm", A = A, B = B, D = D, tune = { asked = { true, false } } }
kernel "tilewright_host" { family = "gemm", A = A, B = B, D = D }
