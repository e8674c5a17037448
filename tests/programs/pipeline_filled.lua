-- Items that data leave nothing to store, and what of them is left out where items are found: plan_item.filled.
local E, M, N, K = dims "E M N K"

-- The product of an item: rows m of A (`a` gives its tile) by rows n of B's group.
local function product(t, tile, n, group, a)
  return loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    local along = span(k, tile.k)
    return dot(a(along), load(t.B, group, n, along):t(), sum)
  end)
end
local function row(t, n, a, group, d)
  for j = 0, n.N - 1 do
    local sum = 0
    for k = 0, n.K - 1 do sum = sum + a[k] * t.B[group][j][k] end
    d[j] = sum
  end
end

-- Walked along the groups, whose counts say how many items each has.
local masked = kernel "filled_masked" {
  A = tensor { E, M, K, dtype = "bf16" }, B = tensor { E, N, K, dtype = "bf16" },
  count = tensor { E, dtype = "int32", fill = "integers -3 300" },
  D = tensor { E, M, N, dtype = "bf16", out = true },
  axes = "e m n k", tile = { m = 64, n = 32, k = 32 }, grid = { e = E, m = M, n = N }, cluster = { m = 2 },
  arch = { sm_90a = {}, sm_80 = { cluster = { m = 1 } } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m, t.count[at.e]), span(at.n, tile.n)
    store(t.D, at.e, m, n, product(t, tile, n, at.e, function(along) return load(t.A, at.e, m, along) end))
  end,
  reference = function(t, n)
    for e = 0, n.E - 1 do
      for i = 0, math.min(n.M, t.count[e]) - 1 do row(t, n, t.A[e][i], e, t.D[e][i]) end
    end
  end,
  run = { { E = 7, M = 330, N = 72, K = 40 }, { E = 3, M = 40, N = 8, K = 200 } },
}
kernel "filled_hilbert" { like = masked, schedule = { order = "hilbert", group = 2 } }
kernel "filled_row" { like = masked, schedule = { order = "row" } }
kernel "filled_single" { like = masked, schedule = { persistent = false } }
kernel "filled_in_turn" { like = masked, arch = { sm_90a = { pipeline = { mode = "items" } }, sm_80 = false } }
kernel "filled_swapped" {
  like = masked, tile = { m = 16, n = 64 }, cluster = { m = 1, n = 2 }, arch = { sm_80 = { cluster = { n = 1 } } },
}
kernel "filled_nothing" { like = masked, count = tensor { E, dtype = "int32", fill = "zeros" } }
-- A counter gives out all items: nothing is walked.
kernel "filled_counter" { like = masked, cluster = { m = 1 }, schedule = { dynamic = true }, arch = { sm_80 = false } }
-- Two tensors of different counts: items up to the larger one.
kernel "filled_two_stores" {
  like = masked, other = tensor { E, dtype = "int32", fill = "integers -3 300" },
  S = tensor { E, M, N, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local m, few, n = span(at.m, tile.m, t.count[at.e]), span(at.m, tile.m, t.other[at.e]), span(at.n, tile.n)
    local sum = product(t, tile, n, at.e, function(along) return load(t.A, at.e, span(at.m, tile.m), along) end)
    store(t.D, at.e, m, n, sum)
    store(t.S, at.e, few, n, sum)
  end,
  reference = function(t, n)
    for e = 0, n.E - 1 do
      for i = 0, math.min(n.M, t.count[e]) - 1 do row(t, n, t.A[e][i], e, t.D[e][i]) end
      for i = 0, math.min(n.M, t.other[e]) - 1 do row(t, n, t.A[e][i], e, t.S[e][i]) end
    end
  end,
}

-- One count for all: fewer items, nothing to walk.
kernel "filled_one" {
  like = masked, axes = "m n k", grid = { e = false, m = M, n = N },
  A = tensor { M, K, dtype = "bf16" }, count = tensor { 1, dtype = "int32", fill = "constant 150" },
  D = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m, t.count[0]), span(at.n, tile.n)
    store(t.D, m, n, product(t, tile, n, 0, function(along) return load(t.A, m, along) end))
  end,
  reference = function(t, n) for i = 0, math.min(n.M, t.count[0]) - 1 do row(t, n, t.A[i], 0, t.D[i]) end end,
  run = { { E = 1, M = 330, N = 72, K = 40 }, { E = 1, M = 40, N = 8, K = 200 } },
}

-- A number of a group for so many rows, -1 for none: each item is asked. `rows` of a cluster's blocks have one number;
-- where they have two, B's tiles are not shared and no item is left out.
local function tiles(rows)
  return {
    like = masked, count = false, axes = "m n k", grid = { e = false, m = M, n = N },
    A = tensor { M, K, dtype = "bf16" },
    group = tensor { (M + rows - 1) // rows, dtype = "int32", fill = "integers -1 2" },
    D = tensor { M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local group = t.group[at.m // rows]
      local m, n = span(at.m, tile.m, where(ge(group, 0), M, 0)), span(at.n, tile.n)
      store(t.D, m, n, product(t, tile, n, max(group, 0), function(along) return load(t.A, m, along) end))
    end,
    reference = function(t, n)
      for i = 0, n.M - 1 do
        if t.group[i // rows] >= 0 then row(t, n, t.A[i], t.group[i // rows], t.D[i]) end
      end
    end,
    run = { { E = 3, M = 1100, N = 72, K = 40 }, { E = 3, M = 40, N = 8, K = 200 } },
  }
end
kernel "filled_tiles" (tiles(128))
kernel "filled_wider_tiles" (tiles(256))
kernel "filled_apart" (tiles(64))

-- What two axes decide is asked of each item too.
local H = 3
kernel "filled_two_axes" {
  like = masked, axes = "e h m n k", grid = { e = E, h = H, m = M, n = N },
  A = tensor { E, H, M, K, dtype = "bf16" }, count = tensor { E, H, dtype = "int32", fill = "integers -100 200" },
  D = tensor { E, H, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m, t.count[at.e][at.h]), span(at.n, tile.n)
    store(t.D, at.e, at.h, m, n,
      product(t, tile, n, at.e, function(along) return load(t.A, at.e, at.h, m, along) end))
  end,
  reference = function(t, n)
    for e = 0, n.E - 1 do
      for h = 0, H - 1 do
        for i = 0, math.min(n.M, t.count[e][h]) - 1 do row(t, n, t.A[e][h][i], e, t.D[e][h][i]) end
      end
    end
  end,
  run = { { E = 2, M = 200, N = 72, K = 40 }, { E = 3, M = 40, N = 8, K = 200 } },
}
