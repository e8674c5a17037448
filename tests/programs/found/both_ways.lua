-- A tensor that is read by its rows and by its columns: what reads an element beside its neighbour goes along one dim.
local M, N, K = dims "M N K"
local function product(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  return m, n, loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    return sum + dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t())
  end)
end
local rows = { M = 136, N = 72, K = 72 }
kernel "by_two_stores" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 32 }, cluster = { m = 1 },
  arch = { sm_90a = {}, sm_80 = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, R = tensor { N, M, dtype = "bf16" },
  P = tensor { M, dtype = "fp32" }, D = tensor { N, M, dtype = "bf16", out = true },
  F = tensor { N, M, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n, sum = product(t, at, tile)
    store(t.D, n, m, (sum + load(t.R, n, m):t()):t())
    store(t.F, n, m, load(t.R, n, m) * load(t.P, m))
  end,
  run = { rows },
}
kernel "in_one" {
  axes = "m n k", grid = { m = M, n = M }, tile = { m = 64, n = 64, k = 32 }, cluster = { m = 1 },
  arch = { sm_90a = {}, sm_80 = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { M, K, dtype = "bf16", axes = "n k" },
  R = tensor { M, M, dtype = "bf16" }, D = tensor { M, M, dtype = "bf16", axes = "m n", out = true },
  program = function(t, at, tile)
    local m, n, sum = product(t, at, tile)
    store(t.D, m, n, sum + load(t.R, m, n) + load(t.R, n, m):t())
  end,
  run = { { M = 136, K = 72 } },
}
