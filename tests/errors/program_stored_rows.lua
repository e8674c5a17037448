-- Beside dots threads have what is stored by the item's rows: of others each consumer would write all.
local M, N, K = dims "M N K"
local function beside(tensors, stores)
  local k = {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 64, k = 64 }, arch = { sm_90a = {}, sm_80 = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        return sum + dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t())
      end)
      store(t.D, m, n, sum)
      stores(t, m, n)
    end,
  }
  for field, value in pairs(tensors) do k[field] = value end
  return k
end
kernel "columns_as_rows" (beside({ R = tensor { N, M, dtype = "bf16" }, F = tensor { N, M, dtype = "bf16", out = true } },
  function(t, m, n) store(t.F, n, m, load(t.R, n, m)) end))
kernel "a_row" (beside({ R = tensor { N, dtype = "fp32" }, F = tensor { N, dtype = "fp32", out = true } },
  function(t, m, n) store(t.F, n, load(t.R, n)) end))
