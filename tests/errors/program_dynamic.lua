-- Blocks that a counter cannot serve: of a cluster, and those that take one item alone.
local M, N, K = dims "M N K"
local function product(t, at, tile)
  local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    return dot(load(t.A, span(at.m, tile.m), span(k, tile.k)), load(t.B, span(at.n, tile.n), span(k, tile.k)):t(), sum)
  end)
  store(t.D, span(at.m, tile.m), span(at.n, tile.n), cast(sum, "bf16"))
end
local k = kernel "cluster_of_two" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
  D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
  schedule = { dynamic = true }, cluster = { m = 2 },
  program = product,
}
kernel "one_item" { like = k, cluster = { m = 1 }, schedule = { dynamic = true, persistent = false } }
