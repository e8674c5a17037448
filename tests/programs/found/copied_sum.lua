-- A dot outside of loops adds to what one has summed up: its sum is copied before the fence, and not behind it.
local M, H = dims "M H"

kernel "copied_sum" {
  axes = "m k h e", tile = { m = 64, h = 16 }, grid = { m = M }, arch = { sm_90a = {}, sm_80 = {} },
  X = tensor { M, H, dtype = "bf16", axes = "m h" }, U = tensor { H, 32, dtype = "bf16", axes = "h e" },
  G = tensor { M, 16, dtype = "bf16", axes = "m k" }, Z = tensor { 32, 16, dtype = "bf16", axes = "e k" },
  Y = tensor { M, 32, dtype = "fp32", axes = "m e", out = true },
  program = function(t, at, tile)
    local here = span(at.m, tile.m)
    local y = loop("h", range(0, H, tile.h), { zeros() }, function(h, y)
      return dot(load(t.X, here, span(h, tile.h)), load(t.U, span(h, tile.h), all), y)
    end)
    store(t.Y, here, all, dot(load(t.G, here, all), load(t.Z, all, all):t(), y))
  end,
  run = { { M = 70, H = 40 }, { M = 130, H = 0 }, { M = 200, H = 16 } },
}
