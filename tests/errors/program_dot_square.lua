-- A square second operand of a dot fits both ways.
local M, N, K = dims "M N K"
local function product(name, turned)
  kernel(name) {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        local b = load(t.B, n, span(k, tile.k))
        return dot(load(t.A, m, span(k, tile.k)), turned and b:t() or b, sum)
      end)
      store(t.D, m, n, sum)
    end,
  }
end
product("turned", true)
product("lies", false)
