-- Turns that a mask leaves out differ between items: blocks of a cluster, which share tiles, make all of them.
local B, R, S = dims "B R S"

kernel "visible_in_cluster" {
  axes = "b q s d e", tile = { q = 64, s = 16 }, grid = { b = B, q = R }, arch = { sm_90a = {} },
  pipeline = { stages = 3 }, cluster = { q = 2 }, ahead = { x = { turns = 1, before = "o" } },
  Q = tensor { B, R, 32, dtype = "fp16", axes = "b q d" }, K = tensor { B, S, 32, dtype = "fp16", axes = "b s d" },
  V = tensor { B, S, 32, dtype = "fp16", axes = "b s e" },
  O = tensor { B, R, 32, dtype = "fp16", axes = "b q e", out = true },
  program = function(t, at, tile)
    local held = load(t.Q, at.b, span(at.q, tile.q), all)
    local o, most, sum = loop("s", range(0, S, tile.s), { zeros(), rows(-inf), rows(0) }, function(s, o, most, sum)
      local k, v = load(t.K, at.b, span(s, tile.s), all), load(t.V, at.b, span(s, tile.s), all)
      local x = where(le(index().s, index().q + (S - R)), dot(held, k:t()):as "x" * 0.031, -inf)
      local m = max(most, row_max(x))
      local p, r = exp2_diff(x, m), exp2_diff(most, m)
      return dot(cast(p, "fp16"), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
    store(t.O, at.b, span(at.q, tile.q), all, ratio(o, sum, 0))
  end,
  run = { { B = 2, R = 120, S = 120 } },
}
