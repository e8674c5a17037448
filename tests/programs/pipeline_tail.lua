-- The last wave by halves of rows, in all orders and ways to store, alone and in clusters. On four multiprocessors
-- (`run --sms 4`) the sizes leave one item, half a wave, more than that, and none.
local M, N, K, P = dims "M N K P"
local sizes = {
  { M = 520, N = 136, K = 200 }, { M = 264, N = 328, K = 72 }, { M = 264, N = 264, K = 40 },
  { M = 648, N = 136, K = 24 }, { M = 264, N = 136, K = 0 }, { M = 129, N = 72, K = 8 },
}
local function of(order, group) return { order = order, group = group, tail = "halves" } end
local base = kernel "tail" {
  family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 64, k = 64 }, cluster = { m = 1 }, schedule = of("grouped", 2), arch = { sm_90a = {} },
  pipeline = { stages = 2 }, run = sizes,
}
local late = kernel "tail_late" { like = base, pipeline = { store = "late" } }
kernel "tail_wide" { like = late, tile = { n = 128 } }
kernel "tail_late_pairs" { like = late, cluster = { m = 2 } }
kernel "tail_chunks" { like = base, pipeline = { store = "chunks" } }
kernel "tail_chunks_pairs" { like = base, cluster = { n = 2 }, pipeline = { store = "chunks" } }
kernel "tail_whole" { like = base, pipeline = { store = "whole" } }
kernel "tail_lane" { like = late, pipeline = { poll = "lane" } }
kernel "tail_row" { like = late, schedule = of("row") }
kernel "tail_column" { like = base, schedule = of("column"), pipeline = { store = "chunks" } }
kernel "tail_curve" { like = late, schedule = of("hilbert", 2) }
kernel "tail_two_blocks" { like = base, tile = { m = 256, n = 32 }, pipeline = { store = "chunks" } }
kernel "tail_swapped" { like = base, tile = { m = 32, n = 128 }, pipeline = { swap = true } }
kernel "tail_fp32" { like = base, D = tensor { M, N, dtype = "fp32" }, pipeline = { store = "chunks" } }
kernel "tail_lying" {
  like = base, A = tensor { K, M, axes = "k m", dtype = "bf16" }, B = tensor { K, N, axes = "k n", dtype = "bf16" },
  D = tensor { N, M, axes = "n m", dtype = "bf16" },
}
kernel "tail_epilogue" {
  like = base, bias = tensor { N, axes = "n", dtype = "bf16" }, scale = tensor { M, axes = "m", dtype = "fp32" },
  epilogue = function(acc, t) return relu(acc * t.scale + t.bias) end,
}
-- Which tile it is, and not only where its rows are: the same for both halves.
kernel "tail_tiles" {
  axes = "p m n k", grid = { p = P, m = M, n = N }, tile = { m = 128, n = 64, k = 64 }, arch = { sm_90a = {} },
  A = tensor { P, M, K, dtype = "bf16" }, B = tensor { P, N, K, dtype = "bf16" },
  tiles = tensor { (M + 127) // 128, dtype = "fp32" }, D = tensor { P, M, N, dtype = "bf16", out = true },
  schedule = { tail = "halves" }, run = { { P = 3, M = 264, N = 40, K = 200 }, { P = 2, M = 200, N = 72, K = 72 } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local s = span(k, tile.k)
      return sum + dot(load(t.A, at.p, m, s), load(t.B, at.p, n, s):t())
    end)
    store(t.D, at.p, m, n, sum * t.tiles[at.m // 128])
  end,
}
-- Tiles as high as wide, two results and a number for each row, of loads whose rows are the item's.
kernel "tail_square" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, cluster = { m = 1 },
  arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, R = tensor { M, N, dtype = "fp32" },
  S = tensor { N, axes = "n", dtype = "fp32" }, D = tensor { M, N, dtype = "bf16", out = true },
  E = tensor { N, M, axes = "n m", dtype = "fp32", out = true },
  Q = tensor { (N + 127) // 128, M, dtype = "fp32", out = true }, schedule = { tail = "halves" },
  run = { { M = 264, N = 264, K = 72 }, { M = 264, N = 136, K = 72 }, { M = 520, N = 136, K = 8 } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return sum + dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t())
    end)
    local all = where(lt(at.m + row(), at.n + column()), sum * load(t.S, n), sum + load(t.R, m, n))
    store(t.D, m, n, all)
    store(t.E, n, m, all:t())
    store(t.Q, at.n // 128, m, row_sum(all))
  end,
}
