-- Beside a square tile numbers along its rows fit its columns too.
local M, N, K = dims "M N K"
local function scaled(name, scale)
  kernel(name) {
    axes = "m n", grid = { m = M, n = N }, tile = { m = 64, n = 64 }, arch = { sm_90a = {} },
    A = tensor { M, 64, dtype = "bf16" }, B = tensor { N, 64, dtype = "bf16" },
    S = tensor { M, dtype = "fp32" }, T = tensor { N, 2, dtype = "fp32" },
    D = tensor { M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      store(t.D, m, n, scale(dot(load(t.A, m, all), load(t.B, n, all):t()), load(t.S, m), load(t.T, n, 1)))
    end,
  }
end
scaled("rows", function(x, s, y) return x * s + y end)
scaled("columns", function(x, s, y) return y:t() - x * s:t() end)
scaled("both", function(x, s, y) return x * (s:t() * y) end) -- as it should be
