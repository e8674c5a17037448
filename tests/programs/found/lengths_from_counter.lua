-- Items from a counter, the longest first, whose loop ends where a number on the device says.
local B, R, S = dims "B R S"

kernel "lengths_from_counter" {
  axes = "b q s d e", tile = { q = 64, s = 32 }, grid = { b = B, q = R }, arch = { sm_90a = {} },
  schedule = { dynamic = true },
  Q = tensor { B, R, 32, dtype = "bf16", axes = "b q d" }, K = tensor { B, S, 32, dtype = "bf16", axes = "b s d" },
  V = tensor { B, S, 64, dtype = "bf16", axes = "b s e" }, O = tensor { B, R, 64, dtype = "bf16", axes = "b q e", out = true },
  length = tensor { B, dtype = "int32", fill = "integers 0 96" },
  program = function(t, at, tile)
    local here = span(at.q, tile.q)
    local held = load(t.Q, at.b, here, all)
    local o = loop("s", range(0, min(t.length[at.b], S), tile.s), { zeros() }, function(s, o)
      local keys = span(s, tile.s, t.length[at.b])
      local x = dot(held, load(t.K, at.b, keys, all):t())
      x = where(le(index().s, index().q + (S - R)), x, 0)
      return dot(cast(x, "bf16"), load(t.V, at.b, keys, all), o)
    end)
    store(t.O, at.b, here, all, o)
  end,
  run = { { B = 3, R = 79, S = 128 }, { B = 2, R = 86, S = 64 } },
}
