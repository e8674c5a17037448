-- one meaning: turns from the last to the first round other powers, and this is what a cast takes from their sum. In
-- integers a power is subnormal in fp16, by which tensor cores align.
local R, S = dims "R S"

local up = kernel "up" {
  axes = "q s d e", tile = { q = 64, s = 32 }, grid = { q = R }, arch = { sm_90a = {} },
  direction = { s = "up" },
  Q = tensor { R, 16, dtype = "fp16", axes = "q d" }, K = tensor { S, 16, dtype = "fp16", axes = "s d" },
  V = tensor { S, 32, dtype = "fp16", axes = "s e" }, O = tensor { R, 32, dtype = "fp32", axes = "q e", out = true },
  program = function(t, at, tile)
    local here = span(at.q, tile.q)
    local held = load(t.Q, here, all)
    local o, most, sum = loop("s", range(0, S, tile.s), { zeros(), rows(-inf), rows(0) }, function(s, o, most, sum)
      local k, v = load(t.K, span(s, tile.s), all), load(t.V, span(s, tile.s), all)
      local x = dot(held, k:t())
      local m = max(row_max(x), most)
      local p, r = exp2_diff(x, m), exp2_diff(most, m)
      return dot(cast(p, "fp16"), v, o * r), m, sum * r + row_sum(p)
    end)
    local y = ratio(o, sum, 0)
    store(t.O, here, all, cast(y, "fp16") - y)
  end,
  run = { { R = 70, S = 150 }, { R = 64, S = 20 } },
}
kernel "down" { like = up, direction = { s = "down" } }
