-- The family gemm: tiles, clusters and types that Hopper cannot have, each told at its field.
local M, N, K = dims "M N K"
local base = kernel "ok" { family = "gemm", arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" } }
kernel "wide3" { like = base, tile = { m = 192, n = 256 } }
kernel "two_blocks" { like = base, tile = { m = 256, n = 256 } }
kernel "rows" { like = base, tile = { m = 100 } }
kernel "columns" { like = base, tile = { n = 100 } }
kernel "slice" { like = base, tile = { n = 120 }, cluster = { m = 2 } }
kernel "big_cluster" { like = base, cluster = { m = 8, n = 4 } }
kernel "stages" { like = base, pipeline = { stages = 8 } }
kernel "one_stage" { like = base, pipeline = { stages = 1 } }
kernel "depth" { like = base, tile = { k = 512 } }
kernel "k" { like = base, tile = { k = 40 } }
kernel "dtypes" { like = base, A = tensor { M, K, dtype = "fp16" } }
kernel "integers" { like = base, D = tensor { M, N, dtype = "int32" } }
kernel "swz" { like = base, tile = { n = 72 }, D = tensor { M, N, dtype = "bf16", swizzle = "128B" } }
kernel "doubleC" { like = base, C = tensor { M, N, dtype = "fp64" } }
kernel "consumers" { like = base, tile = { m = 128 }, pipeline = { consumers = 3 } }
kernel "epi" { like = base, bias = tensor { N, axes = "n", dtype = "bf16" }, epilogue = function(acc, t) return { D = acc, bias = acc } end }
