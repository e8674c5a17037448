-- Spilled: a value kept for two stores unrolled both.
local m = dims "m"

kernel "p" {
  family = "gemm",
  A = tensor { 119, 32, axes = "m k", dtype = "bf16" },
  B = tensor { m, 32, axes = "n k", dtype = "bf16" },
  D = tensor { 119, m, axes = "m n", dtype = "fp16" },
  alpha = scalar("fp32", 1.25),
  Zero = tensor { m, 119, axes = "n m", dtype = "fp32", out = true },
  e_ = tensor { 119, axes = "m", dtype = "fp32" },
  x = tensor { m, axes = "n", dtype = "fp32" },
  y = tensor { m, axes = "n", dtype = "int32" },
  epilogue = function(acc, t, i)
    return { D = acc * 0.5 + (acc + 0.125 * ((i.n * (i.m // 5)) % 16)) + 0.5 * t.e_ + 0.5 * t.x + 0.5 * t.y, Zero = acc * 0.5 + min(acc, ((t.x + 0.125 * (-4 % 16)) / (1.5 + abs(acc)))) }
  end,
  tile = { n = 144, },
  arch = { sm_90a = { }, sm_80 = { } },
  run = { { m = 40 }, { m = 9 } },
}
