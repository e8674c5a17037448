-- Faults of fields, of functions and of Plans, of several kernels, in one run.
local M, N, K = dims "M N K"

local first = kernel "first" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 192, n = 100 },
  cluster = { m = 4, n = 4 },
  pipeline = { consumers = 2, stages = 1 },
}
kernel "second" {
  like = first,
  tyle = { n = 128 },
  epilogue = function(acc, t) return acc + t.bias end,
}
kernel "third" {
  family = "gemm",
  A = tensor { M, 100, dtype = "bf16" },
  B = tensor { N, 100, dtype = "bf17" },
  D = tensor { M, N, dtype = "bf16" },
}
kernel "fourth" {
  family = "gemm",
  A = tensor { M, 100, dtype = "bf16" },
  B = tensor { N, 100, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
}
