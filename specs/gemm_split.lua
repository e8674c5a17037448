-- Few output tiles and much k: the blocks of a cluster share the turns over k. Each has the sums of its own turns;
-- behind the loop every block gets its columns from the others, through their shared memory, and stores them.
local M, N, K = dims "M N K"
local sizes = { { M = 72, N = 264, K = 712 }, { M = 41, N = 41, K = 1160 }, { M = 64, N = 40, K = 0 },
                { M = 264, N = 136, K = 40 } }

local bf16 = kernel "gemm_split_2" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile  = { m = 64, n = 64, k = 64 },
  split = { k = 2 },
  pipeline = { stages = 3 },
  arch  = { sm_90a = {} },
  run   = sizes,
}

kernel "gemm_split_4" { like = bf16, split = { k = 4 } }

kernel "gemm_split_8" { like = bf16, split = { k = 8 } }

-- Two consumers; beside the parts two tiles along m, which share B's.
kernel "gemm_split_cluster" { like = bf16, tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 } }

kernel "gemm_split_wide" {
  like = bf16, tile = { m = 128, n = 256, k = 64 }, cluster = { n = 2 }, pipeline = { stages = 2 },
}

kernel "gemm_split_bias_gelu_residual" {
  like = bf16,
  bias = tensor { N, axes = "n", dtype = "bf16" },
  R    = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return gelu(acc + t.bias) + t.R end,
}

kernel "gemm_split_two_outputs" {
  like = bf16,
  tile = { m = 128, n = 64, k = 64 },
  E    = tensor { M, N, dtype = "fp32", out = true },
  epilogue = function(acc, t, i) return { D = silu(acc), E = select(lt(i.n, i.m), acc, 0) } end,
}

kernel "gemm_split_alpha_beta" {
  like = bf16,
  C = tensor { M, N, dtype = "bf16" }, alpha = scalar("fp32", 0.5), beta = scalar("fp32", -1.5),
}

-- D lies with m innermost: its rows are the columns that blocks share.
kernel "gemm_split_turned" {
  like = bf16,
  A = tensor { K, M, axes = "k m", dtype = "bf16" }, B = tensor { K, N, axes = "k n", dtype = "bf16" },
  C = tensor { N, M, axes = "n m", dtype = "fp32" },
  D = tensor { N, M, axes = "n m", dtype = "bf16" },
}

kernel "gemm_split_fp8" {
  like = bf16, tile = { m = 64, n = 128, k = 128 }, split = { k = 4 },
  A = tensor { M, K, dtype = "fp8_e4m3" }, B = tensor { N, K, dtype = "fp8_e4m3" },
}

kernel "gemm_split_int8" {
  like = bf16,
  A = tensor { M, K, dtype = "int8" }, B = tensor { N, K, dtype = "int8" }, D = tensor { M, N, dtype = "int32" },
}

kernel "gemm_split_tf32" {
  like = bf16, tile = { k = 32 },
  A = tensor { M, K, dtype = "tf32" }, B = tensor { N, K, dtype = "tf32" }, D = tensor { M, N, dtype = "fp32" },
}
