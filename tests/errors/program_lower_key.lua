local R, C, V = dims "R C V"
kernel "ordered" {
  id = tensor { R, dtype = "int32", fill = "integers 0 6" }, dy = tensor { R, C, dtype = "bf16" },
  sum = tensor { V, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 16 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local id = load(t.id, span(at.r, tile.r))
    scatter_add(t.sum, id, span(at.c, tile.c), load(t.dy, span(at.r, tile.r), span(at.c, tile.c)), at.r)
  end,
}
