-- What a loop carries on meets nothing with rows in it, and goes by the row.
local M = dims "M"
kernel "weights" {
  a = tensor { M, 64, dtype = "bf16" }, b = tensor { 64, 64, dtype = "bf16" },
  c = tensor { M, 64, dtype = "fp32", out = true },
  axes = "m n k", tile = { m = 64 }, grid = { m = M }, arch = { sm_90a = {} },
  program = function(t, at, tile)
    local m = span(at.m, tile.m)
    local sum, w = loop("k", range(0, 64, 16), { zeros(), rows(0) }, function(k, sum, w)
      return dot(load(t.a, m, span(k, 16)), load(t.b, all, span(k, 16)):t(), sum), w + row() // 16
    end)
    store(t.c, m, all, sum + w)
  end,
}
