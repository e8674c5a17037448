-- What an accumulator held last turn, as the bits of a cast: no copy of them stands behind wgmma.fence.
local M, H = dims "M H"

kernel "bits_behind_fence" {
  axes = "m k h e", tile = { m = 64, h = 32 }, grid = { m = M }, arch = { sm_90a = {} },
  X = tensor { M, 32, dtype = "fp16", axes = "m k" }, W = tensor { H, 32, dtype = "fp16", axes = "h k" },
  U = tensor { H, 32, dtype = "fp16", axes = "h e" },
  Y = tensor { M, 32, dtype = "fp16", axes = "m e", out = true }, S = tensor { M, dtype = "fp32", axes = "m", out = true },
  program = function(t, at, tile)
    local x = load(t.X, span(at.m, tile.m), all)
    local y, s = loop("h", range(0, H, tile.h), { zeros(), rows(0) }, function(h, y, s)
      local z = cast(dot(x, load(t.W, span(h, tile.h), all):t()), "bf16")
      return dot(cast(z, "fp16"), load(t.U, span(h, tile.h), all), y), s + row_sum(z)
    end)
    store(t.Y, span(at.m, tile.m), all, y)
    store(t.S, span(at.m, tile.m), s)
  end,
  run = { { M = 89, H = 116 } },
}
