-- Fields that stand in another table than theirs: each message names the place.
local M, N, K = dims "M N K"

kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16", stages = 4, cluster = { m = 2 }, run = { { M = 1 } } },
  B = tensor { N, K, dtype = "bf16", l2_promotion = "128B", sm_80 = {} },
  D = tensor { M, N, dtype = "bf16" },
  swizzle = "128B",
  dtype = "bf16",
  sm_80 = { tile = { m = 64 } },
  m = 128,
  order = "row",
  tile = { m = 128, stages = 3, cluster = { m = 2 }, epilogue = 1, l2_promotion = "64B", swizzle = "32B" },
  cluster = { tile = { n = 64 }, consumers = 2, sm_90a = {} },
  schedule = { stages = 4, tile = { m = 64 }, m = 64, schedule = { group = 4 }, max_registers = 128 },
  pipeline = { order = "row", run = {}, axes = "m" },
  tune = { stages = { 3, 4 }, run = { {} }, dtype = "fp16" },
  arch = { stages = 4, tile = { m = 64 }, sm_90a = { run = { {} }, persistent = true, n = 128, swizzle = "64B" } },
}
