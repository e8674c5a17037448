local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  [""] = tensor { 256, dtype = "fp32" },
  ["a.b"] = tensor { 256, dtype = "fp32" },
  ["."] = scalar "fp32",
  ["[1]"] = scalar "fp32",
  ["["] = 5,
  tile = { [""] = 1, m = 128, ["."] = 3 },
}
