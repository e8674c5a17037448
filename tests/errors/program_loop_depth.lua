local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R, c = C },
  program = function(t, at, tile)
    local function nest(depth, x)
      if depth == 0 then return x end
      return loop("j" .. depth, range(0, 2), { x }, function(j, x) return nest(depth - 1, x) end)
    end
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), nest(5, x))
  end,
}
