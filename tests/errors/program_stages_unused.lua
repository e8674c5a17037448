local M, N = dims "M N"
kernel "g" {
  axes = "m n k", tile = { m = 128, n = 64 }, grid = { m = M, n = N }, arch = { sm_90a = {}, sm_80 = {} },
  pipeline = { stages = 2 },
  A = tensor { M, 64, dtype = "bf16", axes = "m k" }, B = tensor { N, 64, dtype = "bf16", axes = "n k" }, D = tensor { M, N, dtype = "fp32", axes = "m n", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    store(t.D, m, n, dot(load(t.A, m, all), load(t.B, n, all):t()))
  end,
  run = { { M = 256, N = 256 } },
}
