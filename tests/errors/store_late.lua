local M, N, K = dims "M N K"
local base = kernel "base" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 256 },
  arch = { sm_90a = { pipeline = { stages = 3, store = "late" } } },
}
kernel "one_item" { like = base, schedule = { persistent = false } }
kernel "in_turn" { like = base, tile = { n = 128 }, pipeline = { mode = "items" } }
kernel "in_parts" { like = base, tile = { n = 128 }, split = { k = 2 } }
kernel "wide" { like = base, D = tensor { M, N, dtype = "fp32" } }
kernel "two_results" {
  like = base, E = tensor { M, N, dtype = "bf16", out = true }, arch = { sm_90a = { pipeline = { store = "late" } } },
  epilogue = function(acc) return { D = acc, E = relu(acc) } end,
}
kernel "read_too" { like = base, R = tensor { M, N, dtype = "bf16" }, epilogue = function(acc, t) return acc + t.R end }
kernel "no_effect" { like = base, D = tensor { N, M, axes = "n m", dtype = "bf16" }, tile = { n = 128 },
  arch = { sm_90a = { pipeline = { store = "late" } } } }
kernel "threads_between" {
  A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  axes = "m n k", tile = { m = 128, n = 128, k = 64 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  pipeline = { store = "late" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum * 0.5)
    end)
    store(t.D, m, n, sum)
  end,
}
kernel "two_loops" {
  A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  axes = "m n k", tile = { m = 128, n = 128, k = 64 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  pipeline = { store = "late" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local function part(name, sum)
      return loop(name, range(0, K, tile.k), { sum }, function(k, s)
        return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), s)
      end)
    end
    store(t.D, m, n, part("more", part("k", zeros())))
  end,
}
