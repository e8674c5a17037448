local M, N, K = dims "M N K"
local base = kernel "base" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  lut = tensor { 256, dtype = "fp32" }, epilogue = function(acc, t) return acc + t.lut[0] end,
}
kernel "before" { like = base, epilogue = function(acc, t) return acc + t.lut[-1] end }
kernel "behind" { like = base, epilogue = function(acc, t) return acc + t.lut[255] + t.lut[256] end }
