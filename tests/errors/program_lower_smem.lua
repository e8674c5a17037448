local R, C = dims "R C"
kernel "turned" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { C, R, dtype = "fp32", out = true, axes = "c r" },
  axes = "r c", tile = { r = 256, c = 256 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.c, tile.c), span(at.r, tile.r), x:t())
  end,
}
