-- Spilled: sm_80: so for two outputs that are stored together.
local K, Width, k = dims "K Width k"

kernel "p" {
  family = "gemm",
  A = tensor { k, K, axes = "k m", dtype = "bf16", swizzle = "32B" },
  B = tensor { Width, k, axes = "n k", dtype = "bf16" },
  D = tensor { K, Width, axes = "m n", dtype = "bf16" },
  x = tensor { K, Width, axes = "m n", dtype = "fp32", out = true, stride = { Width + 16, 1 } },
  bias = tensor { Width, K, axes = "n m", dtype = "int16" },
  epilogue = function(acc, t, i)
    return { D = acc * 0.5 + acc + 0.5 * t.bias, x = acc * 0.5 + max((((t.bias - acc) / (1.5 + abs(acc))) / (1.5 + abs(0.25))), where(le(t.bias, log2(abs(3.4))), gelu(t.bias), 0.25)) }
  end,
  tile = { n = 200, },
  pipeline = { stages = 3 },
  schedule = { order = "row", persistent = false },
  arch = { sm_90a = { pipeline = { consumers = 2 }, }, sm_80 = { } },
  run = { { K = 128, Width = 82, k = 136 }, { K = 8, Width = 96, k = 8 } },
}
