-- A tile that one dot reads from shared memory and another as a computed operand: the kernel takes a map and an address.
local M, N = dims "M N"

kernel "copied_and_addressed" {
  axes = "m n k", tile = { m = 64, n = 32 }, grid = { m = M, n = N },
  A = tensor { M, 32, dtype = "fp16", axes = "m k" },
  X = tensor { 32, N, dtype = "fp16", axes = "k n" }, Y = tensor { 32, N, dtype = "fp16", axes = "k n" },
  D = tensor { M, N, dtype = "fp32", axes = "m n", out = true },
  program = function(t, at, tile)
    local a = load(t.A, span(at.m, tile.m), all)
    local x, y = load(t.X, all, span(at.n, tile.n)), load(t.Y, all, span(at.n, tile.n))
    store(t.D, span(at.m, tile.m), span(at.n, tile.n), dot(a, x) + dot(-a, y))
  end,
  run = { { M = 130, N = 72 }, { M = 64, N = 32 } },
}
