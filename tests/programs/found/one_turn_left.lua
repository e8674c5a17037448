-- A loop of one turn in the text whose body leaves it: what lies behind the row's end is no thread's.
local R, C = dims "R C"

kernel "one_turn_left" {
  axes = "r c", tile = { r = 1, c = 64 }, grid = { r = R },
  x = tensor { R, C, dtype = "fp16", axes = "r c" },
  s = tensor { R, dtype = "fp32", axes = "r", out = true },
  program = function(t, at, tile)
    local r = span(at.r, tile.r)
    local sum = loop("l", range(0, 24, tile.c), { rows(0.0) }, function(c, sum)
      return sum + row_sum(load(t.x, r, span(c, tile.c, C - 3)))
    end)
    store(t.s, r, sum)
  end,
  run = { { R = 1, C = 0 }, { R = 2, C = 10 }, { R = 3, C = 56 } },
}
