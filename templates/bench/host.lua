-- The kernels of `tilewright bench --host`. 000: three descriptors of constant 512 x 512 fp16 tensors, boxes of
-- 64 x 64. 001: a kernel with three descriptors and three sizes.
local M, N, K = dims "M N K"
local small = { tile = { m = 64, n = 64, k = 64 }, cluster = { m = 1 }, pipeline = { consumers = 1 } }

kernel "case_000" {
  family = "gemm", arch = { sm_90a = {} },
  A = tensor { 512, 512, axes = "m k", dtype = "fp16", swizzle = "128B" },
  B = tensor { 512, 512, axes = "n k", dtype = "fp16", swizzle = "128B" },
  D = tensor { 512, 512, axes = "m n", dtype = "fp16", swizzle = "NONE" },
  tile = small.tile, cluster = small.cluster, pipeline = small.pipeline,
}

local case_001 = kernel "case_001" {
  family = "gemm", arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "fp16", swizzle = "128B" },
  B = tensor { N, K, dtype = "fp16", swizzle = "128B" },
  D = tensor { M, N, dtype = "fp16", swizzle = "NONE" },
  tile = small.tile, cluster = small.cluster, pipeline = small.pipeline,
}

kernel "case_001_programmatic" { like = case_001, launch = { programmatic = true } }
