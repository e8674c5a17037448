-- Adding to a tensor beside dots: in fp32 alone, and to nothing that the kernel stores too.
local M, N, K = dims "M N K"
local function product(name, dtype, both)
  kernel(name) {
    axes = "m n", grid = { m = M, n = N }, tile = { m = 64, n = 64 }, arch = { sm_90a = {}, sm_80 = {} },
    A = tensor { M, 64, dtype = "bf16" }, B = tensor { N, 64, dtype = "bf16" },
    D = tensor { M, N, dtype = dtype, out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum = dot(load(t.A, m, all), load(t.B, n, all):t())
      if both then store(t.D, m, n, sum) end
      store_add(t.D, m, n, sum)
    end,
  }
end
product("half", "bf16", false)
product("both", "fp32", true)
