-- Tiles that two loops share stay in registers: what each loop declares is its own.
local R, C = dims "R C"

kernel "kept_turns" {
  axes = "r c", tile = { r = 8, c = 16 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16", axes = "r c" }, s = tensor { R, dtype = "fp32", axes = "r", out = true },
  program = function(t, at, tile)
    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c, C - 3)) end
    local sum = loop("sum", range(0, min(C, 16), tile.c), { rows(0) }, function(c, sum) return sum + row_sum(part(c)) end)
    local least = loop("least", range(0, min(C, 16), tile.c), { rows(inf) }, function(c, least)
      return min(least, row_min(part(c)))
    end)
    store(t.s, span(at.r, tile.r), sum + max(min(least, 100), -100))
  end,
  run = { { R = 14, C = 0 }, { R = 6, C = 1 }, { R = 21, C = 78 } },
}
