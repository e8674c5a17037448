-- Sums along a span whose limit the data give in 64 bits, beyond what 32 hold on either side.
local M, N, K = dims "M N K"
for name, limit in pairs { far = 3000000000, before = -3000000000, inside = 21 } do
  kernel("limit_" .. name) {
    axes = "m n k", tile = { m = 64, n = 64, k = 64 }, grid = { m = M, n = N }, arch = { sm_90a = {}, sm_80 = {} },
    A = tensor { K, M, axes = "k m", dtype = "bf16" }, B = tensor { K, N, axes = "k n", dtype = "bf16" },
    limit = tensor { 1, dtype = "int64", fill = function() return limit end },
    D = tensor { M, N, dtype = "fp32", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      store(t.D, m, n, loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        local along = span(k, tile.k, t.limit[0])
        return dot(load(t.A, along, m):t(), load(t.B, along, n), sum)
      end))
    end,
    run = { { M = 72, N = 136, K = 40 } },
  }
end
