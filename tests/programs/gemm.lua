-- Matrix products: plain, with what follows the sum, of bytes that are scaled, two in a row.
local M, N, K, H = dims "M N K H"

kernel "product" {
  a = tensor { M, K, dtype = "bf16", axes = "m k" }, b = tensor { N, K, dtype = "bf16", axes = "n k" },
  d = tensor { M, N, dtype = "bf16", out = true, axes = "m n" },
  axes = "m n k", tile = { m = 32, n = 48, k = 16 }, grid = { m = M, n = N },
  program = function(t, at, tile)
    local acc = loop("k", range(0, K, tile.k), { zeros() }, function(k, acc)
      local a, b = load(t.a, span(at.m, tile.m), span(k, tile.k)), load(t.b, span(at.n, tile.n), span(k, tile.k))
      return dot(a, b:t(), acc)
    end)
    store(t.d, span(at.m, tile.m), span(at.n, tile.n), acc)
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do sum = sum + t.a[i][k] * t.b[j][k] end
        t.d[i][j] = sum
      end
    end
  end,
  run = { { M = 65, N = 50, K = 40 }, { M = 32, N = 48, K = 16 }, { M = 3, N = 7, K = 5 }, { M = 9, N = 9, K = 0 } },
}

kernel "product_bias_gelu_c" {
  a = tensor { M, K, dtype = "fp16", axes = "m k" }, b = tensor { K, N, dtype = "fp16", axes = "k n" },
  bias = tensor { N, dtype = "fp16", axes = "n" }, c = tensor { M, N, dtype = "fp16", axes = "m n" },
  d = tensor { M, N, dtype = "fp16", out = true, axes = "m n" },
  raw = tensor { M, N, dtype = "fp32", out = true, axes = "m n" },
  alpha = scalar("fp32", 0.5), beta = scalar("fp32", 0.25),
  axes = "m n k", tile = { m = 16, n = 32, k = 32 }, grid = { m = M, n = N },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local acc = loop("k", range(0, K, tile.k), { zeros() }, function(k, acc)
      return dot(load(t.a, m, span(k, tile.k)), load(t.b, span(k, tile.k), n), acc)
    end)
    local x = acc * t.alpha + t.bias
    store(t.raw, m, n, x)
    store(t.d, m, n, gelu(x) + t.beta * load(t.c, m, n))
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do sum = sum + t.a[i][k] * t.b[k][j] end
        sum = sum * t.alpha + t.bias[j]
        t.raw[i][j], t.d[i][j] = sum, gelu(sum) + t.beta * t.c[i][j]
      end
    end
  end,
  run = { { M = 33, N = 40, K = 70 }, { M = 16, N = 5, K = 32 } },
}

-- int8 times int8 sums in int32; rows and columns have scales of their own.
kernel "product_int8" {
  a = tensor { M, K, dtype = "int8", fill = "integers -127 127", axes = "m k" },
  b = tensor { N, K, dtype = "int8", fill = "integers -127 127", axes = "n k" },
  row_scale = tensor { M, dtype = "fp32", axes = "m" }, column_scale = tensor { N, dtype = "fp32", axes = "n" },
  d = tensor { M, N, dtype = "bf16", out = true, axes = "m n" },
  axes = "m n k", tile = { m = 16, n = 16, k = 64 }, grid = { m = M, n = N },
  program = function(t, at, tile)
    local acc = loop("k", range(0, K, tile.k), { zeros() }, function(k, acc)
      local a, b = load(t.a, span(at.m, tile.m), span(k, tile.k)), load(t.b, span(at.n, tile.n), span(k, tile.k))
      return dot(a, b:t(), acc)
    end)
    store(t.d, span(at.m, tile.m), span(at.n, tile.n), acc * t.row_scale * t.column_scale)
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do sum = sum + t.a[i][k] * t.b[j][k] end
        t.d[i][j] = sum * t.row_scale[i] * t.column_scale[j]
      end
    end
  end,
  run = { { M = 20, N = 33, K = 100 } },
}

-- Weights of int8 with a scale for each 32 along k, made bf16 on the way.
kernel "product_dequantised" {
  a = tensor { M, K, dtype = "bf16", axes = "m k" },
  b = tensor { N, K, dtype = "int8", fill = "integers -8 7", axes = "n k" },
  scale = tensor { N, K // 32, dtype = "bf16" },
  d = tensor { M, N, dtype = "fp32", out = true, axes = "m n" },
  axes = "m n k", tile = { m = 16, n = 24, k = 32 }, grid = { m = M, n = N },
  program = function(t, at, tile)
    local acc = loop("k", range(0, K, tile.k), { zeros() }, function(k, acc)
      local b = load(t.b, span(at.n, tile.n), span(k, tile.k))
      local scale = load(t.scale, span(at.n, tile.n), span(k // 32, 1))
      return dot(load(t.a, span(at.m, tile.m), span(k, tile.k)), stage(cast(b * scale, "bf16")):t(), acc)
    end)
    store(t.d, span(at.m, tile.m), span(at.n, tile.n), acc)
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do sum = sum + t.a[i][k] * cast(t.b[j][k] * t.scale[j][k // 32], "bf16") end
        t.d[i][j] = sum
      end
    end
  end,
  run = { { M = 17, N = 30, K = 96 } },
}

-- relu(x w1) w2, the hidden part never in memory.
kernel "two_products" {
  x = tensor { M, 40, dtype = "bf16", axes = "m k" }, w1 = tensor { H, 40, dtype = "bf16", axes = "h k" },
  w2 = tensor { 24, H, dtype = "bf16", axes = "n h" }, y = tensor { M, 24, dtype = "bf16", out = true, axes = "m n" },
  axes = "m n k h", tile = { m = 16, h = 32 }, grid = { m = M },
  program = function(t, at, tile)
    local x = load(t.x, span(at.m, tile.m), all)
    local acc = loop("h", range(0, H, tile.h), { zeros() }, function(h, acc)
      local hidden = relu(dot(x, load(t.w1, span(h, tile.h), all):t()))
      return dot(cast(hidden, "bf16"), load(t.w2, all, span(h, tile.h)):t(), acc)
    end)
    store(t.y, span(at.m, tile.m), all, acc)
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, 23 do t.y[i][j] = 0 end
      for h = 0, n.H - 1 do
        local sum = 0
        for k = 0, 39 do sum = sum + t.x[i][k] * t.w1[h][k] end
        local hidden = cast(math.max(sum, 0), "bf16")
        for j = 0, 23 do t.y[i][j] = t.y[i][j] + hidden * t.w2[j][h] end
      end
    end
  end,
  run = { { M = 21, H = 75 }, { M = 16, H = 0 } },
}
