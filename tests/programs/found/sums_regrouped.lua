-- Sums that a loop carries may be grouped in any way: exact in the meaning's order is not exact in every order.
local R, C = dims "R C"

kernel "sums_regrouped" {
  axes = "r c", tile = { r = 4, c = 128 }, grid = { c = C },
  x = tensor { R, C, dtype = "bf16", axes = "r c" }, squares = tensor { C, dtype = "fp32", axes = "c", out = true },
  program = function(t, at, tile)
    local sum = loop("r", range(0, R, tile.r), { columns(0) }, function(r, sum)
      local x = load(t.x, span(r, tile.r), span(at.c, tile.c))
      return sum + column_sum(x * x)
    end)
    store(t.squares, span(at.c, tile.c), sum)
  end,
  run = { { R = 10, C = 8192 } },
}
