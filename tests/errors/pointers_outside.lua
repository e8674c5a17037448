-- Slices with addresses of their own whose boxes may begin outside of them: a cluster, and several boxes a tile.
local B, M, N, K = dims "B M N K"
local function slices(a, b, out) return tensor { B, a, b, dtype = "bf16", out = out, pointers = "B" } end
local function product(name, fields)
  fields.axes, fields.grid = "b m n k", { b = B, m = M, n = N }
  fields.arch = { sm_90a = {} }
  fields.A, fields.W, fields.D = slices(M, K), slices(N, K), slices(M, N, true)
  fields.program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, at.b, m, along), load(t.W, at.b, n, along):t(), sum)
    end)
    store(t.D, at.b, m, n, sum)
  end
  fields.run = { { B = 1, M = 64, N = 64, K = 64 } }
  kernel(name)(fields)
end
product("of_a_cluster", { tile = { m = 128, n = 64, k = 64 }, cluster = { m = 2 } })
product("of_several_boxes", { tile = { m = 128, n = 64, k = 128 } })
