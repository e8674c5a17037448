local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  z = tensor { R, C, dtype = "int8" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    local z = load(t.z, span(at.r, 64), span(at.c, 128))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), dot(x, z:t()))
  end,
}
