-- Clusters along an axis without a tile, of which an item has one place: blocks behind the last would store there.
local L, M, N, K = dims "L M N K"
local function product(name, batch)
  return kernel(name) {
    axes = "b m n k", grid = { b = batch, m = M, n = N }, tile = { m = 64, n = 32, k = 64 }, arch = { sm_90a = {} },
    cluster = { b = 2 },
    A = tensor { batch, M, K, dtype = "bf16" }, B = tensor { batch, N, K, dtype = "bf16" },
    D = tensor { batch, M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      store(t.D, at.b, m, n, loop("k", range(0, K, tile.k), { zeros() }, function(k, s)
        return dot(load(t.A, at.b, m, span(k, tile.k)), load(t.B, at.b, n, span(k, tile.k)):t(), s)
      end))
    end,
  }
end
product("of_dim", L)
product("of_sum", L + 1)
product("odd", 3)
product("even", 4)
product("twice", 2 * L)
