local R, C = dims "R C"
kernel "large" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 512, c = 1024 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), load(t.x, span(at.r, tile.r), span(at.c, tile.c)) * 2)
  end,
}
