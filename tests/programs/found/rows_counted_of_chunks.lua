-- Rows that end where data say are stored one by one: of chunks of 64 bytes they began between multiples of 128.
local E, M, N, K = dims "E M N K"

kernel "rows_counted_of_chunks" {
  axes = "e m n k", tile = { m = 256, n = 64, k = 32 }, grid = { e = E, m = M, n = N }, arch = { sm_90a = {} },
  pipeline = { stages = 4, mode = "items", consumers = 2 },
  data = tensor { E, M, K, dtype = "fp16", axes = "e m k" },
  weight = tensor { E, K, N, dtype = "fp16", axes = "e k n" },
  count = tensor { E, dtype = "int32", fill = "integers 0 512" },
  D = tensor { E, M, N, dtype = "fp16", axes = "e m n", out = true },
  along = tensor { E, M, dtype = "fp32", axes = "e m" },
  C = tensor { E, M, N, dtype = "fp16", axes = "e m n" },
  program = function(t, at, tile)
    local count, n = t.count[at.e], span(at.n, tile.n)
    local m, some = span(at.m, tile.m, count), lt(at.m, count)
    local sum = loop("k", range(0, where(some, K, 0), tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.data, at.e, m, along), load(t.weight, at.e, along, n), sum)
    end)
    local along = load(t.along, at.e, m):t()
    store(t.D, at.e, m, n, load(t.C, at.e, m, n) + sum + along * 0.5)
  end,
  run = { { E = 2, M = 282, N = 128, K = 84 }, { E = 4, M = 234, N = 112, K = 128 } },
}
