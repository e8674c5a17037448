-- Loads that lie beside each other: rows and vectors that several of them read are loaded once.
local R, C = dims "R C"

-- Nine points in bf16: each vector is read at three places, and so is each row.
kernel "nine_points" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 16, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local function x(down, right) return load(t.x, span(at.r + down, tile.r), span(at.c + right, tile.c)) end
    local sum = x(0, 0) * 2
    for _, d in ipairs { -1, 0, 1 } do for _, r in ipairs { -1, 0, 1 } do sum = sum + x(d, r) * (d + 3 * r) end end
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), sum)
  end,
  run = { { R = 40, C = 136 }, { R = 33, C = 70 }, { R = 2, C = 3 } },
  reference = function(t, n)
    for r = 1, n.R - 2 do
      for c = 1, n.C - 2 do
        local sum = t.x[r][c] * 2
        for d = -1, 1 do for e = -1, 1 do sum = sum + t.x[r + d][c + e] * (d + 3 * e) end end
        t.y[r][c] = sum
      end
    end
  end,
}

-- Far along one row: five windows of vectors, of which no thread holds a neighbour's.
kernel "along" {
  x = tensor { R, C, dtype = "fp16" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 1, c = 256 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local function x(right) return load(t.x, span(at.r, tile.r), span(at.c + right, tile.c)) end
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), x(-9) + x(-8) * 2 + x(-1) * 3 + x(0) * 4 + x(3) * 5 + x(17) * 6)
  end,
  run = { { R = 2, C = 600 }, { R = 1, C = 301 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do
      for c = 9, n.C - 18 do
        local x = t.x[r]
        t.y[r][c] = x[c - 9] + x[c - 8] * 2 + x[c - 1] * 3 + x[c] * 4 + x[c + 3] * 5 + x[c + 17] * 6
      end
    end
  end,
}

-- Rows too far from each other to be loaded as one window, in a tile that threads do not divide, with constant sizes.
kernel "far" {
  x = tensor { 48, 72, dtype = "fp32" }, y = tensor { 48, 72, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 6, c = 24 }, grid = { r = 48, c = 72 },
  program = function(t, at, tile)
    local function x(down) return load(t.x, span(at.r + down, tile.r), span(at.c, tile.c)) end
    local near = x(0) + x(1) + x(2)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), x(-20) + x(20) * 2 + near * 4)
  end,
  run = { {} },
  reference = function(t, n)
    for r = 20, 27 do
      for c = 0, 71 do
        t.y[r][c] = t.x[r - 20][c] + t.x[r + 20][c] * 2 + (t.x[r][c] + t.x[r + 1][c] + t.x[r + 2][c]) * 4
      end
    end
  end,
}

-- Differences that are summed along rows and columns: what a window holds beyond the tile is not the tile's.
kernel "differences" {
  x = tensor { R, C, dtype = "fp32" }, down = tensor { C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 6, c = 40 }, grid = { c = C },
  program = function(t, at, tile)
    local function x(r, more, right) return load(t.x, span(r + more, tile.r), span(at.c + right, tile.c)) end
    local sum = loop("rows", range(0, R, tile.r), { columns(0) }, function(r, sum)
      return sum + column_sum(x(r, 1, 0) * 2) + column_sum(x(r, 0, 0)) + column_sum(x(r, 0, 1))
    end)
    store(t.down, span(at.c, tile.c), sum)
  end,
  run = { { R = 20, C = 80 }, { R = 7, C = 43 }, { R = 1, C = 8 } },
  reference = function(t, n)
    for c = 0, n.C - 1 do
      local sum = 0
      for r = 0, n.R - 1 do
        sum = sum + t.x[r][c]
        if r > 0 then sum = sum + t.x[r][c] * 2 end
        if c + 1 < n.C then sum = sum + t.x[r][c + 1] end
      end
      t.down[c] = sum
    end
  end,
}

-- Neighbours of a vector, which is the same for every row.
kernel "weights" {
  x = tensor { R, C, dtype = "bf16" }, w = tensor { C, dtype = "bf16" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 8, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local function w(right) return load(t.w, span(at.c + right, tile.c)) end
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), x * (w(-1) + w(0) * 2 + w(1)))
  end,
  run = { { R = 9, C = 136 }, { R = 3, C = 70 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do
      for c = 1, n.C - 2 do t.y[r][c] = t.x[r][c] * (t.w[c - 1] + t.w[c] * 2 + t.w[c + 1]) end
    end
  end,
}

-- Sums of columns, row by row.
kernel "one_row" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 1, c = 128 }, grid = { c = C },
  program = function(t, at, tile)
    local sum = loop("rows", range(0, R, tile.r), { columns(0) }, function(r, sum)
      return sum + column_sum(load(t.x, span(r, tile.r), span(at.c, tile.c)))
    end)
    store(t.y, span(at.c, tile.c), sum)
  end,
  run = { { R = 5, C = 256 }, { R = 3, C = 77 } },
  reference = function(t, n)
    for c = 0, n.C - 1 do
      local sum = 0
      for r = 0, n.R - 1 do sum = sum + t.x[r][c] end
      t.y[c] = sum
    end
  end,
}
