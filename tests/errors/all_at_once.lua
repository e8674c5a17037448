local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { mm = 128 },
  epilogue = function(acc, t) return acc + t.bias end,
}
kernel "second" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf17" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  run = { { M = 1 } },
}
local x = undefined_name
