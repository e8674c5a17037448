-- Programs with dots: what is no choice for this load, axis, tensor or order of items.
local M, N, K = dims "M N K"
local products = kernel "products" {
  axes = "m n k", tile = { m = 64, n = 64, k = 64 }, grid = { m = M, n = N },
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  bias = tensor { N, dtype = "fp32", swizzle = "64B" },
  D = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local a = load(t.A, span(at.m, tile.m), span(k, tile.k)):as "a"
      local b = load(t.B, span(at.n, tile.n), span(k, tile.k)):as "b"
      return dot(a, b:t(), sum):as "s"
    end)
    local bias = load(t.bias, span(at.n, tile.n)):as "bias"
    store(t.D, span(at.m, tile.m), span(at.n, tile.n), sum + bias)
  end,
  arch = { sm_90a = {} },
  cluster = { k = 2 },
  via = { a = "direct", b = "cp_async", bias = "bulk" },
  pipeline = { turns = true, polynomial = 4 },
  schedule = { order = "row", group = 4 },
}
kernel "resident_in_turns" { like = products, via = { a = "resident" }, cluster = { k = 1 } }
kernel "of_both" { -- on sm_90a it acts
  like = products, arch = { sm_80 = {}, sm_90a = {} }, cluster = { m = 2, k = 1 }, direction = { k = "down" },
  via = { a = "bulk", b = "bulk", bias = "direct" }, l2_promotion = "64B", launch = { programmatic = true },
  pipeline = { turns = false }, schedule = { order = "grouped", group = 2 },
}
kernel "of_the_other" { like = products, cluster = { k = 1 }, arch = { sm_80 = { l2_promotion = "64B" }, sm_90a = {} } }
