-- A value to try that no plan can take, alone or beside a value of another field: 192 rows fit three consumers.
local M, N, K = dims "M N K"

local base = kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  pipeline = { consumers = 2 },
  tune = {
    tile = { n = { 13, 128, 300 }, m = { 192, 100 } },
    cluster = { m = { 2, 3 } },
    pipeline = { consumers = { 3 }, stages = { 4, 1, 16 } },
  },
}
kernel "narrow" { like = base, tile = { n = 64 }, tune = { tile = { n = 96, k = { 32, 20 } } } }
