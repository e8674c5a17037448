-- y = factor x, row by row.
local R, C = dims "R C"

kernel "scale" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  factor = scalar("fp32", 1),
  axes = "r c", tile = { r = 1, c = 256 }, grid = { r = R },
  program = function(t, at, tile)
    loop("scale", range(0, C, tile.c), {}, function(c)
      local r, k = span(at.r, tile.r), span(c, tile.c)
      store(t.y, r, k, load(t.x, r, k) * t.factor)
    end)
  end,
  run = { { R = 3, C = 300 } },
}
