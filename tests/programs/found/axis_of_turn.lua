-- Axes whose places would be called as what the text says of a loop's turns.
local M, N, K = dims "M N K"
local function product(axis)
  return {
    axes = axis .. " n k", grid = { [axis] = M, n = N }, tile = { [axis] = 64, n = 64, k = 32 }, cluster = { n = 1 },
    arch = { sm_90a = {}, sm_80 = {} }, A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "bf16", out = true }, run = { { M = 200, N = 136, K = 200 } },
    program = function(t, at, tile)
      local m, n = span(at[axis], tile[axis]), span(at.n, tile.n)
      local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        return sum + dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t())
      end)
      store(t.D, m, n, sum)
    end,
  }
end
for _, axis in ipairs { "k_turn", "k_begin", "k_left", "k_first" } do kernel("by_" .. axis) (product(axis)) end
