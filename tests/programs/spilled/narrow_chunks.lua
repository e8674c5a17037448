-- refused by REGS: three outputs in chunks of 16 bytes a row, beside integers.
local batch, k, N = dims "batch k N"

kernel "p" {
  family = "gemm",
  A = tensor { batch, N, axes = "m k", dtype = "bf16", swizzle = "32B" },
  B = tensor { k, N, axes = "n k", dtype = "bf16" },
  D = tensor { batch, k, axes = "m n", dtype = "bf16", swizzle = "NONE" },
  x = tensor { k, batch, axes = "n m", dtype = "bf16", out = true },
  bias = tensor { batch, k, axes = "m n", dtype = "fp16", out = true },
  gate = tensor { k, batch, axes = "n m", dtype = "uint8" },
  w = tensor { batch, k, axes = "m n", dtype = "int32" },
  c0 = tensor { batch, axes = "m", dtype = "uint8" },
  epilogue = function(acc, t, i)
    return { D = acc * 0.5 + max((max((3.8 + acc), sigmoid(acc)) - gelu(acc)), min(((acc + 0.125 * (i.m % 16)) / (1.5 + abs((1.8 + 2.4)))), t.w)) + 0.5 * t.gate + 0.5 * t.w + 0.5 * t.c0, x = acc * 1.5 + (t.c0 / (1.5 + abs(acc))), bias = acc * 1.5 + select(eq(acc, (exp(min(0.25, 3)) + 0.125 * ((29 % 1) % 16))), (tanh(t.w) + 0.125 * (i.n % 16)), (abs((0.25 / (1.5 + abs(acc)))) + 0.125 * (i.m % 16))) }
  end,
  arch = { sm_90a = { cluster = { m = 2, n = 1 }, }, sm_80 = { pipeline = { warps_m = 2, warps_n = 1 }, } },
  run = { { batch = 120, k = 48, N = 24 }, { batch = 8, k = 8, N = 20 } },
}
