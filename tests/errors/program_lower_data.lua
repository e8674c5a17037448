-- Dots where data say what is loaded: what copies and stores cannot do.
local M, N, K, T = dims "M N K T"
local function product(fields)
  local own = { A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
    number = tensor { 128, dtype = "int32" }, D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
    axes = "m n k t", tile = { m = 128, n = 128, k = 64 }, grid = { m = M, n = N }, arch = { sm_90a = {} } }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return fields
end
kernel "summed" (product {
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, m, span(k, tile.k, t.number[0])), load(t.B, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, m, n, sum)
  end,
})
kernel "twice" (product {
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m, t.number[0]), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, m, n, sum)
    store(t.D, span(at.m, tile.m), n, sum)
  end,
})
kernel "shapes" (product {
  program = function(t, at, tile)
    local m, n, number = span(at.m, tile.m), span(at.n, tile.n), load(t.number, all):t()
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local b = load(t.B, n, span(k, tile.k)):t()
      return dot(gather(t.A, number, span(k, tile.k)), b, dot(load(t.A, m, span(k, tile.k)), b, sum))
    end)
    store(t.D, m, n, sum)
  end,
})
kernel "computed" (product {
  program = function(t, at, tile)
    local n, number = span(at.n, tile.n), load(t.number, all):t()
    local s = dot(load(t.A, span(at.m, 128), span(0, 64)), load(t.B, n, span(0, 64)):t())
    local rows = number + where(gt(row_max(s), 0), 1, 0)
    store(t.D, span(at.m, 128), n, dot(gather(t.A, rows, span(0, 64)), load(t.B, n, span(0, 64)):t()))
  end,
})
kernel "narrow" (product {
  tile = { m = 128, n = 128, k = 32 }, via = { rows = "bulk" },
  program = function(t, at, tile)
    local n, number = span(at.n, tile.n), load(t.number, all):t()
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(gather(t.A, number, span(k, tile.k)):as "rows", load(t.B, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, span(at.m, tile.m), n, sum)
  end,
})
