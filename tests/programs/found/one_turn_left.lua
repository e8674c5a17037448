-- A row that is read twice, in a loop of one turn in the text which ends where the second range does.
local R, C = dims "R C"

kernel "one_turn_left" {
  axes = "r c", tile = { r = 1, c = 64 }, grid = { r = R },
  x = tensor { R, C, dtype = "fp16", axes = "r c" },
  s = tensor { R, dtype = "fp32", axes = "r", out = true },
  program = function(t, at, tile)
    local r = span(at.r, tile.r)
    local function part(c) return load(t.x, r, span(c, tile.c, C - 3)) end
    local least = loop("l0", range(0, 24, tile.c), { rows(inf) }, function(c, least)
      return min(least, row_min(part(c)))
    end)
    local sum = loop("l1", range(0, 24, tile.c), { rows(0.0) }, function(c, sum)
      return sum + row_sum(part(c))
    end)
    store(t.s, r, max(min(least, 100), -100) + sum)
  end,
  run = { { R = 1, C = 0 }, { R = 2, C = 10 }, { R = 3, C = 56 } },
}
