-- What the tests of NAME_python.c call: a product with a scalar, one with a workspace, and rows with all that arguments
-- may be.
local M, N, K, P, C, R = dims "M N K P C R"
local half = { A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" } }

kernel "py_gemm" {
  family = "gemm", A = half.A, B = half.B, D = tensor { M, N, dtype = "fp32" },
  bias = tensor { N, dtype = "fp32", axes = "n" }, alpha = scalar "fp32",
  epilogue = function(acc, t) return acc + t.bias end,
  tile = { m = 64, n = 32, k = 64 }, arch = { sm_90a = {} },
}

kernel "py_split" {
  family = "gemm", A = half.A, B = half.B, D = tensor { M, N, dtype = "bf16" },
  split = { k = { parts = 2, over = "blocks" } }, tile = { m = 64, n = 32, k = 64 }, arch = { sm_90a = {} },
}

-- Windows of images, which maps of their own kind load.
kernel "py_conv" {
  family = "conv", X = tensor { P, R, C, 64, dtype = "bf16" }, F = tensor { N, 3, 3, 64, dtype = "bf16" },
  Y = tensor { P * R * C, N, dtype = "bf16" }, padding = 1, arch = { sm_90a = {} },
}

-- Matrices with addresses of their own, whose sizes no shape says.
kernel "py_pointers" {
  axes = "p m n k", grid = { p = P, m = M, n = N }, tile = { m = 64, n = 32, k = 64 }, arch = { sm_90a = {} },
  A = tensor { P, M, K, dtype = "bf16", pointers = "P" }, B = tensor { P, N, K, dtype = "bf16", pointers = "P" },
  D = tensor { P, M, N, dtype = "fp32", out = true, pointers = "P" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    store(t.D, at.p, m, n, loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, at.p, m, span(k, tile.k)), load(t.B, at.p, n, span(k, tile.k)):t(), sum)
    end))
  end,
}

-- Two outputs that can be made, of shapes that are long to write.
kernel "py_pair" {
  x = tensor { R, C, dtype = "fp32" },
  first_half_of_columns = tensor { R, (C + 1) // 2, dtype = "fp32", out = true },
  other_half_of_columns = tensor { R, (C + 1) // 2, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 4, c = 64 }, grid = { r = R, c = C }, arch = { sm_80 = {} },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.first_half_of_columns, span(at.r, tile.r), span(at.c, tile.c), x)
    store(t.other_half_of_columns, span(at.r, tile.r), span(at.c, tile.c), -x)
  end,
}

-- Of x the first R rows count, which no shape says; total is added to.
kernel "py_rows" {
  x = tensor { P * 4, C, dtype = "fp32" }, y = tensor { P * 4, C, dtype = "fp32", out = true },
  total = tensor { C, dtype = "fp32", out = true },
  f = scalar "fp32", a = scalar "fp16", b = scalar "bf16", n = scalar "int32", u = scalar "uint8", big = scalar "int64",
  axes = "r c", tile = { r = 4, c = 64 }, grid = { r = R, c = C }, arch = { sm_80 = {} },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r, R), span(at.c, tile.c))
    store(t.y, span(at.r, tile.r, R), span(at.c, tile.c), x * t.f + t.n + t.u + t.big + (t.a + t.b))
    store_add(t.total, span(at.c, tile.c), column_sum(x))
  end,
}
