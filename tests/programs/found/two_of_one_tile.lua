-- Two sums of one tile, in a loop that looks ahead: both are made before the next dot takes its registers.
local M, H = dims "M H"

kernel "two_of_one_tile" {
  axes = "m k h e", tile = { m = 64, h = 16 }, grid = { m = M }, arch = { sm_90a = {}, sm_80 = {} },
  ahead = { x = { turns = 1, before = "o" } },
  X = tensor { M, 32, dtype = "bf16", axes = "m k" }, W = tensor { H, 32, dtype = "bf16", axes = "h k" },
  U = tensor { H, 32, dtype = "bf16", axes = "h e" }, Y = tensor { M, 32, dtype = "fp32", axes = "m e", out = true },
  S = tensor { M, dtype = "fp32", axes = "m", out = true },
  program = function(t, at, tile)
    local here = span(at.m, tile.m)
    local held = load(t.X, here, all)
    local y, s = loop("h", range(0, H, tile.h), { zeros(), rows(0) }, function(h, y, s)
      local v = dot(held, load(t.W, span(h, tile.h), all):t()):as "x"
      return dot(cast(v, "bf16"), load(t.U, span(h, tile.h), all), y):as "o", s + row_sum(v) + row_sum(v) * 0.25
    end)
    store(t.Y, here, all, y)
    store(t.S, here, s)
  end,
  run = { { M = 70, H = 16 * 5 - 8 }, { M = 130, H = 0 } },
}
