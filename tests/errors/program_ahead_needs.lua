local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R },
  ahead = { outside = {}, product = { before = "x" }, sum = { before = "product" } },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(0, tile.c)):as "x"
    local s = loop("j", range(0, C, tile.c), { rows(0) }, function(j, s)
      local z = load(t.x, span(at.r, tile.r), span(j, tile.c))
      return row_sum(dot(x, z:t()):as "product" + s):as "sum"
    end)
    store(t.y, span(at.r, tile.r), span(0, tile.c), row_max(x):as "outside" + s)
  end,
}
