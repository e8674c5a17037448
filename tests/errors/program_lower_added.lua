local R, C = dims "R C"
kernel "added" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 8, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    store_add(t.y, span(at.c, tile.c), column_sum(load(t.x, span(at.r, tile.r), span(at.c, tile.c))))
  end,
}
