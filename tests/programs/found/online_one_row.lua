-- Tiles of one row: a carried number for each row is one number, and has an extent.
local R, C = dims "R C"

kernel "online_one_row" {
  axes = "r c", tile = { r = 1, c = 16 }, grid = { r = R },
  x = tensor { R, C, dtype = "fp32", axes = "r c" }, y = tensor { R, dtype = "fp32", axes = "r", out = true },
  program = function(t, at, tile)
    local most, sum = loop("c", range(0, C, tile.c), { rows(-inf), rows(0) }, function(c, most, sum)
      local x = load(t.x, span(at.r, tile.r), span(c, tile.c))
      local m = max(most, row_max(x))
      return m, sum * exp2_diff(most, m) + row_sum(exp2_diff(x, m))
    end)
    store(t.y, span(at.r, tile.r), ratio(1, sum, 0) + most)
  end,
  run = { { R = 3, C = 40 } },
}
