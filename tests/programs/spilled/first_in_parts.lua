-- Did not compile: a tensor of this name, where a warp of sm_80 stores rows in parts.
local N = dims "N"

kernel "p" {
  family = "gemm",
  A = tensor { 124, N, axes = "m k", dtype = "bf16" },
  B = tensor { 96, N, axes = "n k", dtype = "bf16" },
  D = tensor { 124, 96, axes = "m n", dtype = "bf16" },
  gate = tensor { 7, dtype = "int16" },
  first = tensor { 124, 96, axes = "m n", dtype = "fp16" },
  R = tensor { 124, axes = "m", dtype = "fp32" },
  epilogue = function(acc, t, i)
    return acc * 0.5 + (t.gate[i.n % 7] + 0.25) + 0.5 * t.gate[i.n % 7] + 0.5 * t.first + 0.5 * t.R
  end,
  tile = { m = 64, n = 256 },
  pipeline = { stages = 3 },
  arch = { sm_90a = { cluster = { m = 1, n = 2 }, pipeline = { consumers = 1 }, }, sm_80 = { pipeline = { warps_m = 4, warps_n = 1 } } },
  run = { { N = 8 }, { N = 8 } },
}
