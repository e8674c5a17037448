-- Spilled: unrolled, two outputs kept their products with alpha: loops.
local batch, E0, N = dims "batch E0 N"

kernel "p" {
  family = "gemm",
  A = tensor { batch, N, axes = "m k", dtype = "bf16" },
  B = tensor { E0, N, axes = "n k", dtype = "bf16" },
  D = tensor { batch, E0, axes = "m n", dtype = "fp32" },
  alpha = scalar("fp32", 1.25),
  R = tensor { E0, batch, axes = "n m", dtype = "fp16", out = true },
  gate = tensor { E0, batch, axes = "n m", dtype = "bf16", out = true, stride = { batch + 0, 1 } },
  first = tensor { batch, axes = "m", dtype = "int16" },
  turn = tensor { batch, axes = "m", dtype = "int32" },
  Aux = tensor { 7, dtype = "fp32" },
  epilogue = function(acc, t, i)
    return { D = acc * 1.5 + 0.25 + 0.5 * t.first + 0.5 * t.turn + 0.5 * t.Aux[i.m % 7], R = acc * 0.5 + acc, gate = acc * 1.5 + (acc * 0.25) }
  end,
  tile = { k = 32 },
  arch = { sm_90a = { cluster = { m = 2, n = 2 }, }, sm_80 = { pipeline = { warps_m = 4, warps_n = 1 }, } },
  run = { { batch = 3, E0 = 147, N = 136 }, { batch = 57, E0 = 92, N = 3 } },
}
