local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    local a = loop("j", range(0, 4), { rows(0) }, function(j, a)
      return gt(a, row_sum(x))
    end)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), a)
  end,
}
