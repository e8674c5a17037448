local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R, c = C },
  cluster = { r = 9, k = 2 },
  pipeline = { stages = 3, warps_m = 2 },
  tune = { tile = { r = { 32, "64" }, k = { 1 } }, pipeline = { stages = { 99 } } },
  epilogue = function(acc) return acc end,
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c)):as "x"
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), row_sum(x):as "s")
  end,
}
