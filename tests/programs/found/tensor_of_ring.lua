-- A tensor has the name of its ring, whose stage comes into registers once an item: both had a function of one name.
local T, S = dims "T S"
kernel "tensor_of_ring" {
  axes = "q kv", grid = { q = T }, tile = { q = 128, kv = 64 }, arch = { sm_90a = {} },
  q = tensor { T, 64, dtype = "bf16" }, K = tensor { S, 64, dtype = "bf16" },
  O = tensor { T, 64, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local q = load(t.q, span(at.q, tile.q), all)
    local o, most, sum = loop("kv", range(0, S, tile.kv), { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
      local k = load(t.K, span(kv, tile.kv), all)
      local s = where(lt(kv + column(), S), dot(q, k:t()) * 0.125, -inf)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), k, o * r), m, sum * r + row_sum(p)
    end)
    store(t.O, span(at.q, tile.q), all, ratio(o, sum, 0))
  end,
  run = { { T = 1100, S = 500 }, { T = 10, S = 64 }, { T = 5, S = 0 } },
}
