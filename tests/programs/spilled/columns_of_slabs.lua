-- Spilled: sm_80: what columns need was made before the loop over rows: rows in parts.
local K, Width = dims "K Width"

kernel "p" {
  family = "gemm",
  A = tensor { Width, 13, axes = "k m", dtype = "fp16" },
  B = tensor { K, Width, axes = "n k", dtype = "fp16" },
  D = tensor { K, 13, axes = "n m", dtype = "bf16", stride = { 13 + 8, 1 } },
  C = tensor { 13, K, axes = "m n", dtype = "fp16" },
  beta = scalar("fp32", 0),
  alpha = scalar("fp32", 1.25),
  next = tensor { 7, dtype = "uint8" },
  epilogue = function(acc, t, i)
    return acc * 1.5 + acc + 0.5 * t.next[i.n % 7]
  end,
  tile = { m = 64, n = 208, },
  pipeline = { stages = 4 },
  arch = { sm_90a = { cluster = { m = 2, n = 2 }, }, sm_80 = { } },
  run = { { K = 93, Width = 187 }, { K = 58, Width = 16 } },
}
