local function leaky(x, slope)
  return x > 0 and x or x * slope
end

local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc) return leaky(acc, 0.1) end,
}
