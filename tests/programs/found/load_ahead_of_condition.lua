-- Loads of short rows: an asm without effect may be moved in front of its condition, for rows of no length too.
local R, C = dims "R C"

kernel "load_ahead_of_condition" {
  schedule = { persistent = true },
  axes = "r c", tile = { r = 16, c = 16 }, grid = { r = R },
  x = tensor { R, C, dtype = "fp32", axes = "r c" },
  s = tensor { R, dtype = "fp32", axes = "r", out = true },
  w = tensor { C, dtype = "fp32", axes = "c" },
  b = tensor { R, dtype = "fp32", axes = "r" },
  program = function(t, at, tile)
    local bias = load(t.b, span(at.r, tile.r)):t()
    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) end
    local s0_0, s0_1 = loop("l0", range(0, C, tile.c), { rows(-inf), rows(inf) }, function(c, a0, a1)
      local x = part(c + 0)
      local v = cast(max(x, x), "bf16") + load(t.w, span(c, tile.c))
      return max(a0, row_max(v)), min(a1, row_min(v))
    end)
    local s0 = max(min(s0_0, 100), -100) + max(min(s0_1, 100), -100)
    local most1, sum1 = loop("l1", range(0, C, tile.c), { rows(-inf), rows(0) }, function(c, most, sum)
      local x = part(c + 0)
      local v = (x * load(t.w, span(c, tile.c)))
      local m = max(most, row_max(v))
      return m, sum * exp2_diff(most, m) + row_sum(exp2_diff(v, m))
    end)
    local s1 = ratio(1, sum1, 0) + most1
    local s2_0, s2_1, s2_2 = loop("l2", range(tile.c, C, tile.c), { rows(inf), rows(inf), rows(-inf) }, function(c, a0, a1, a2)
      local x = part(c + 0)
      local v = x
      return min(a0, row_min(v)), min(a1, row_min(v)), max(a2, row_max(v))
    end)
    local s2 = max(min(s2_0, 100), -100) + max(min(s2_1, 100), -100) + max(min(s2_2, 100), -100)
    store(t.s, span(at.r, tile.r), s0 + s1 + s2 + bias)
  end,
  run = { { R = 15, C = 0 }, { R = 9, C = 12 }, { R = 26, C = 160 } },
}
