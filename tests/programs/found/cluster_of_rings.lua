-- Blocks of a cluster along both axes, whose tiles come through a ring each: each ring's stages are released to those
-- that share its own tiles. Split, the parts are blocks more; of a batch, the first axis shares nothing.
local L, M, N, K = dims "L%2 M N K"

local pair = kernel "cluster_of_rings" {
  axes = "m n k", tile = { m = 64, n = 32, k = 16 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
  cluster = { m = 2, n = 2 }, pipeline = { stages = 2 },
  A = tensor { M, K, dtype = "bf16" }, G = tensor { N, K, dtype = "bf16" }, U = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local gate, up = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, gate, up)
      local a = load(t.A, m, span(k, tile.k))
      return dot(a, load(t.G, n, span(k, tile.k)):t(), gate), dot(a, load(t.U, n, span(k, tile.k)):t(), up)
    end)
    store(t.D, m, n, gate * up)
  end,
  run = { { M = 200, N = 72, K = 104 }, { M = 3, N = 40, K = 16 } },
}
kernel "cluster_of_rings_split" { like = pair, split = { k = 2 } }

kernel "cluster_of_batch" {
  axes = "b m n k", tile = { m = 64, n = 16, k = 16 }, grid = { b = L, m = M, n = N }, arch = { sm_90a = {} },
  cluster = { b = 2, m = 2 }, pipeline = { stages = 2 },
  A = tensor { L, M, K, dtype = "bf16" }, B = tensor { L, N, K, dtype = "bf16" },
  D = tensor { L, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, at.b, m, span(k, tile.k)), load(t.B, at.b, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, at.b, m, n, sum)
  end,
  run = { { L = 4, M = 100, N = 24, K = 104 }, { L = 2, M = 3, N = 40, K = 16 } },
}
