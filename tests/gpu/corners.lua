-- Tiles, clusters, swizzles and schedules off the beaten track, each once: run by tests/gpu/run, compiled by
-- tests/generate.sh.
local M, N, K = dims "M N K"
local sizes = { { M = 600, N = 800, K = 256 }, { M = 17, N = 72, K = 0 }, { M = 1000, N = 104, K = 1000 } }
local function gemm(name, spec)
  spec.family, spec.run, spec.arch = "gemm", sizes, { sm_90a = {} }
  spec.A = spec.A or tensor { M, K, dtype = "bf16" }
  spec.B = spec.B or tensor { N, K, dtype = "bf16" }
  spec.D = spec.D or tensor { M, N, dtype = "bf16" }
  return kernel(name)(spec)
end

gemm("three_consumers", { tile = { m = 192, n = 160 }, cluster = { m = 1, n = 2 } })
gemm("cluster_2x2", { A = tensor { K, M, axes = "k m", dtype = "bf16", swizzle = "64B" },
                      B = tensor { N, K, dtype = "bf16", swizzle = "32B" },
                      tile = { m = 64, n = 96, k = 32 }, cluster = { m = 2, n = 2 } })
gemm("cluster_4x1", { tile = { m = 128, n = 64, k = 64 }, cluster = { m = 4, n = 1 } })
gemm("cluster_1x4", { tile = { m = 128, n = 64, k = 64 }, cluster = { m = 1, n = 4 } })
gemm("no_swizzle", { A = tensor { M, K, dtype = "fp16", swizzle = "NONE" },
                     B = tensor { K, N, axes = "k n", dtype = "fp16", swizzle = "NONE" },
                     D = tensor { N, M, axes = "n m", dtype = "fp32" }, tile = { m = 256, n = 128, k = 32 } })
gemm("no_swizzle_at", { A = tensor { K, M, axes = "k m", dtype = "fp16", swizzle = "NONE" },
                        B = tensor { N, K, dtype = "fp16", swizzle = "NONE" },
                        D = tensor { M, N, dtype = "fp16", swizzle = "32B" }, tile = { m = 128, n = 48, k = 32 } })
gemm("narrow", { tile = { m = 128, n = 8, k = 128 }, cluster = { m = 1 }, schedule = { order = "row", persistent = false } })
gemm("one_consumer", { tile = { m = 64, n = 256 }, schedule = { order = "column" }, pipeline = { stages = 2 } })
gemm("tall", { tile = { m = 256, n = 96 }, B = tensor { K, N, axes = "k n", dtype = "bf16" }, schedule = { group = 3 } })
gemm("fp32_columns", { D = tensor { N, M, axes = "n m", dtype = "fp32" }, tile = { m = 128, n = 112 }, cluster = { m = 2 } })
gemm("programmatic", { tile = { m = 128, n = 128 }, launch = { programmatic = true } })
-- Results in boxes without a swizzle, whose rows begin in banks of their own.
gemm("plain_boxes", { tile = { m = 128, n = 120 }, cluster = { m = 1 } })
gemm("plain_boxes_fp32", { D = tensor { M, N, dtype = "fp32" }, tile = { m = 192, n = 72 }, cluster = { m = 1 } })
gemm("plain_whole", { tile = { m = 256, n = 176 }, cluster = { m = 2 }, pipeline = { store = "whole" } })
gemm("blocks_whole", { tile = { m = 256, n = 160 }, pipeline = { store = "whole" } })
