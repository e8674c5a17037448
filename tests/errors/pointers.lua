local E, M, N, K, S = dims "E M N K S"
local function product(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    return dot(load(t.A, at.b, m, span(k, tile.k)), load(t.W, at.b, n, span(k, tile.k)):t(), sum)
  end)
  store(t.D, at.b, m, n, sum)
end
local plain = kernel "plain" {
  axes = "b m n k", grid = { b = E, m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, program = product,
  A = tensor { E, M, K, dtype = "bf16", pointers = "E" },
  W = tensor { E, N, K, dtype = "bf16" },
  D = tensor { E, M, N, dtype = "bf16", out = true },
  run = { { E = 2, M = 40, N = 40, K = 40 } },
}

-- Which dim: the first, by its name.
kernel "not_first" { like = plain, A = tensor { E, M, K, dtype = "bf16", pointers = "M" } }
kernel "no_dim" { like = plain, A = tensor { E, M, K, axes = "b m k", dtype = "bf16", pointers = "x" } }
kernel "no_name" { like = plain, A = tensor { E, M, K, dtype = "bf16", pointers = true } }
kernel "misspelt" { like = plain, A = tensor { E, M, K, dtype = "bf16", pointer = "E" } }
kernel "expression" { like = plain, A = tensor { E + 1, M, K, dtype = "bf16", pointers = "K" } }

-- What is left of one dim, and of five.
kernel "one_dim" { like = plain, bias = tensor { N, dtype = "bf16", pointers = "N" } }
kernel "five_dims" { like = plain, C = tensor { E, M, N, K, S, dtype = "bf16", pointers = "E" } }

-- It is a tensor's, and not the kernel's; a family's tensor has it too where a batch is its first dim.
kernel "of_kernel" { like = plain, pointers = "E" }
kernel "of_family" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16", pointers = "m" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
}
kernel "of_template" {
  template = "own.cu", grid = { M },
  x = tensor { E, M, dtype = "fp32", pointers = "E" }, y = tensor { M, dtype = "fp32", out = true },
}

-- A tile is of one slice.
kernel "spans" {
  axes = "b r c", grid = { b = E, r = M, c = N }, tile = { b = 2, r = 8, c = 64 },
  x = tensor { E, M, N, dtype = "bf16", pointers = "E" },
  y = tensor { E, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local b, r, c = span(at.b, tile.b), span(at.r, tile.r), span(at.c, tile.c)
    store(t.y, b, r, c, load(t.x, b, r, c))
  end,
  run = { { E = 2, M = 8, N = 64 } },
}
kernel "by_number" {
  axes = "r c", grid = { r = M, c = N }, tile = { r = 8, c = 64 },
  x = tensor { E, N, dtype = "bf16", pointers = "E" }, row = tensor { M, dtype = "int32" },
  y = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    store(t.y, r, c, gather(t.x, load(t.row, r), c))
  end,
  run = { { E = 2, M = 8, N = 64 } },
}
