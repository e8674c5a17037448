-- A batch whose sums blocks share: items of four axes, whose next one is found in a line longer than a page is wide.
local L, M, N, K = dims "L M N K"

kernel "split_of_batch" {
  axes = "b m n k", tile = { m = 64, n = 16, k = 16 }, grid = { b = L, m = M, n = N }, arch = { sm_90a = {} },
  split = { k = { parts = 3, over = "blocks" } },
  A = tensor { L, M, K, dtype = "bf16" }, B = tensor { L, N, K, dtype = "bf16" },
  D = tensor { L, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, at.b, m, span(k, tile.k)), load(t.B, at.b, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, at.b, m, n, sum)
  end,
  run = { { L = 3, M = 100, N = 24, K = 104 }, { L = 2, M = 3, N = 40, K = 16 } },
}
