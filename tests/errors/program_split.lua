local M, N, K = dims "M N K"

local whole = kernel "fields" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 48, k = 64 },
  split = { k = 3, n = 2 },
  arch = { sm_90a = {} },
}
kernel "form" { like = whole, split = 2 }
kernel "over" { like = whole, split = { k = { parts = 65, over = "blocks", of = 2 } } }
kernel "word" { like = whole, split = { k = { parts = 2, over = "grid" } } }
kernel "no_parts" { like = whole, split = { k = { over = "blocks" } } }
kernel "columns" { like = whole, split = { k = 4 } }
kernel "cluster" { like = whole, split = { k = 2 }, cluster = { m = 8 } }
kernel "cluster_of_parts" { like = whole, tile = { n = 64 }, split = { k = 8 }, cluster = { m = 2 } }
kernel "counted" {
  like = whole, tile = { n = 64 }, split = { k = 2 }, cluster = { m = 1 }, schedule = { dynamic = true },
}
kernel "store" {
  like = whole, split = { k = 2 },
  E = tensor { M, N, dtype = "bf16", out = true },
  C = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return { D = acc, E = t.C * 2 } end,
}

local function product(name, body)
  return kernel(name) {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "fp32", out = true },
    program = body,
  }
end
local function a(t, at, k) return load(t.A, span(at.m, 64), span(k, 64)) end
local function b(t, at, k) return load(t.B, span(at.n, 64), span(k, 64)):t() end
local function put(t, at, value) store(t.D, span(at.m, 64), span(at.n, 64), value) end

local scaled = product("scaled", function(t, at)
  put(t, at, loop("k", range(0, K, 64), { zeros() }, function(k, sum)
    return dot(a(t, at, k), b(t, at, k), sum * 0.5)
  end))
end)
local from_one = product("from_one", function(t, at)
  put(t, at, loop("k", range(0, K, 64), { zeros() + 1 }, function(k, sum) return dot(a(t, at, k), b(t, at, k), sum) end))
end)
local computed = product("computed", function(t, at)
  put(t, at, loop("k", range(0, K, 64), { zeros() }, function(k, sum)
    return dot(cast(exp(a(t, at, k)), "bf16"), b(t, at, k), sum)
  end))
end)
local reduced = product("reduced", function(t, at)
  local sum = loop("k", range(0, K, 64), { zeros() }, function(k, sum) return dot(a(t, at, k), b(t, at, k), sum) end)
  put(t, at, sum / row_max(sum))
end)
local inner = product("inner", function(t, at)
  put(t, at, loop("twice", range(0, 2), { zeros() }, function(_, all)
    return loop("k", range(0, K, 64), { all }, function(k, sum) return dot(a(t, at, k), b(t, at, k), sum) end)
  end))
end)
kernel "scaled_split" { like = scaled, split = { k = 2 } }
kernel "from_one_split" { like = from_one, split = { k = 2 } }
kernel "computed_split" { like = computed, split = { k = 2 } }
kernel "reduced_split" { like = reduced, split = { k = 2 } }
kernel "inner_split" { like = inner, split = { k = 2 } }
kernel "inner_over" { like = inner, split = { k = { parts = 3, over = "blocks" } } }
kernel "scaled_over" { like = scaled, split = { k = { parts = 3, over = "blocks" } } }
local behind = product("behind", function(t, at)
  local sum = loop("k", range(0, K, 64), { zeros() }, function(k, sum) return dot(a(t, at, k), b(t, at, k), sum) end)
  put(t, at, loop("again", range(0, K, 64), { sum }, function(k, sum) return dot(a(t, at, k), b(t, at, k), sum) end))
end)
kernel "behind_over" { like = behind, split = { k = { parts = 3, over = "blocks" } } }
local early = product("early", function(t, at)
  put(t, at, load(t.A, span(at.m, 64), span(0, 64)) + 1)
  put(t, at, loop("k", range(0, K, 64), { zeros() }, function(k, sum) return dot(a(t, at, k), b(t, at, k), sum) end))
end)
kernel "early_over" { like = early, split = { k = { parts = 3, over = "blocks" } } }

-- What combine puts together is no share of columns.
local combined = product("combined", function(t, at)
  put(t, at, loop("k", range(0, K, 64), { zeros() }, function(k, sum)
    return dot(a(t, at, k), b(t, at, k), sum)
  end, { combine = function(one, other) return { one[1] + other[1] } end }))
end)
kernel "combined_over_cluster" { like = combined, split = { k = 2 } }
