-- The two products of an MLP, as one of several GPUs has them: hidden = gelu(x up^T + bias), of its columns of hidden,
-- and out = hidden down^T + bias, of its share of the sum. Each is scheduled in two ways.
local M, N, K = dims "M N K"

local up = kernel "up" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  bias = tensor { N, dtype = "fp32", axes = "n" },
  epilogue = function(acc, t) return gelu(acc + t.bias) end,
  tile = { m = 128, n = 256, k = 64 },
  cluster = { m = 2 },
  schedule = { order = "grouped", group = 8 },
  arch = { sm_90a = {}, sm_80 = { tile = { n = 128 }, cluster = { m = 1 } } },
  run = { { M = 264, N = 512, K = 520 } },
}
local down = kernel "down" { like = up, epilogue = function(acc, t) return acc + t.bias end }

-- Blocks take tiles from a counter: those that begin late, since a collective has their multiprocessors, find less to
-- do.
local taken = { schedule = { order = "grouped", group = 8, dynamic = true } }
kernel "up_dynamic"   { like = up, cluster = { m = 1 }, arch = { sm_90a = taken, sm_80 = { tile = { n = 128 } } } }
kernel "down_dynamic" { like = down, cluster = { m = 1 }, arch = { sm_90a = taken, sm_80 = { tile = { n = 128 } } } }
