-- Kernels that are programs: what one work item computes, on tiles, in sequential order. No thread, barrier or shared
-- memory stands here; edges of tensors are the language's affair. Each runs on every architecture.

local R, C, V, S = dims "R C V S"

-- y = x / sqrt(mean(x^2) + eps) * w, row by row. The first turns of a loop stay in registers for the next loop:
-- eight of 1024 columns here.
local rms_norm = kernel "rms_norm" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  w = tensor { C, dtype = "bf16" },
  eps = scalar("fp32", 1e-5),
  axes = "r c", tile = { r = 1, c = 1024 }, grid = { r = R },
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
  run   = { { R = 5, C = 1024 }, { R = 9, C = 3080 }, { R = 2, C = 10304 }, { R = 3, C = 999 }, { R = 0, C = 64 } },
  bench = { { R = 16384, C = 8192 }, { R = 32768, C = 4096 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local x, y, sum = t.x[r], t.y[r], 0
      for c = 0, n.C - 1 do sum = sum + x[c] * x[c] end
      local scale = rsqrt(sum / n.C + t.eps)
      for c = 0, n.C - 1 do y[c] = x[c] * scale * t.w[c] end
    end
  end,
}

-- The same program for rows of 32 thousand columns, and for short ones: a warp takes two of them.
kernel "rms_norm_wide" {
  like = rms_norm, tile = { c = 4096 },
  run = { { R = 3, C = 4096 }, { R = 1, C = 41000 }, { R = 2, C = 4099 }, { R = 2, C = 0 } },
  bench = { { R = 4096, C = 32768 } },
}
kernel "rms_norm_short" {
  like = rms_norm, tile = { r = 8, c = 512 },
  run = { { R = 7, C = 1024 }, { R = 5, C = 520 }, { R = 2, C = 5000 }, { R = 9, C = 77 }, { R = 1, C = 0 } },
  bench = { { R = 65536, C = 1024 } },
}

-- y = (x - mean(x)) / sqrt(var(x) + eps) * w + b
kernel "layer_norm" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  w = tensor { C, dtype = "bf16" }, b = tensor { C, dtype = "bf16" },
  eps = scalar("fp32", 1e-5),
  axes = "r c", tile = { r = 1, c = 1024 }, grid = { r = R },
  program = function(t, at, tile)
    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) end
    local sum = loop("sum", range(0, C, tile.c), { rows(0) }, function(c, s) return s + row_sum(part(c)) end)
    local mean = sum / C
    local squares = loop("squares", range(0, C, tile.c), { rows(0) }, function(c, s)
      local d = part(c) - mean
      return s + row_sum(d * d)
    end)
    local scale = rsqrt(squares / C + t.eps)
    loop("scale", range(0, C, tile.c), {}, function(c)
      local w, b = load(t.w, span(c, tile.c)), load(t.b, span(c, tile.c))
      store(t.y, span(at.r, tile.r), span(c, tile.c), (part(c) - mean) * scale * w + b)
    end)
  end,
  run   = { { R = 5, C = 1024 }, { R = 9, C = 3080 }, { R = 2, C = 10304 }, { R = 3, C = 999 } },
  bench = { { R = 16384, C = 8192 }, { R = 32768, C = 4096 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local x, y, sum, squares = t.x[r], t.y[r], 0, 0
      for c = 0, n.C - 1 do sum = sum + x[c] end
      for c = 0, n.C - 1 do squares = squares + (x[c] - sum / n.C) * (x[c] - sum / n.C) end
      local scale = rsqrt(squares / n.C + t.eps)
      for c = 0, n.C - 1 do y[c] = (x[c] - sum / n.C) * scale * t.w[c] + t.b[c] end
    end
  end,
}

-- Rows that hold nothing but -inf give 0.
local log2e = 1.4426950408889634
kernel "softmax" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 1, c = 1024 }, grid = { r = R },
  program = function(t, at, tile)
    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) * log2e end
    local most = loop("most", range(0, C, tile.c), { rows(-inf) }, function(c, m) return max(m, row_max(part(c))) end)
    local sum = loop("sum", range(0, C, tile.c), { rows(0) }, function(c, s)
      return s + row_sum(exp2_diff(part(c), most))
    end)
    loop("write", range(0, C, tile.c), {}, function(c)
      store(t.y, span(at.r, tile.r), span(c, tile.c), ratio(exp2_diff(part(c), most), sum, 0))
    end)
  end,
  run   = { { R = 5, C = 1024 }, { R = 9, C = 3080 }, { R = 2, C = 10304 }, { R = 3, C = 999 } },
  bench = { { R = 16384, C = 8192 }, { R = 32768, C = 4096 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local x, y, most, sum = t.x[r], t.y[r], -math.huge, 0
      for c = 0, n.C - 1 do most = max(most, x[c]) end
      for c = 0, n.C - 1 do sum = sum + exp(x[c] - most) end
      for c = 0, n.C - 1 do y[c] = exp(x[c] - most) / sum end
    end
  end,
}

kernel "transpose" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { C, R, dtype = "bf16", out = true, axes = "c r" },
  axes = "r c", tile = { r = 128, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.c, tile.c), span(at.r, tile.r), x:t())
  end,
  run   = { { R = 128, C = 64 }, { R = 200, C = 72 }, { R = 65, C = 130 } },
  bench = { { R = 8192, C = 8192 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do for c = 0, n.C - 1 do t.y[c][r] = t.x[r][c] end end
  end,
}

kernel "column_sum" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 128, c = 64 }, grid = { c = C },
  program = function(t, at, tile)
    local s = loop("down", range(0, R, tile.r), { columns(0) }, function(r, s)
      return s + column_sum(load(t.x, span(r, tile.r), span(at.c, tile.c)))
    end)
    store(t.y, span(at.c, tile.c), s)
  end,
  run   = { { R = 256, C = 128 }, { R = 300, C = 136 }, { R = 77, C = 131 }, { R = 0, C = 64 } },
  bench = { { R = 2048, C = 32768 } },
  reference = function(t, n)
    for c = 0, n.C - 1 do
      local s = 0
      for r = 0, n.R - 1 do s = s + t.x[r][c] end
      t.y[c] = s
    end
  end,
}

kernel "embedding" {
  table = tensor { V, C, dtype = "bf16" }, ids = tensor { S, dtype = "int32", fill = "integers 0 36" },
  y = tensor { S, C, dtype = "bf16", out = true },
  axes = "s c", tile = { s = 4, c = 1024 }, grid = { s = S, c = C },
  program = function(t, at, tile)
    local ids = load(t.ids, span(at.s, tile.s))
    local rows = gather(t.table, ids, span(at.c, tile.c))
    store(t.y, span(at.s, tile.s), span(at.c, tile.c), rows)
  end,
  run   = { { V = 37, C = 1024, S = 16 }, { V = 40, C = 1096, S = 7 }, { V = 37, C = 333, S = 9 } },
  bench = { { V = 32768, C = 4096, S = 16384 } },
  reference = function(t, n)
    for s = 0, n.S - 1 do
      local from, to = t.table[t.ids[s]], t.y[s]
      for c = 0, n.C - 1 do to[c] = from[c] end
    end
  end,
}

-- Five points. Where one of them lies outside there is nothing to add: the edge itself stays unwritten.
kernel "stencil" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  a = scalar("fp32", 0.5), b = scalar("fp32", 0.125),
  axes = "r c", tile = { r = 8, c = 128 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local function x(down, right) return load(t.x, span(at.r + down, tile.r), span(at.c + right, tile.c)) end
    local around = x(-1, 0) + x(1, 0) + x(0, -1) + x(0, 1)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), t.a * x(0, 0) + t.b * around)
  end,
  run   = { { R = 16, C = 256 }, { R = 21, C = 300 }, { R = 20, C = 303 }, { R = 1, C = 1 } },
  bench = { { R = 8192, C = 8192 } },
  reference = function(t, n)
    for r = 1, n.R - 2 do
      for c = 1, n.C - 2 do
        local around = t.x[r - 1][c] + t.x[r + 1][c] + t.x[r][c - 1] + t.x[r][c + 1]
        t.y[r][c] = t.a * t.x[r][c] + t.b * around
      end
    end
  end,
}
