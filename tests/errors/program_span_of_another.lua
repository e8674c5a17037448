local R, C = dims "R C"
local kept

kernel "first" {
  unread = tensor { R, dtype = "fp32" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  grid = { r = R, c = C },
  program = function(t, at)
    kept = span(at.r, 1)
    store(t.y, kept, span(at.c, 1), 0)
  end,
}

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, kept, span(at.c, tile.c))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), x)
  end,
}
