local M, N, K = dims "M N K"
local A, B = tensor { M, K, dtype = "bf16" }, tensor { N, K, dtype = "bf16" }

kernel "overlap" {
  family = "gemm", A = A, B = B,
  D = tensor { M, N, stride = { 8, 1 }, dtype = "bf16" },
  run = { { M = 1, N = 72, K = 40 }, { M = 70, N = 8, K = 40 }, { M = 70, N = 72, K = 40 } },
}
kernel "overlap_always" {
  family = "gemm", A = tensor { 128, K, dtype = "bf16" }, B = tensor { 64, K, dtype = "bf16" },
  D = tensor { 128, 64, stride = { 32, 1 }, dtype = "bf16" },
}
kernel "backwards" {
  family = "gemm", A = tensor { M, K, stride = { -K, 1 }, dtype = "bf16" }, B = B,
  D = tensor { M, N, dtype = "bf16" },
}
kernel "backwards_at" {
  family = "gemm", A = tensor { M, K, stride = { K - 64, 1 }, dtype = "bf16" }, B = B,
  D = tensor { M, N, dtype = "bf16" },
  bench = { { M = 70, N = 72, K = 128 }, { M = 70, N = 72, K = 40 } },
}
