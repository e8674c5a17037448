-- Items are halved by consumers' rows, where blocks take several and those are alike.
local M, N, K = dims "M N K"
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
kernel "diagonal" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 64, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16", out = true },
  schedule = { tail = "halves" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return sum + dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t())
    end)
    store(t.D, m, n, where(lt(at.m, at.n + column()), sum, 0))
  end,
}
