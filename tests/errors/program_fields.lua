local R, C = dims "R C"
local function copy(t, at, tile)
  store(t.y, span(at.r, 64), span(at.c, 64), load(t.x, span(at.r, 64), span(at.c, 64)))
end

kernel "no_axes" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", out = true },
  grid = { r = R },
  program = copy,
}
kernel "no_grid" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c",
  program = copy,
}
kernel "grid_as_list" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c",
  grid = { R, C },
  program = copy,
}
kernel "unknown_axes" {
  x = tensor { R, C, dtype = "bf16", axes = "r k" },
  y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c",
  tile = { rows = 64 },
  grid = { r = R, d = C },
  program = copy,
}
kernel "tile_values" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c",
  tile = { r = 0, c = "64" },
  grid = { r = R, c = C },
  program = copy,
}
kernel "no_function" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c",
  grid = { r = R, c = C },
  program = "copy",
}
kernel "two_kinds" {
  family = "gemm",
  axes = "r c",
  program = copy,
}
