-- Softmax with a running maximum: one loop finds maximum and sum, the next writes. Rows end where `length` says, and a
-- row of which nothing is visible is 0.
local R, C = dims "R C"
local log2e = 1.4426950408889634

kernel "softmax_rows" {
  x = tensor { R, C, dtype = "fp32" }, length = tensor { R, dtype = "int32", fill = "integers 0 40" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 4, c = 16 }, grid = { r = R },
  program = function(t, at, tile)
    local length = load(t.length, span(at.r, tile.r)):t()
    local function part(c)
      local x = load(t.x, span(at.r, tile.r), span(c, tile.c))
      return where(lt(index().c, length), x * log2e, -inf)
    end
    local most, sum = loop("sum", range(0, C, tile.c), { rows(-inf), rows(0) }, function(c, most, sum)
      local x = part(c)
      local m = max(most, row_max(x))
      return m, sum * exp2_diff(most, m) + row_sum(exp2_diff(x, m))
    end, {
      combine = function(a, b)
        local m = max(a[1], b[1])
        return { m, a[2] * exp2_diff(a[1], m) + b[2] * exp2_diff(b[1], m) }
      end,
    })
    loop("write", range(0, C, tile.c), {}, function(c)
      store(t.y, span(at.r, tile.r), span(c, tile.c), ratio(exp2_diff(part(c), most), sum, 0))
    end)
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local last, most, sum = math.min(t.length[r], n.C) - 1, -math.huge, 0
      for c = 0, last do most = math.max(most, t.x[r][c]) end
      for c = 0, last do sum = sum + exp(t.x[r][c] - most) end
      for c = 0, n.C - 1 do t.y[r][c] = c <= last and exp(t.x[r][c] - most) / sum or 0 end
    end
  end,
  run = { { R = 9, C = 37 }, { R = 30, C = 16 } },
}

-- A whole row is one tile; nothing is carried.
kernel "softmax_whole" {
  x = tensor { R, 50, dtype = "bf16" }, y = tensor { R, 50, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 8 }, grid = { r = R },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), all)
    local p = exp(x - row_max(x))
    store(t.y, span(at.r, tile.r), all, p / row_sum(p))
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local most, sum = -math.huge, 0
      for c = 0, 49 do most = math.max(most, t.x[r][c]) end
      for c = 0, 49 do sum = sum + exp(t.x[r][c] - most) end
      for c = 0, 49 do t.y[r][c] = exp(t.x[r][c] - most) / sum end
    end
  end,
  run = { { R = 13 } },
}
