-- Tiles of an item's rows stay where the next item's turns can begin with them.
local M, N, K, G = dims "M N K G"
local ok = kernel "fine" {
  family = "gemm", tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  schedule = { reuse = "rows" },
}
kernel "a_block_an_item" { like = ok, schedule = { reuse = "rows", persistent = false } }
kernel "from_a_counter" { like = ok, cluster = { m = 1 }, schedule = { reuse = "rows", dynamic = true } }
kernel "a_curve" { like = ok, schedule = { reuse = "rows", order = "hilbert" } }
kernel "by_shares" { like = ok, cluster = { m = 1 }, schedule = { reuse = "rows", stream = true } }
kernel "shared" { like = ok, cluster = { m = 1, n = 2 }, schedule = { reuse = "rows" } }
kernel "taken_in" {
  like = ok, cluster = { m = 1 }, R = tensor { M, N, dtype = "bf16" }, via = { R = "bulk" }, schedule = { reuse = "rows" },
  epilogue = function(acc, t) return acc + t.R end,
}
kernel "split" { like = ok, cluster = { m = 1 }, split = { k = 2 }, schedule = { reuse = "rows" } }
kernel "another_word" { like = ok, schedule = { reuse = "columns" } }
kernel "old" {
  family = "gemm", tile = { m = 128, n = 128, k = 64 }, arch = { sm_80 = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  schedule = { reuse = "rows" },
}

-- What a turn, or a tile of one, asks beside.
local function asks(turn, turns, rows, tensors)
  local k = {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "bf16", out = true }, schedule = { reuse = "rows" },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum = loop("k", range(0, turns and turns(at) or K, tile.k), { zeros() }, function(k, sum)
        return turn(t, k, sum, dot(load(t.A, rows and rows(at) or m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t()))
      end)
      store(t.D, m, n, sum)
    end,
  }
  for field, value in pairs(tensors or {}) do k[field] = value end
  return k
end
local function plain(_, _, sum, product) return sum + product end
kernel "which_turn" (asks(function(_, k, sum, product) return sum + product * (k + 1) end))
kernel "in_their_order" (asks(function(_, _, sum, product) return sum * 0.5 + product end))
kernel "a_number_of_each" (asks(function(t, k, sum, product) return sum + product * t.S[k // 64] end, nil, nil,
  { S = tensor { K // 64, dtype = "fp32" } }))
kernel "as_many_as_m_says" (asks(plain, function(at) return at.m + 128 end))
kernel "rows_elsewhere" (asks(plain, nil, function(at) return span(at.m // 2, 128) end))
kernel "rows_with_a_limit" (asks(plain, nil, function(at) return span(at.m, 128, at.m + 100) end))
kernel "three_axes" {
  axes = "g m n k", grid = { g = G, m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
  A = tensor { G, M, K, dtype = "bf16" }, B = tensor { G, N, K, dtype = "bf16" },
  D = tensor { G, M, N, dtype = "bf16", out = true }, schedule = { reuse = "rows" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return sum + dot(load(t.A, at.g, m, span(k, tile.k)), load(t.B, at.g, n, span(k, tile.k)):t())
    end)
    store(t.D, at.g, m, n, sum)
  end,
}
