-- Tiles that an item leaves in the ring for the block's next, in all orders and ways to store, alone and in clusters:
-- items of as many turns as the ring has stages, of fewer, of more by each number, of none.
local M, N, K = dims "M N K"
local sizes = {
  { M = 264, N = 328, K = 200 }, { M = 520, N = 264, K = 72 }, { M = 264, N = 264, K = 328 }, { M = 264, N = 392, K = 136 },
  { M = 264, N = 136, K = 40 }, { M = 264, N = 264, K = 0 }, { M = 129, N = 520, K = 264 },
}
local function of(order, group, tail) return { order = order, group = group, tail = tail, reuse = "rows" } end
local base = kernel "reuse" {
  family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 64, k = 64 }, cluster = { m = 1 }, schedule = of("grouped", 2), arch = { sm_90a = {} },
  pipeline = { stages = 2 }, run = sizes,
}
local late = kernel "reuse_late" { like = base, pipeline = { store = "late" } }
kernel "reuse_late_pairs" { like = late, cluster = { m = 2 } }
kernel "reuse_chunks" { like = base, pipeline = { store = "chunks" } }
kernel "reuse_whole" { like = base, pipeline = { store = "whole" } }
kernel "reuse_lane" { like = late, pipeline = { poll = "lane" } }
kernel "reuse_three" { like = base, pipeline = { stages = 3 } }
kernel "reuse_four" { like = late, tile = { k = 32 }, pipeline = { stages = 4 } }
kernel "reuse_row" { like = late, schedule = of("row") }
kernel "reuse_column" { like = base, schedule = of("column"), pipeline = { store = "chunks" } }
kernel "reuse_halves" { like = late, schedule = of("grouped", 2, "halves") }
kernel "reuse_halves_pairs" { like = late, cluster = { m = 2 }, schedule = of("grouped", 2, "halves") }
kernel "reuse_in_turn" { like = base, tile = { m = 64 }, pipeline = { mode = "items", consumers = 2 } }
kernel "reuse_two_blocks" { like = base, tile = { m = 256, n = 32 }, pipeline = { store = "chunks" } }
kernel "reuse_swapped" { like = base, tile = { m = 32, n = 128 }, pipeline = { swap = true } }
kernel "reuse_lying" {
  like = base, A = tensor { K, M, axes = "k m", dtype = "bf16" }, B = tensor { K, N, axes = "k n", dtype = "bf16" },
  D = tensor { N, M, axes = "n m", dtype = "bf16" },
}
kernel "reuse_epilogue" {
  like = base, bias = tensor { N, axes = "n", dtype = "bf16" }, scale = tensor { M, axes = "m", dtype = "fp32" },
  epilogue = function(acc, t) return relu(acc * t.scale + t.bias) end,
}
-- A pair of products of the same rows, from a turn on that is not the first.
kernel "reuse_gated" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 64, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, C = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true }, schedule = of("grouped", 2), pipeline = { stages = 2 },
  run = { { M = 264, N = 264, K = 264 }, { M = 264, N = 328, K = 72 } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local gate, up = loop("k", range(tile.k, K, tile.k), { zeros(), zeros() }, function(k, gate, up)
      local s = span(k, tile.k)
      local a = load(t.A, m, s)
      return gate + dot(a, load(t.B, n, s):t()), up + dot(a, load(t.C, n, s):t())
    end)
    store(t.D, m, n, silu(gate) * up)
  end,
}
-- Two tensors of the items' rows, in rings of their own, and in rings with their second operands.
local function pair(tensors)
  local k = {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 64, k = 64 }, cluster = { m = 1 }, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, C = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "bf16", out = true }, schedule = of("grouped", 2), pipeline = { stages = 2 },
    run = { { M = 264, N = 264, K = 264 }, { M = 264, N = 328, K = 72 } },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        local s = span(k, tile.k)
        local b = load(t.B, n, s)
        return sum + dot(load(t.A, m, s), b:t()) + dot(load(t.C, m, s), (tensors and load(t.E, n, s) or b):t())
      end)
      store(t.D, m, n, sum)
    end,
  }
  for field, value in pairs(tensors or {}) do k[field] = value end
  return k
end
kernel "reuse_of_three" (pair())
kernel "reuse_of_two" (pair({ E = tensor { N, K, dtype = "bf16" } }))
