-- A sum of what has no bound has none, of a stride as of a divisor.
local M, N = dims "M N"
kernel "k" {
  x = tensor { M + N, N, dtype = "fp32", stride = { M * N + N, 1 } }, y = tensor { M, N, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 1, c = 64 }, grid = { r = M, c = N // (M * N + M * N) + 1 },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(0, tile.c))
    store(t.y, span(at.r, tile.r), span(0, tile.c), x * (at.r // (at.r + at.c + 1)))
  end,
}
