local R, C = dims "R C"
kernel "wide" {
  x = tensor { R, C, dtype = "fp64" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 4, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), load(t.x, span(at.r, tile.r), span(at.c, tile.c)))
  end,
}
