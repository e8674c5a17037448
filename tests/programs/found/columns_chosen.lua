-- Values of columns in arms of choices that lanes make by themselves: beside a product, in a maximum, in a store. A
-- column that another lane holds is asked of all lanes at once, which are not there then.
local M, N = dims "M N"

local function chosen(name, value, stored)
  kernel(name) {
    axes = "m n k", grid = { m = M }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
    A = tensor { M, 64, dtype = "bf16", axes = "m k" }, B = tensor { N, 64, dtype = "bf16", axes = "n k" },
    C = tensor { N, 64, dtype = "bf16", axes = "n k" },
    bias = tensor { N, dtype = "fp32" }, other = tensor { N, dtype = "fp32" },
    D = tensor { M, 64, axes = "m k", dtype = "fp32", out = true },
    S = stored and tensor { M, N, axes = "m n", dtype = "fp32", out = true } or nil,
    run = { { M = 100, N = 300 } },
    program = function(t, at, tile)
      local a = load(t.A, span(at.m, 64), all)
      local o = loop("n", range(0, N, 64), { zeros() }, function(n, o)
        local ns = span(n, 64)
        local s, bias, other = dot(a, load(t.B, ns, all):t()), load(t.bias, ns), load(t.other, ns)
        if stored then store(t.S, span(at.m, 64), ns, where(gt(s, 0), bias, s)) end
        return dot(cast(value(s, bias, other), "bf16"), load(t.C, ns, all), o)
      end)
      store(t.D, span(at.m, 64), all, o)
    end,
  }
end

chosen("chosen_by_value", function(s, bias, other) return where(gt(s, 0.5), bias * 2, where(gt(s, -0.5), other, bias)) end)
chosen("chosen_and", function(s, bias, other) return where(gt(s, 0) & gt(s, bias), s + other, s) end)
chosen("chosen_in_store", function(s, bias, other) return s + bias * other end, true)
