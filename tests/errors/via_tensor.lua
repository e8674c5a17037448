local M, N, K = dims "M N K"
local base = kernel "base" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  R = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 128 },
  epilogue = function(acc, t) return acc + t.R end,
  via = { R = "bulk" },
  arch = { sm_90a = {} },
}
kernel "direct" { like = base, via = { R = "direct" } }
kernel "copied" { like = base, via = { R = "cp_async" } }
kernel "operand" { like = base, via = { A = "bulk" } }
kernel "whole" { like = base, pipeline = { store = "whole" } }
kernel "in_turn" { like = base, pipeline = { mode = "items" } }
kernel "wide" { like = base, D = tensor { M, N, dtype = "fp32" } }
kernel "column" { like = base, R = tensor { N, dtype = "bf16" }, via = { R = "bulk" } }
kernel "turned" { like = base, D = tensor { N, M, axes = "n m", dtype = "bf16" }, via = { R = "bulk" } }
kernel "chosen" { like = base, on = scalar("fp32"), via = { R = "bulk" },
  epilogue = function(acc, t) return select(gt(t.on, 0), t.R, acc) end }
kernel "elsewhere" { like = base, epilogue = function(acc, t, i) return acc + t.R + t.R[i.m][0] end,
  via = { R = "bulk" } }
kernel "two" { like = base, S = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return acc + t.R + t.S end, via = { R = "bulk", S = "bulk" } }
kernel "two_results" { like = base, E = tensor { M, N, dtype = "bf16", out = true },
  epilogue = function(acc, t) return { D = acc + t.R, E = acc } end }
kernel "split" { like = base, split = { k = 2 } }
kernel "no_room" { like = base, tile = { n = 256 }, pipeline = { stages = 4 } }
kernel "old" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  R = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return acc + t.R end,
  via = { R = "bulk" },
  arch = { sm_80 = {} },
}
