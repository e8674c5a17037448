local M, N, K = dims "M N K"

local whole = kernel "text" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  schedule = { stream = "k" },
}
kernel "whole_items" { like = whole, schedule = { stream = true, persistent = false } }
kernel "counted" { like = whole, schedule = { stream = true, dynamic = true } }
kernel "in_turn" { like = whole, tile = { m = 128 }, schedule = { stream = true }, pipeline = { mode = "items" } }
kernel "split" { like = whole, schedule = { stream = true }, split = { k = 2 } }
kernel "split_over" { like = whole, schedule = { stream = true }, split = { k = { parts = 3, over = "blocks" } } }
kernel "ampere" { like = whole, arch = { sm_80 = { schedule = { stream = true } } } }

local function product(name, body)
  return kernel(name) {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "fp32", out = true },
    schedule = { stream = true }, program = body,
  }
end
local function a(t, at, k) return load(t.A, span(at.m, 64), span(k, 64)) end
local function b(t, at, k) return load(t.B, span(at.n, 64), span(k, 64)):t() end
local function put(t, at, value) store(t.D, span(at.m, 64), span(at.n, 64), value) end
local function sum(t, at, to, name)
  return loop(name or "k", range(0, to, 64), { zeros() }, function(k, s) return dot(a(t, at, k), b(t, at, k), s) end)
end

product("no_loop", function(t, at) put(t, at, dot(a(t, at, 0), b(t, at, 0))) end)
product("uneven", function(t, at) put(t, at, sum(t, at, at.m + 64)) end)
product("scaled", function(t, at)
  put(t, at, loop("k", range(0, K, 64), { zeros() }, function(k, s) return dot(a(t, at, k), b(t, at, k), s * 0.5) end))
end)
product("computed", function(t, at)
  put(t, at, loop("k", range(0, K, 64), { zeros() }, function(k, s)
    return dot(cast(exp(a(t, at, k)), "bf16"), b(t, at, k), s)
  end))
end)
product("two_loops", function(t, at) put(t, at, sum(t, at, K) + sum(t, at, K, "more")) end)
kernel "rows" {
  axes = "m k", grid = { m = M }, tile = { m = 16, k = 128 },
  x = tensor { M, K, dtype = "bf16" }, y = tensor { M, dtype = "fp32", out = true },
  schedule = { stream = true },
  program = function(t, at, tile)
    store(t.y, span(at.m, tile.m), loop("sum", range(0, K, tile.k), { rows(0) }, function(k, s)
      return s + row_sum(load(t.x, span(at.m, tile.m), span(k, tile.k)))
    end))
  end,
}

kernel "inner" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "fp32", out = true },
  schedule = { stream = true },
  program = function(t, at)
    put(t, at, loop("twice", range(0, 2), { zeros() }, function(_, all)
      return loop("k", range(0, K, 64), { all }, function(k, s) return dot(a(t, at, k), b(t, at, k), s) end)
    end))
  end,
}
