-- D = A B^T and what is fused to it. Axes m n k: A is "m k", B is "n k", D is "m n", innermost last.
local M, N, K = dims "M N K"

-- The smallest whole spec has a family and three tensors. What is left out here (swizzles, stages, registers) is chosen
-- for each architecture; `tilewright plan specs/gemm.lua --why` says how.
local bf16 = kernel "gemm_bf16" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "bf16" },
  B        = tensor { N, K, dtype = "bf16" },
  D        = tensor { M, N, dtype = "bf16" },
  tile     = { m = 128, n = 256, k = 64 },
  cluster  = { m = 2 },
  schedule = { order = "grouped", group = 8 },
  arch     = { sm_90a = {}, sm_80 = { tile = { n = 128 }, cluster = { m = 1 }, pipeline = { stages = 3 } } },
  tune     = { tile = { m = { 8, 16, 32, 64, 128, 192, 256 }, n = { 32, 64, 96, 112, 128, 160, 176, 192, 200, 256 },
                        k = { 64, 128, 256 } },
               cluster = { m = { 1, 2 }, n = { 1, 2 } } },
  run      = {
    { M = 264, N = 512, K = 136 }, { M = 41, N = 41, K = 328 }, { M = 64, N = 40, K = 0 }, { M = 41, N = 48, K = 520 },
  },
  bench    = {
    { M = 512, N = 512, K = 512 }, { M = 1024, N = 1024, K = 1024 }, { M = 2048, N = 2048, K = 2048 },
    { M = 4096, N = 4096, K = 4096 }, { M = 8192, N = 8192, K = 8192 }, { M = 16384, N = 8192, K = 8192 },
    { M = 4096, N = 14336, K = 4096 }, { M = 4096, N = 4096, K = 14336 }, { M = 4096, N = 6144, K = 4096 },
    { M = 8192, N = 28672, K = 8192 }, { M = 8192, N = 8192, K = 28672 }, { M = 1, N = 4096, K = 4096 },
    { M = 16, N = 4096, K = 4096 }, { M = 64, N = 4096, K = 4096 }, { M = 64, N = 7168, K = 2048 },
    { M = 128, N = 7168, K = 2048 }, { M = 128, N = 24576, K = 1536 }, { M = 4096, N = 7168, K = 2048 },
    { M = 4096, N = 24576, K = 1536 }, { M = 4096, N = 2112, K = 7168 },
  },
}

-- Layouts: each operand with k or its own axis innermost, D by rows or by columns. Rows are multiples of 16 bytes, so
-- M and N are multiples of 8 where A and B are read along them.
local along_m = tensor { K, M, axes = "k m", dtype = "bf16" }
local along_n = tensor { K, N, axes = "k n", dtype = "bf16" }
local columns = tensor { N, M, axes = "n m", dtype = "bf16" }

kernel "gemm_bf16_at"      { like = bf16, A = along_m }
kernel "gemm_bf16_bt"      { like = bf16, B = along_n }
kernel "gemm_bf16_at_bt"   { like = bf16, A = along_m, B = along_n }
kernel "gemm_bf16_dt"      { like = bf16, D = columns }
kernel "gemm_bf16_at_dt"   { like = bf16, A = along_m, D = columns }
kernel "gemm_bf16_bt_dt"   { like = bf16, B = along_n, D = columns }
kernel "gemm_bf16_at_bt_dt" { like = bf16, A = along_m, B = along_n, D = columns }

-- Types: bf16 and fp16 in; bf16, fp16 and fp32 out. An fp32 tile of D takes twice the shared memory: a smaller n.
local fp16 = kernel "gemm_fp16" {
  like = bf16,
  A    = tensor { M, K, dtype = "fp16" },
  B    = tensor { N, K, dtype = "fp16" },
  D    = tensor { M, N, dtype = "fp16" },
}
kernel "gemm_bf16_to_fp16" { like = bf16, D = tensor { M, N, dtype = "fp16" } }
kernel "gemm_fp16_to_bf16" { like = fp16, D = tensor { M, N, dtype = "bf16" } }
for name, base in pairs { bf16 = bf16, fp16 = fp16 } do
  kernel("gemm_" .. name .. "_to_fp32") { like = base, D = tensor { M, N, dtype = "fp32" }, tile = { n = 128 } }
end

-- D = alpha A B^T + beta C; where beta is 0, C is not read.
kernel "gemm_bf16_scaled" {
  like  = bf16,
  C     = tensor { M, N, dtype = "bf16" },
  alpha = scalar("fp32", 0.5),
  beta  = scalar("fp32", 2),
}

-- Fused arithmetic: a tensor without an index broadcasts along its axes.
local bias     = tensor { N, axes = "n", dtype = "bf16" }
local residual = tensor { M, N, dtype = "bf16" }

kernel "gemm_bf16_bias"          { like = bf16, bias = bias, epilogue = function(acc, t) return acc + t.bias end }
kernel "gemm_bf16_residual"      { like = bf16, R = residual, epilogue = function(acc, t) return acc + t.R end }
kernel "gemm_bf16_relu"          { like = bf16, epilogue = function(acc) return relu(acc) end }
kernel "gemm_bf16_bias_silu"     { like = bf16, bias = bias, epilogue = function(acc, t) return silu(acc + t.bias) end }
kernel "gemm_bf16_bias_gelu" {
  like = bf16,
  bias = bias,
  R    = residual,
  epilogue = function(acc, t) return gelu(acc + t.bias) + t.R end,
}

-- Two outputs: what the backward pass needs (the value before the activation) beside the activation.
kernel "gemm_bf16_two_outputs" {
  like = bf16,
  bias = bias,
  E    = tensor { M, N, dtype = "bf16", out = true },
  epilogue = function(acc, t)
    local x = acc + t.bias
    return { D = gelu_tanh(x), E = x }
  end,
}
