local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "fp32" },
  y = tensor { R, C, dtype = "int32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R, c = C },
  program = function(t, at, tile)
    local place = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), whole(lt(place, 0)) + floor(place))
  end,
}
