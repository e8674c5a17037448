-- A loop that looks ahead, and whose last turn is ragged, within another: the outer one keeps its turns.
local M, H = dims "M H"

kernel "ahead_within" {
  axes = "m k h e", tile = { m = 64, h = 16 }, grid = { m = M }, arch = { sm_90a = {} },
  ahead = { x = { turns = 1, before = "o" } },
  X = tensor { M, 32, dtype = "fp16", axes = "m k" }, W = tensor { H, 32, dtype = "fp16", axes = "h k" },
  U = tensor { H, 32, dtype = "fp16", axes = "h e" }, Y = tensor { M, 32, dtype = "fp16", axes = "m e", out = true },
  S = tensor { M, dtype = "fp32", axes = "m", out = true },
  program = function(t, at, tile)
    local held = load(t.X, span(at.m, tile.m), all)
    local y, s = loop("outer", range(0, H, 2 * tile.h), { zeros(), rows(0) }, function(outer, y, s)
      return loop("h", range(outer, min(outer + 2 * tile.h, H), tile.h), { y, s }, function(h, y, s)
        local v = dot(held, load(t.W, span(h, tile.h), all):t()):as "x"
        return dot(cast(v, "fp16"), load(t.U, span(h, tile.h), all), y):as "o", s + row_sum(v)
      end)
    end)
    store(t.Y, span(at.m, tile.m), all, y)
    store(t.S, span(at.m, tile.m), s)
  end,
  run = { { M = 70, H = 16 * 5 - 8 }, { M = 130, H = 0 } },
}
