local R, C = dims "R C"
kernel "other_threads" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { C, R, dtype = "fp32", out = true, axes = "c r" },
  axes = "r c", tile = { r = 16, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    local sums = row_sum(x)
    store(t.y, span(at.c, tile.c), span(at.r, tile.r), x:t() - sums:t())
  end,
}
