-- Corners of the family gemm that its shipped kernels leave out: operands of the arithmetic however they lie,
-- clusters along both axes, orders, consumers, warps, sizes known beforehand.
local M, N, K = dims "M N K"

local whole = { pipeline = { store = "whole" } }

local base = kernel "corner" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 128, k = 64 },
  arch = { sm_90a = {}, sm_80 = { pipeline = { stages = 3 } } },
  run = { { M = 264, N = 144, K = 584 }, { M = 131, N = 67, K = 72 }, { M = 520, N = 8, K = 0 } },
}

kernel "corner_turned_operands" {
  like = base,
  C = tensor { N, M, dtype = "fp16", axes = "n m" },
  R = tensor { N, M, dtype = "fp32", axes = "n m" },
  D = tensor { N, M, dtype = "fp32", axes = "n m" },
  alpha = scalar("fp32", 0.5),
  beta = scalar("fp32", -2),
  tile = { n = 64 },
  epilogue = function(acc, t) return relu(acc) + t.R end,
}
-- C is not read.
kernel "corner_beta_zero" {
  like = base, C = tensor { M, N, dtype = "bf16" }, beta = scalar("fp32", 0), alpha = scalar("fp32", 1),
}
kernel "corner_row_bias" {
  like = base,
  bias = tensor { M, axes = "m", dtype = "fp32" },
  scale = tensor { N, axes = "n", dtype = "fp32" },
  epilogue = function(acc, t, i) return (acc + t.bias) * t.scale + i.m - i.n end,
}
kernel "corner_neighbours" {
  like = base,
  bias = tensor { N, axes = "n", dtype = "bf16" },
  epilogue = function(acc, t, i) return acc + t.bias + t.bias[max(i.n - 1, 0)] end,
}
kernel "corner_outputs" {
  like = base,
  bias = tensor { N, axes = "n", dtype = "bf16" },
  E = tensor { N, M, dtype = "fp16", axes = "n m", out = true },
  F = tensor { M, N, dtype = "fp32", out = true },
  tile = { n = 96 },
  epilogue = function(acc, t)
    local x = acc + t.bias
    return { D = silu(x), E = x, F = x * 0.5 }
  end,
}
kernel "corner_cluster_n" { like = base, cluster = { m = 1, n = 2 }, schedule = { order = "column" } }
kernel "corner_cluster_both" { like = base, cluster = { m = 2, n = 2 }, schedule = { order = "row" } }
kernel "corner_alone" { like = base, cluster = { m = 1 }, schedule = { persistent = false } }
kernel "corner_one_consumer" {
  like = base, tile = { m = 64, n = 248 }, cluster = { m = 1 }, launch = { programmatic = true },
  arch = { sm_90a = {}, sm_80 = { tile = { n = 184 } } },
  run = { { M = 72, N = 272, K = 584 }, { M = 131, N = 67, K = 72 }, { M = 520, N = 8, K = 0 } },
}
kernel "corner_three_consumers" { like = base, tile = { m = 192, n = 160 }, pipeline = { stages = 3 },
  run = { { M = 200, N = 500, K = 328 } } }
kernel "corner_blocks" {
  like = base,
  tile = { m = 256, n = 160 },
  R = tensor { M, N, dtype = "bf16" },
  run = { { M = 520, N = 168, K = 584 } },
  epilogue = function(acc, t) return acc + t.R end,
}
kernel "corner_warps" {
  like = base,
  schedule = { persistent = true },
  arch = { sm_80 = { tile = { m = 96, n = 120, k = 48 }, pipeline = { warps_m = 2, warps_n = 3 } } },
}
-- Rows of D are never whole 16-byte chunks, or always.
kernel "corner_odd" {
  like = base, B = tensor { 67, K, dtype = "bf16" }, D = tensor { M, 67, dtype = "bf16" },
  run = { { M = 600, K = 584 } },
}
kernel "corner_even" {
  like = base, B = tensor { 64, K, dtype = "bf16" }, D = tensor { M, 64, dtype = "bf16" }, tile = { n = 64 },
  run = { { M = 520, K = 584 } },
}
-- Rows of D of four boxes and of one go out whole, those of two in chunks.
kernel "corner_whole" {
  like = base, tile = { n = 256 },
  arch = { sm_90a = { pipeline = { stages = 3, store = "whole" } }, sm_80 = { tile = { n = 128 } } },
  run = { { M = 520, N = 520, K = 584 }, { M = 72, N = 40, K = 0 } },
}
kernel "corner_whole_narrow" {
  like = base, tile = { m = 64, n = 64 }, cluster = { m = 1 }, arch = { sm_90a = whole },
  run = { { M = 520, N = 168, K = 584 } },
}
-- Rows of D that no swizzle of 64 bytes divides lie in boxes without one: chunks of 40 columns, or all of 64 rows at
-- once, in two boxes of 88 or in one of 200; and of both blocks of a consumer's rows under a swizzle.
kernel "corner_plain_boxes" {
  like = base, tile = { n = 120 }, cluster = { m = 1 },
  run = { { M = 200, N = 248, K = 200 }, { M = 72, N = 40, K = 0 } },
}
kernel "corner_plain_boxes_fp32" {
  like = base, D = tensor { M, N, dtype = "fp32" }, tile = { m = 192, n = 72 }, cluster = { m = 1 },
  arch = { sm_90a = {}, sm_80 = { tile = { m = 128, n = 64 } } }, run = { { M = 200, N = 148, K = 200 } },
}
kernel "corner_plain_whole" {
  like = base, tile = { m = 256, n = 176 }, arch = { sm_90a = whole, sm_80 = { tile = { m = 128 } } },
  run = { { M = 600, N = 360, K = 200 }, { M = 72, N = 40, K = 0 } },
}
kernel "corner_plain_one_box" {
  like = base, B = tensor { 408, K, dtype = "bf16" }, D = tensor { M, 408, dtype = "bf16" },
  tile = { m = 256, n = 200 }, cluster = { m = 1 }, run = { { M = 600, K = 200 }, { M = 72, K = 0 } },
  arch = { sm_90a = whole, sm_80 = { tile = { m = 128, n = 136 } } },
}
kernel "corner_plain_whole_one" {
  like = base, tile = { n = 104 }, cluster = { m = 1 }, arch = { sm_90a = whole, sm_80 = {} },
  run = { { M = 200, N = 248, K = 200 }, { M = 72, N = 40, K = 0 } },
}
kernel "corner_plain_whole_two" {
  like = base, tile = { m = 192, n = 176 },
  arch = { sm_90a = whole, sm_80 = { tile = { m = 128, n = 104 } } },
  run = { { M = 200, N = 368, K = 200 } },
}
kernel "corner_plain_whole_fp32" {
  like = base, D = tensor { M, N, dtype = "fp32" }, tile = { m = 64, n = 72 }, cluster = { m = 1 },
  pipeline = { mode = "items" }, arch = { sm_90a = whole },
  run = { { M = 200, N = 148, K = 200 } },
}
kernel "corner_blocks_whole" {
  like = base, tile = { m = 256, n = 160 }, arch = { sm_90a = whole, sm_80 = { tile = { m = 128 } } },
  run = { { M = 600, N = 360, K = 200 }, { M = 72, N = 40, K = 0 } },
}
kernel "corner_chunks" {
  like = base, tile = { n = 128 }, arch = { sm_90a = { pipeline = { store = "chunks" } } },
  run = { { M = 520, N = 168, K = 584 } },
}
