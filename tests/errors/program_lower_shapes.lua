local R, C = dims "R C"
kernel "three_shapes" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local a = row_sum(load(t.x, span(at.r, 16), span(at.c, 128)))
    local b = row_sum(load(t.x, span(at.r, 32), span(at.c, 256)))
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), x + column_sum(a) + column_sum(b))
  end,
}
