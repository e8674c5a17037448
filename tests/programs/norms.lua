-- Rows normed by sums over a loop, or of a whole row that is one tile.
local R, C = dims "R C"

kernel "rms_norm_rows" {
  x = tensor { R, C, dtype = "bf16" }, w = tensor { C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", out = true },
  eps = scalar("fp32", 1e-5),
  axes = "r c", tile = { r = 4, c = 64 }, grid = { r = R },
  program = function(t, at, tile)
    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) end
    local s = loop("sum", range(0, C, tile.c), { rows(0) }, function(c, s)
      local x = part(c)
      return s + row_sum(x * x)
    end)
    local scale = rsqrt(s / C + t.eps)
    loop("scale", range(0, C, tile.c), {}, function(c)
      store(t.y, span(at.r, tile.r), span(c, tile.c), part(c) * scale * load(t.w, span(c, tile.c)))
    end)
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local sum = 0
      for c = 0, n.C - 1 do sum = sum + t.x[r][c] ^ 2 end
      for c = 0, n.C - 1 do t.y[r][c] = t.x[r][c] * rsqrt(sum / n.C + t.eps) * t.w[c] end
    end
  end,
  run = { { R = 5, C = 100 }, { R = 4, C = 64 }, { R = 1, C = 7 } },
}

-- Mean first, then the variance around it: no difference of large numbers.
kernel "layer_norm_rows" {
  x = tensor { R, C, dtype = "fp16" }, w = tensor { C, dtype = "fp32" }, b = tensor { C, dtype = "fp32" },
  y = tensor { R, C, dtype = "fp16", out = true }, mean = tensor { R, dtype = "fp32", out = true },
  eps = scalar("fp32", 1e-3),
  axes = "r c", tile = { r = 3, c = 32 }, grid = { r = R },
  program = function(t, at, tile)
    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) end
    local mean = loop("mean", range(0, C, tile.c), { rows(0) }, function(c, s) return s + row_sum(part(c)) end) / C
    local square = loop("square", range(0, C, tile.c), { rows(0) }, function(c, s)
      local d = part(c) - mean
      return s + row_sum(d * d)
    end)
    store(t.mean, span(at.r, tile.r), mean)
    loop("scale", range(0, C, tile.c), {}, function(c)
      local w, b = load(t.w, span(c, tile.c)), load(t.b, span(c, tile.c))
      store(t.y, span(at.r, tile.r), span(c, tile.c), (part(c) - mean) * rsqrt(square / C + t.eps) * w + b)
    end)
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local mean, square = 0, 0
      for c = 0, n.C - 1 do mean = mean + t.x[r][c] / n.C end
      for c = 0, n.C - 1 do square = square + (t.x[r][c] - mean) ^ 2 / n.C end
      t.mean[r] = mean
      for c = 0, n.C - 1 do t.y[r][c] = (t.x[r][c] - mean) / (square + t.eps) ^ 0.5 * t.w[c] + t.b[c] end
    end
  end,
  run = { { R = 7, C = 100 }, { R = 3, C = 31 } },
}
