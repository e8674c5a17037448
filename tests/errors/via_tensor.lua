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
kernel "batched" {
  A = tensor { M, M, K, axes = "b m k", dtype = "bf16" }, B = tensor { M, N, K, axes = "b n k", dtype = "bf16" },
  R = tensor { M, M, N, axes = "b m n", dtype = "bf16" }, D = tensor { M, M, N, axes = "b m n", dtype = "bf16", out = true },
  axes = "b m n k", tile = { m = 128, n = 128, k = 64 }, grid = { b = M, m = M, n = N }, via = { r = "bulk" },
  arch = { sm_90a = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, at.b, m, span(k, tile.k)), load(t.B, at.b, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, at.b, m, n, sum - load(t.R, at.b, m, n):as "r")
  end,
}
kernel "multiplied" {
  A = tensor { M, N, dtype = "bf16" }, B = tensor { N, N, axes = "n k", dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  axes = "m n k", tile = { m = 128, n = 128, k = 64 }, grid = { m = M, n = N }, via = { a = "bulk" },
  arch = { sm_90a = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, N, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, m, n, sum - load(t.A, m, n):as "a")
  end,
}
kernel "old" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  R = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return acc + t.R end,
  via = { R = "bulk" },
  arch = { sm_80 = {} },
}
