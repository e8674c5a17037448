-- What moves data: a transposition, sums of columns, rows by their numbers, a stencil, sums by row number.
local R, C, V = dims "R C V"

kernel "transposed" {
  x = tensor { R, C, dtype = "fp16" }, y = tensor { C, R, dtype = "fp16", out = true },
  axes = "r c", tile = { r = 16, c = 24 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    store(t.y, span(at.c, tile.c), span(at.r, tile.r), load(t.x, span(at.r, tile.r), span(at.c, tile.c)):t())
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do for c = 0, n.C - 1 do t.y[c][r] = t.x[r][c] end end
  end,
  run = { { R = 50, C = 33 }, { R = 16, C = 24 } },
}

-- R = 0: the loop has no turn, and every sum is 0.
kernel "column_sums" {
  x = tensor { R, C, dtype = "bf16" }, sum = tensor { C, dtype = "fp32", out = true },
  least = tensor { C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 32 }, grid = { c = C },
  program = function(t, at, tile)
    local sum, least = loop("rows", range(0, R, tile.r), { columns(0), columns(inf) }, function(r, sum, least)
      local x = load(t.x, span(r, tile.r), span(at.c, tile.c))
      return sum + column_sum(x), min(least, column_min(x))
    end)
    store(t.sum, span(at.c, tile.c), sum)
    store(t.least, span(at.c, tile.c), least)
  end,
  reference = function(t, n)
    for c = 0, n.C - 1 do
      local sum, least = 0, math.huge
      for r = 0, n.R - 1 do sum, least = sum + t.x[r][c], math.min(least, t.x[r][c]) end
      t.sum[c], t.least[c] = sum, least
    end
  end,
  run = { { R = 21, C = 70 }, { R = 1, C = 5 }, { R = 0, C = 40 } },
}

kernel "embedded" {
  id = tensor { R, dtype = "int32", fill = "integers 0 9" }, table = tensor { V, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 8, c = 16 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local id = load(t.id, span(at.r, tile.r))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), gather(t.table, id, span(at.c, tile.c)))
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do for c = 0, n.C - 1 do t.y[r][c] = t.table[t.id[r]][c] end end
  end,
  run = { { R = 19, C = 40, V = 10 } },
}

-- Five points: the mean of the four around, weighed with the middle. Beyond the edge there is nothing to add, so the
-- edge itself stays unwritten.
kernel "stencil" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 16 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local function beside(dr, dc) return load(t.x, span(at.r + dr, tile.r), span(at.c + dc, tile.c)) end
    local around = beside(-1, 0) + beside(1, 0) + beside(0, -1) + beside(0, 1)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), beside(0, 0) * 0.5 + around * 0.125)
  end,
  reference = function(t, n)
    for r = 1, n.R - 2 do
      for c = 1, n.C - 2 do
        local around = t.x[r - 1][c] + t.x[r + 1][c] + t.x[r][c - 1] + t.x[r][c + 1]
        t.y[r][c] = t.x[r][c] / 2 + around / 8
      end
    end
  end,
  run = { { R = 19, C = 40 }, { R = 2, C = 20 }, { R = 8, C = 16 } },
}

-- Gradients of an embedding: rows that carry the same number are added.
kernel "scattered" {
  id = tensor { R, dtype = "int32", fill = "integers 0 6" }, dy = tensor { R, C, dtype = "bf16" },
  sum = tensor { V, C, dtype = "fp32", out = true }, total = tensor { C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 16 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local id = load(t.id, span(at.r, tile.r))
    local dy = load(t.dy, span(at.r, tile.r), span(at.c, tile.c))
    scatter_add(t.sum, id, span(at.c, tile.c), dy * 0.25)
    store_add(t.total, span(at.c, tile.c), column_sum(dy))
  end,
  reference = function(t, n)
    for v = 0, n.V - 1 do for c = 0, n.C - 1 do t.sum[v][c] = 0 end end
    for c = 0, n.C - 1 do t.total[c] = 0 end
    for r = 0, n.R - 1 do
      for c = 0, n.C - 1 do
        t.sum[t.id[r]][c] = t.sum[t.id[r]][c] + t.dy[r][c] / 4
        t.total[c] = t.total[c] + t.dy[r][c]
      end
    end
  end,
  run = { { R = 29, C = 40, V = 8 } },
}
