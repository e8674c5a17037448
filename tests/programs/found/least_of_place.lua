-- A row of a tensor by the lesser of an item's place, a variable of 64 bits in some texts, and a number of 32.
local T, C = dims "T C"

kernel "least_of_place" {
  axes = "t c s", grid = "t", tile = { t = 8, s = 32 }, arch = { sm_90a = {} },
  N = tensor { (T + 63) // 64, C, dtype = "int32", axes = "c s", fill = "integers 0 9" },
  X = tensor { T, C, dtype = "fp32", axes = "t s" }, Y = tensor { T, C, dtype = "fp32", axes = "t s", out = true },
  program = function(t, at, tile)
    loop("s", range(0, extent "s", tile.s), {}, function(s)
      local n = t.N[min(at.t, extent "c" - 1)][s // tile.s]
      store(t.Y, span(at.t, tile.t), span(s, tile.s, s + n), load(t.X, span(at.t, tile.t), span(s, tile.s)))
    end)
  end,
  run = { { T = 70, C = 40 }, { T = 300, C = 96 } },
}
