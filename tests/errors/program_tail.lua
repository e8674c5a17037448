-- Items are halved by consumers' rows, where blocks take several and those are alike.
local M, N, K, G = dims "M N K G"
local ok = kernel "fine" {
  family = "gemm", tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  schedule = { tail = "halves" },
}
kernel "a_block_an_item" { like = ok, schedule = { persistent = false } }
kernel "one_consumer" { like = ok, tile = { m = 64 } }
kernel "in_turn" { like = ok, pipeline = { mode = "items" } }
kernel "by_shares" { like = ok, cluster = { m = 1 }, schedule = { stream = true } }
kernel "another_word" { like = ok, schedule = { tail = "quarters" } }
kernel "old" {
  family = "gemm", tile = { m = 128, n = 128, k = 64 }, arch = { sm_80 = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  schedule = { tail = "halves" },
}
kernel "row_alone" { like = ok, schedule = { tail = "halves" }, epilogue = function(acc) return acc + row() end }


-- More than where rows begin is asked of an item, or rows that are not its own.
local function asks(tensors, result, turns)
  local k = {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "bf16", out = true }, schedule = { tail = "halves" },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum = loop("k", range(0, turns and turns(at) or K, tile.k), { zeros() }, function(k, sum)
        return sum + dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t())
      end)
      local value, rows = result(sum, t, at, m, n)
      if rows == nil then rows = m end
      store(t.D, rows, n, value)
    end,
  }
  for field, value in pairs(tensors) do k[field] = value end
  return k
end
local full, some = { R = tensor { M, N, dtype = "bf16" } }, { Q = tensor { 128, N, dtype = "bf16" } }
kernel "diagonal" (asks({}, function(s, t, at) return where(lt(at.m, at.n + column()), s, 0) end))
kernel "a_row_of_64" (asks({}, function(s) return s * (row() // 64) end))
kernel "other_rows" (asks(some, function(s, t, at, m, n) return s + load(t.Q, span(0, 128), n) end))
kernel "turned" (asks(full, function(s, t, at, m, n) return s + load(t.R, m, n):t() end))
kernel "turned_store" (asks({}, function(s) return s:t() end))
kernel "a_limit" (asks({}, function(s, t, at) return s, span(at.m, 128, at.m + 100) end))
kernel "of_another_axis" (asks(full, function(s, t, at, m, n) return s + load(t.R, span(at.n, 128), n) end))
kernel "turned_beside" (asks({ R = tensor { N, M, axes = "n m", dtype = "bf16" },
  F = tensor { N, M, axes = "n m", dtype = "bf16", out = true } },
  function(s, t, at, m, n) store(t.F, n, m, load(t.R, n, m)) return s end))
kernel "unlike" (asks({}, function(s) return s end, function(at) return at.n + 64 end))
kernel "each_slice" {
  axes = "g m n k", grid = { g = G, m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
  A = tensor { G, M, K, dtype = "bf16", pointers = "G" }, B = tensor { G, N, K, dtype = "bf16", pointers = "G" },
  D = tensor { G, M, N, dtype = "bf16", out = true, pointers = "G" }, schedule = { tail = "halves" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return sum + dot(load(t.A, at.g, m, span(k, tile.k)), load(t.B, at.g, n, span(k, tile.k)):t())
    end)
    store(t.D, at.g, m, n, sum)
  end,
}
-- A turn that is peeled off is waited for where there is one.
kernel "ahead" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 64, k = 64 }, cluster = { m = 1 },
  arch = { sm_90a = {} }, A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  E = tensor { M, K, dtype = "bf16" }, C = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true }, schedule = { tail = "halves" },
  ahead = { s = { turns = 1, before = "o" } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local g, p = loop("k", range(0, K, tile.k), { rows(0), zeros() }, function(k, q, p)
      local s = span(k, tile.k)
      local d = dot(load(t.A, m, s), load(t.B, n, s):t()):as "s"
      local e = dot(load(t.E, m, s), load(t.C, n, s):t()):as "o"
      return q + row_max(d), p + e
    end)
    store(t.D, m, n, p + g)
  end,
}
