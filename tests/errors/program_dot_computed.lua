-- Integers of 8 bits are multiplied as they are loaded: what is computed of them has more bits.
local M, N, K = dims "M N K"

kernel "k" {
  A = tensor { M, K, dtype = "int8" }, B = tensor { N, K, dtype = "uint8" }, C = tensor { M, K, dtype = "int32" },
  D = tensor { M, N, dtype = "int32", out = true },
  axes = "m n k", tile = { m = 64, n = 32, k = 64 }, grid = { m = M, n = N },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    store(t.D, m, n, loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, m, span(k, tile.k)) * 2, load(t.B, n, span(k, tile.k)):t(), sum)
    end))
  end,
}
