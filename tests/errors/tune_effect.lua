-- Fields of `tune` that no plan heeds, with none of their values and beside none of another's; and an order where the
-- items have one alone.
local M, N, K, R, C = dims "M N K R C"
local base = kernel "base" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 128, k = 64 },
  tune = { -- heeded: the group beside an order, what is about mma.sync on sm_80
    schedule = { order = { "row", "grouped" }, group = { 4, 8 } },
    pipeline = { consumers = { 1, 2 }, warps_m = { 2, 4 } },
  },
}
kernel "hopper" { like = base, arch = { sm_90a = {} }, schedule = { order = "row" }, tune = { schedule = { group = { 4, 8 } } } }
kernel "ampere" {
  like = base, arch = { sm_80 = {} }, cluster = { m = 1 },
  tune = { pipeline = { consumers = { 1, 2 } }, cluster = { m = { 1, 2 } } },
}
local copy = kernel "copy" {
  axes = "r c", tile = { r = 1, c = 128 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  program = function(t, at, tile)
    loop("c", range(0, C, tile.c), {}, function(c)
      store(t.y, span(at.r, tile.r), span(c, tile.c), load(t.x, span(at.r, tile.r), span(c, tile.c)))
    end)
  end,
  tune = { tile = { c = { 128, 256 } }, cluster = { r = { 1, 2 } }, pipeline = { stages = { 2, 3 } }, schedule = { order = { "row", "column" } } },
}
kernel "inherits" { like = copy }
local stripe = kernel "stripe" {
  axes = "m n k", tile = { m = 128, k = 64 }, grid = { m = M },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { 64, K, dtype = "bf16" },
  D = tensor { M, 64, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, span(at.m, tile.m), span(k, tile.k)), load(t.B, all, span(k, tile.k)):t(), sum)
    end)
    store(t.D, span(at.m, tile.m), all, sum)
  end,
}
kernel "one_axis" { like = stripe, schedule = { order = "column", group = 4 } }
kernel "one_axis_tuned" { like = stripe, tune = { schedule = { order = { "row", "column" }, group = { 2, 4 } } } }
