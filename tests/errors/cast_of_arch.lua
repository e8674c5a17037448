local M, N, K = dims "M N K"
local plain = kernel "both" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc) return cast(cast(acc, "fp8_e4m3"), "fp32") end,
}
kernel "newer" { like = plain, arch = { sm_90a = {} } }
