-- Slices with addresses of their own beside all that copies, reads and stores do with a tensor: rows that end where data
-- say, elements that functions read, operands and results that lie the other way, results of fp32, tensors by strides
-- beside them, and programs without dots.
local B, M, N, K = dims "B M N K%8"
local function slices(a, b, dtype, out) return tensor { B, a, b, dtype = dtype, out = out, pointers = "B" } end

kernel "slices_plain" {
  axes = "b m n k", grid = { b = B, m = M, n = N }, tile = { m = 64, n = 32, k = 64 },
  arch = { sm_90a = {}, sm_80 = { pipeline = { stages = 2 } } },
  A = slices(M, K, "bf16"), W = slices(N, K, "bf16"), D = slices(M, N, "bf16", true),
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, at.b, m, along), load(t.W, at.b, n, along):t(), sum)
    end)
    store(t.D, at.b, m, n, sum)
  end,
  run = { { B = 3, M = 40, N = 48, K = 72 } },
}

kernel "slices_counted" {
  axes = "b m n k", grid = { b = B, m = M, n = N }, tile = { m = 128, n = 64, k = 64 },
  arch = { sm_90a = {}, sm_80 = { pipeline = { stages = 2 } } },
  A = slices(M, K, "bf16"), W = slices(N, K, "bf16"), D = slices(M, N, "bf16", true),
  bias = tensor { B, N, dtype = "bf16", pointers = "B" },
  count = tensor { B, dtype = "int32", fill = function(b, n) return ({ n.M - 9, 0, n.M + 9 })[b % 3 + 1] end },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m, t.count[at.b]), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, at.b, m, along), load(t.W, at.b, n, along):t(), sum)
    end)
    store(t.D, at.b, m, n, relu(sum + load(t.bias, at.b, n)))
  end,
  run = { { B = 3, M = 140, N = 72, K = 72 }, { B = 2, M = 20, N = 41, K = 200 } },
}

kernel "slices_turned" {
  axes = "b m n k", grid = { b = B, m = M, n = N }, tile = { m = 64, n = 64, k = 64 },
  arch = { sm_90a = {}, sm_80 = { pipeline = { stages = 2 } } },
  A = slices(K, M, "bf16"), W = tensor { B, K, N, dtype = "bf16" },
  R = slices(M, N, "bf16"), D = slices(N, M, "fp32", true),
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, at.b, along, m):t(), load(t.W, at.b, along, n), sum)
    end)
    store(t.D, at.b, n, m, (sum + load(t.R, at.b, m, n)):t())
  end,
  run = { { B = 3, M = 72, N = 136, K = 72 } },
}

kernel "slices_normed" {
  axes = "b r c", grid = { b = B, r = M }, tile = { r = 4, c = 128 },
  x = slices(M, N, "bf16"), y = slices(M, N, "bf16", true), w = tensor { B, N, dtype = "fp32", pointers = "B" },
  program = function(t, at, tile)
    local r = span(at.r, tile.r)
    local function part(c) return load(t.x, at.b, r, span(c, tile.c)) end
    local sum = loop("sum", range(0, N, tile.c), { rows(0) }, function(c, sum)
      return sum + row_sum(part(c) * part(c))
    end)
    loop("scale", range(0, N, tile.c), {}, function(c)
      local scaled = part(c) * rsqrt(sum / N + 1) * load(t.w, at.b, span(c, tile.c))
      store(t.y, at.b, r, span(c, tile.c), scaled + t.w[at.b][0])
    end)
  end,
  run = { { B = 3, M = 6, N = 136, K = 8 }, { B = 2, M = 5, N = 41, K = 8 } },
}
