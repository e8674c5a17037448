local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R, c = C },
  ahead = { q = { turns = 1 }, s = { turns = 0, before = "p", after = "x" }, x = 1 },
  via = { x = "bulky", s = "direct", z = "bulk" },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c)):as "x"
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), row_sum(x):as "s")
  end,
}
