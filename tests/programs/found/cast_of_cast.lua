-- A first operand that is rounded twice: to bf16 by the program, then to what the instruction reads.
local M, H = dims "M H"

kernel "cast_of_cast" {
  axes = "m k h e", tile = { m = 64, h = 16 }, grid = { m = M }, arch = { sm_90a = {} },
  X = tensor { M, 16, dtype = "fp16", axes = "m k" }, W = tensor { H, 16, dtype = "fp16", axes = "h k" },
  U = tensor { H, 16, dtype = "fp16", axes = "h e" }, Y = tensor { M, 16, dtype = "fp32", axes = "m e", out = true },
  program = function(t, at, tile)
    local x = load(t.X, span(at.m, tile.m), all)
    local y = loop("h", range(0, H, tile.h), { zeros() }, function(h, y)
      local v = cast(dot(x, load(t.W, span(h, tile.h), all):t()), "bf16")
      return dot(cast(v, "fp16"), load(t.U, span(h, tile.h), all), y)
    end)
    store(t.Y, span(at.m, tile.m), all, y)
  end,
  run = { { M = 39, H = 24 } },
}
