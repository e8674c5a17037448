local B, H, S = dims "B H S"
kernel "attention" {
  Q = tensor { B, H, S, 128, axes = "b h q d", dtype = "bf16" },
  K = tensor { B, H, S, 128, axes = "b h kv d", dtype = "bf16" },
  V = tensor { B, H, S, 128, axes = "b h kv d", dtype = "bf16" },
  O = tensor { B, H, S, 128, axes = "b h q d", dtype = "bf16", out = true },
  scale = scalar("fp32", 0.1),
  axes = "b h q kv d", tile = { q = 128, kv = 128 }, grid = { b = B, h = H, q = S },
  pipeline = { stages = 2, consumers = 2, turns = true },
  ahead = { s = { turns = 1, before = "o" } },
  via = { q = "resident" },
  cluster = { q = 2 },
  arch = { sm_90a = {}, sm_80 = { tile = { kv = 64 }, cluster = { q = 1 } } },
  tune = { tile = { kv = { 64, 128, 176 } }, pipeline = { stages = { 1, 2 } } },
  run = { { B = 1, H = 2, S = 300 } },
  program = function(t, at, tile)
    local q = load(t.Q, at.b, at.h, span(at.q, tile.q), all):as "q"
    local o, most, sum = loop("kv", range(0, min(S, at.q + tile.q), tile.kv), { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
      local k, v = load(t.K, at.b, at.h, span(kv, tile.kv), all), load(t.V, at.b, at.h, span(kv, tile.kv), all)
      local s = where(le(index().kv, index().q), dot(q, k:t()):as "s" * t.scale, -inf)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
    store(t.O, at.b, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
  end,
}
