-- Operands of other than 16 bits: how they lie, how many columns, what is not written, reduced or computed of them.
local M, N, K = dims "M N K"
local function product(name, a, b, d, more)
  local k = { family = "gemm", A = a, B = b, D = tensor { M, N, dtype = d }, arch = { sm_90a = {} } }
  for field, value in pairs(more) do k[field] = value end
  kernel(name)(k)
end
local fp8, int8 = { M, K, dtype = "fp8_e4m3" }, { M, K, dtype = "int8" }
product("n_inside", tensor(fp8), tensor { K, N, dtype = "fp8_e5m2", axes = "k n" }, "bf16", {})
product("m_inside", tensor { K, M, dtype = "int8", axes = "k m" }, tensor { N, K, dtype = "int8" }, "int32",
  { arch = { sm_80 = {} } })
product("columns", tensor(int8), tensor { N, K, dtype = "uint8" }, "int32", { tile = { m = 64, n = 40 } })
product("few", tensor(int8), tensor { N, K, dtype = "int8" }, "int32", { tile = { m = 64, n = 28 } })
product("depth", tensor(int8), tensor { N, K, dtype = "int8" }, "int32",
  { tile = { k = 16 }, arch = { sm_90a = {}, sm_80 = {} } })
product("ampere", tensor(fp8), tensor { N, K, dtype = "fp8_e4m3" }, "bf16", { arch = { sm_80 = {} } })
product("mixed", tensor(int8), tensor { N, K, dtype = "fp8_e5m2" }, "fp32", {})
product("bytes", tensor(int8), tensor { N, K, dtype = "int8" }, "int8", {})

local function sums(name, results, body)
  kernel(name) {
    axes = "m", grid = { m = M }, tile = { m = 64 }, arch = { sm_90a = {}, sm_80 = {} },
    A = tensor { M, 64, dtype = "int8" }, B = tensor { 64, 64, dtype = "int8" },
    D = tensor(results), V = name == "computed" and tensor { 64, 64, dtype = "tf32" } or nil,
    program = function(t, at, tile)
      local m = span(at.m, tile.m)
      body(t, m, dot(load(t.A, m, all), load(t.B, all, all):t()))
    end,
  }
end
sums("reduced", { M, dtype = "fp32", out = true }, function(t, m, s) store(t.D, m, row_max(s)) end)
sums("computed", { M, 64, dtype = "fp32", out = true }, function(t, m, s)
  store(t.D, m, all, dot(cast(s, "tf32"), load(t.V, all, all):t()))
end)
