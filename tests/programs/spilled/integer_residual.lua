-- Spilled: loads of integers are 64 bits wide for each place of a chunk: smaller chunks.
local M, rows = dims "M rows"

kernel "p" {
  family = "gemm",
  A = tensor { 120, rows, axes = "m k", dtype = "bf16" },
  B = tensor { M, rows, axes = "n k", dtype = "bf16" },
  D = tensor { 120, M, axes = "m n", dtype = "bf16" },
  residual = tensor { 120, M, axes = "m n", dtype = "int32", stride = { M + 8, 1 } },
  inside = tensor { 120, M, axes = "m n", dtype = "fp32" },
  epilogue = function(acc, t, i)
    return acc * 1.5 + 0.25 + 0.5 * t.residual + 0.5 * t.inside
  end,
  tile = { k = 64 },
  arch = { sm_90a = { cluster = { m = 2, n = 2 }, }, sm_80 = { } },
  run = { { M = 81, rows = 126 }, { M = 129, rows = 136 } },
}
