-- D = A B^T of few rows m: tokens that are decoded, against all rows of a weight B. wgmma's 64 rows go to the weight
-- (pipeline.swap, which tiles of fewer than 64 rows have by themselves), its columns to the tokens, of which it takes
-- any multiple of 8. The weight is read once, through all of shared memory, and need not stay in the L2, where every
-- block finds the tokens.
local M, N, K = dims "M N K"

local m8 = kernel "gemm_bf16_m8" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "bf16" },
  B        = tensor { N, K, dtype = "bf16" },
  D        = tensor { M, N, dtype = "bf16" },
  tile     = { m = 8, n = 64, k = 128 },
  cache    = { A = "evict_last", B = "evict_first" },
  arch     = { sm_90a = {} },
  run      = {
    { M = 1, N = 264, K = 136 }, { M = 7, N = 41, K = 2056 }, { M = 16, N = 264, K = 0 }, { M = 17, N = 264, K = 904 },
    { M = 72, N = 264, K = 2056 },
  },
  bench    = { { M = 1, N = 4096, K = 4096 }, { M = 1, N = 28672, K = 4096 } },
}

-- Bias, activation and residual.
kernel "gemm_bf16_m16" {
  like     = m8,
  bias     = tensor { N, axes = "n", dtype = "bf16" },
  R        = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return gelu(acc + t.bias) + t.R end,
  tile     = { m = 16 },
  bench    = { { M = 16, N = 4096, K = 4096 } },
}

-- D by columns.
kernel "gemm_bf16_m32" { like = m8, D = tensor { N, M, axes = "n m", dtype = "bf16" }, tile = { m = 32 } }

-- Tiles of 64 rows and more could go either way: here the weight's rows are those of two consumers.
kernel "gemm_bf16_m64" {
  like     = m8,
  C        = tensor { M, N, dtype = "bf16" },
  alpha    = scalar("fp32", 0.5),
  beta     = scalar("fp32", 2),
  tile     = { m = 64, n = 128, k = 64 },
  pipeline = { swap = true },
  run      = { { M = 72, N = 520, K = 904 }, { M = 16, N = 264, K = 0 }, { M = 7, N = 41, K = 1032 } },
  bench    = { { M = 64, N = 4096, K = 4096 }, { M = 64, N = 7168, K = 2048 } },
}
kernel "gemm_bf16_m128" {
  like     = m8,
  D        = tensor { M, N, dtype = "fp32" },
  tile     = { m = 128, k = 64 },
  pipeline = { swap = true },
  bench    = { { M = 128, N = 7168, K = 2048 }, { M = 128, N = 24576, K = 1536 } },
}

-- fp8, one scale a row of A and a row of B.
kernel "gemm_fp8_m16" {
  like     = m8,
  A        = tensor { M, K, dtype = "fp8_e4m3" },
  B        = tensor { N, K, dtype = "fp8_e4m3" },
  a_scale  = tensor { M, dtype = "fp32", axes = "m" },
  b_scale  = tensor { N, dtype = "fp32", axes = "n" },
  epilogue = function(acc, t) return acc * (t.a_scale * t.b_scale) end,
  tile     = { m = 16, n = 128, k = 256 },
  run      = {
    { M = 1, N = 264, K = 144 }, { M = 17, N = 41, K = 2832 }, { M = 16, N = 264, K = 0 },
    { M = 40, N = 264, K = 2832 },
  },
}
