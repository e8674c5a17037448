local P, M, N, K = dims "P M N K"
local function slabs(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  store(t.Y, at.p, m, n, load(t.X, at.p, m, n):as "tile")
end
local function slab(count, maps, more)
  local t = { count, M, N, dtype = "bf16", axes = "p m n", maps = maps }
  for name, value in pairs(more or {}) do t[name] = value end
  return tensor(t)
end
local out = { out = true }
local plain = kernel "plain" {
  axes = "p m n", grid = { p = 4, m = M, n = N }, tile = { m = 64, n = 64 }, program = slabs,
  X = slab(4, "p"), Y = slab(4, nil, out), via = { tile = "bulk" }, arch = { sm_90a = {} },
  run = { { M = 70, N = 72 } },
}

-- Which dim: the first, by its name, which is a number.
kernel "not_first" { like = plain, X = slab(4, "m") }
kernel "no_dim" { like = plain, X = slab(4, "q") }
kernel "no_name" { like = plain, X = slab(4, 4) }
kernel "of_size" {
  like = plain, grid = { p = P }, run = { { P = 4, M = 70, N = 72 } },
  X = slab(P, "p"), Y = slab(P, nil, out),
}
kernel "one_dim" { like = plain, bias = tensor { 4, dtype = "bf16", maps = "4" } }
kernel "two_ways" { like = plain, X = slab(4, "p", { pointers = "p" }) }

-- What parameters hold, of one tensor and of all.
kernel "more" { like = plain, grid = { p = 256 }, X = slab(256, "p"), Y = slab(256, nil, out) }
kernel "together" { like = plain, grid = { p = 128 }, X = slab(128, "p"), Y = slab(128, "p", out) }

-- A tile is of one slice, which there is.
kernel "spans" {
  like = plain, tile = { p = 2 },
  program = function(t, at, tile)
    local p, m, n = span(at.p, tile.p), span(at.m, tile.m), span(at.n, tile.n)
    store(t.Y, p, m, n, load(t.X, p, m, n):as "tile")
  end,
}
kernel "fewer" {
  like = plain, grid = { p = 5 }, Y = slab(5, nil, out), X = tensor { 4, M, N, dtype = "bf16", maps = "4" },
}
kernel "counted" {
  like = plain, grid = { p = P }, run = { { P = 4, M = 70, N = 72 } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    store(t.Y, at.p, m, n, load(t.X, at.p, m, n):as "tile")
  end,
}
kernel "folded" {
  like = plain, grid = { p = 20 }, Y = slab(20, nil, out), X = tensor { 4, M, N, dtype = "bf16", maps = "4" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    store(t.Y, at.p, m, n, load(t.X, at.p // 4, m, n):as "tile")
  end,
}

-- Slices begin at multiples of 16 bytes.
kernel "apart" { like = plain, X = slab(4, "p", { stride = { 1000004, N, 1 } }) }

-- What is not copied as it is has one map, or none.
kernel "product" {
  axes = "b m n k", grid = { b = 4, m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  A = tensor { 4, M, K, dtype = "bf16", maps = "4" }, W = tensor { 4, N, K, dtype = "bf16" },
  D = tensor { 4, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, at.b, m, span(k, tile.k)), load(t.W, at.b, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, at.b, m, n, sum)
  end,
  run = { { M = 40, N = 40, K = 40 } },
}
kernel "threads" {
  like = plain, via = { tile = "direct" },
  X = tensor { 4, M, N, dtype = "bf16", axes = "p m n", maps = "p" },
}
