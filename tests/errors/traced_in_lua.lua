-- Ways by which a value that comes at launch could meet a Lua boolean: one kernel each, each refused at its word.
local M, N, K = dims "M N K"
local state, list = {}, { 1, 2, 3 }

local function first(t, i) if i.n == 0 then return 5 end return 1 end
local function by_table(s) if s.i.n == 0 then return 5 end return 1 end
local function upvalue() return state.i.n == 0 and 5 or 1 end local function clean(x) return x end

local function gemm(name, f)
  kernel(name) {
    family = "gemm",
    A = tensor { M, K, dtype = "bf16" },
    B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "bf16" },
    epilogue = f,
  }
end

gemm("by_i", function(acc, t, i) return acc * first(t, i) end)
gemm("by_table", function(acc, t, i) return acc * by_table({ i = i }) end)
gemm("by_upvalue", function(acc, t, i) state.i = i return clean(acc) * upvalue() end)
gemm("by_key", function(acc, t, i) return acc * (list[i.n % 3 + 1] or 0) end)
gemm("by_rawequal", function(acc, t, i) return rawequal(i.n, 0) and acc or -acc end)
gemm("by_text", function(acc, t, i) return tostring(i.n) == "0" and acc or -acc end)
gemm("by_format", function(acc, t, i) return string.format("%s", i.n) == "0" and acc or -acc end)
gemm("by_number", function(acc, t, i) return acc * (tonumber(i.n) or 0) end)
gemm("by_integer", function(acc, t, i) return acc * (math.tointeger(i.n) or 0) end)
gemm("by_kind", function(acc, t, i) return math.type(i.n) == "integer" and acc or -acc end)
gemm("by_assert", function(acc, t, i) assert(lt(acc, 0)) return acc end)
gemm("by_order", function(acc, t, i)
  local l = { 1, 2 }
  table.sort(l, function(a, b) return lt(i.n, a) end)
  return acc * l[1]
end)
gemm("by_choice", function(acc, t, i) return select(true and lt(acc, 0) or lt(acc, 1), acc, 0) end)
gemm("by_length", function(acc, t, i) return acc * #t end)
gemm("by_pairs", function(acc, t, i) for k in pairs(t) do acc = acc + 1 end return acc end)
gemm("by_many", function(acc, t, i) return 1 < 2 and i.m == i.m // 1 and 5 == 5 and acc or 0 end)
gemm("by_set", function(acc, t, i) local seen = { [acc] = true } return acc end)
gemm("by_repeat", function(acc, t, i) local n = 0 repeat n = n + 1 until n > i.n return acc * n end)
