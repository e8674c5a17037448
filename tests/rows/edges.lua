-- Row programs where nothing is usual: rows of infinities and NaN, no rows, no columns, tiles wider than the tensor,
-- spans whose end comes from data, rows packed from two dims, loops within loops, and values that take turns.
local R, C, H = dims "R C H"
local log2e = 1.4426950408889634

local softmax = kernel "softmax_edges" {
  x = tensor { R, C, dtype = "fp32", fill = "constant -inf" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 2, c = 128 }, grid = { r = R },
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
  run = { { R = 3, C = 130 }, { R = 3, C = 1320 }, { R = 1, C = 1 }, { R = 0, C = 5 }, { R = 5, C = 0 } },
}
kernel "softmax_nan" { like = softmax, x = tensor { R, C, dtype = "fp32", fill = "constant nan" } }
kernel "softmax_infinite" { like = softmax, x = tensor { R, C, dtype = "fp32", fill = "constant inf" } }

-- Rows of two dims, a stride between heads, and a length that data decides.
local limited = kernel "limited_mean" {
  x = tensor { R, H, C, dtype = "fp16" }, length = tensor { R, dtype = "int32", fill = "integers 0 90" },
  y = tensor { R, H, dtype = "fp32", out = true },
  axes = "r h c", tile = { r = 1, h = 4, c = 64 }, grid = { r = R },
  program = function(t, at, tile)
    local n = t.length[at.r]
    loop("heads", range(0, H, tile.h), {}, function(h)
      local s = loop("columns", range(0, n, tile.c), { rows(0) }, function(c, s)
        return s + row_sum(load(t.x, at.r, span(h, tile.h), span(c, tile.c, n)))
      end)
      store(t.y, at.r, span(h, tile.h), s / max(n, 1))
    end)
  end,
  run = { { R = 5, H = 6, C = 91 }, { R = 3, H = 8, C = 96 } },
}

kernel "limited_mean_wide" { -- totals of an inner loop go by shared memory in each turn of the outer one
  like = limited, tile = { h = 1, c = 4096 },
  length = tensor { R, dtype = "int32", fill = "integers 5000 9001" },
  run = { { R = 3, H = 3, C = 9001 } },
}

-- A carried pair that takes turns, and a wide carried tile.
kernel "fibonacci_rows" {
  x = tensor { R, C, dtype = "int32", fill = "integers 0 3" }, y = tensor { R, C, dtype = "int32", out = true },
  axes = "r c", tile = { r = 4, c = 32 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    local a = loop("turns", range(0, R), { x, x + 1 }, function(_, a, b) return b, a + b end)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), a)
  end,
  run = { { R = 9, C = 40 }, { R = 1, C = 3 } },
}

-- Reductions both ways of one tile, largest and smallest of whole numbers, a row stored upright.
kernel "extremes" {
  x = tensor { R, C, dtype = "int32", fill = "integers -50 50" },
  most = tensor { R, dtype = "int32", out = true }, least = tensor { C, dtype = "int32", out = true },
  mean = tensor { R, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 64, c = 64 }, grid = { r = 1 },
  program = function(t, at, tile)
    local x = load(t.x, span(0, tile.r), span(0, tile.c))
    store(t.most, span(0, tile.r), row_max(x))
    store(t.least, span(0, tile.c), column_min(x))
    store(t.mean, span(0, tile.r), row_sum(x) / C)
  end,
  run = { { R = 64, C = 64 }, { R = 7, C = 50 } },
}

-- Rows that a list names, and an element that an expression reads beyond the edge of what it is added to.
kernel "listed_rows" {
  x = tensor { R, C, dtype = "bf16" }, list = tensor { R, H, dtype = "int32", fill = "integers 0 3" },
  bias = tensor { C, axes = "c", dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 1, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local s = loop("rows", list(t.list, at.r, 0, H), { zeros() }, function(r, s)
      return s + load(t.x, r, span(at.c, tile.c))
    end)
    store(t.y, at.r, span(at.c, tile.c), s + t.bias[at.c + column()] + t.bias)
  end,
  run = { { R = 5, C = 70, H = 3 }, { R = 4, C = 64, H = 0 } },
}

-- Blocks that take item after item: what threads exchange is free again before the next item writes it.
kernel "softmax_persistent" {
  like = softmax, schedule = { persistent = true }, tile = { r = 1, c = 1024 },
  x = tensor { R, C, dtype = "fp32" }, run = { { R = 2000, C = 64 } },
}
kernel "turned_persistent" {
  x = tensor { R, C, dtype = "fp16" }, y = tensor { C, R, dtype = "fp16", out = true, axes = "c r" },
  axes = "r c", tile = { r = 32, c = 32 }, grid = { r = R, c = C }, schedule = { persistent = true },
  program = function(t, at, tile)
    store(t.y, span(at.c, tile.c), span(at.r, tile.r), load(t.x, span(at.r, tile.r), span(at.c, tile.c)):t())
  end,
  run = { { R = 1504, C = 1600 }, { R = 33, C = 35 } },
}

-- Tiles of its own on each architecture.
kernel "tiles_by_arch" {
  x = tensor { R, C, dtype = "bf16", axes = "r c" }, y = tensor { R, C, dtype = "bf16", axes = "r c", out = true },
  axes = "r c", tile = { r = 4, c = 256 }, grid = { r = R, c = C },
  arch = { sm_80 = { tile = { r = 2, c = 128 } }, sm_90a = {} },
  program = function(t, at, tile)
    local rows, columns = span(at.r, tile.r), span(at.c, tile.c)
    store(t.y, rows, columns, load(t.x, rows, columns) * 2)
  end,
  run = { { R = 9, C = 304 }, { R = 7, C = 301 } },
}
