-- What stands between two blocks of a transformer: the residual is added, the sum goes on as the next residual, and
-- its RMS norm goes into the next layer. Beside it, for each row, the largest magnitude of the norm: the scale for who
-- quantises it next.
--
--   sum  = x + residual
--   y    = sum / sqrt(mean(sum^2) + eps) * w      row by row
--   most = max |y|                                one number a row
local R, C = dims "R C"

local function bf16(...) return tensor { dtype = "bf16", ... } end
local function written(...) return tensor { dtype = "bf16", out = true, ... } end

kernel "add_rms_norm" {
  x        = bf16(R, C),
  residual = bf16(R, C),
  -- Weights are near 1: `run` fills w so. Left out, as above, it takes normal values; `help spec` has more words.
  w        = tensor { C, dtype = "bf16", fill = function(c) return 1 + (c % 9 - 4) / 16 end },
  sum      = written(R, C),
  y        = written(R, C),
  most     = tensor { R, dtype = "fp32", out = true },
  eps      = scalar("fp32", 1e-5),

  axes = "r c",
  tile = { r = 1, c = 1024 }, -- what a block computes at once: one row, 1024 columns a turn
  grid = { r = R },           -- an item, as the function below computes it, for each row

  program = function(t, at, tile)
    local row = span(at.r, tile.r)
    local function added(c) return load(t.x, row, span(c, tile.c)) + load(t.residual, row, span(c, tile.c)) end

    -- The first pass sums squares, and stores the sum on its way.
    local squares = loop("squares", range(0, C, tile.c), { rows(0) }, function(c, squares)
      local s = added(c)
      store(t.sum, row, span(c, tile.c), s)
      return squares + row_sum(s * s)
    end)

    -- The second one reads x and residual again. What of them still lies in registers is not loaded twice.
    local scale = rsqrt(squares / C + t.eps)
    local most = loop("scale", range(0, C, tile.c), { rows(0) }, function(c, most)
      local y = added(c) * scale * load(t.w, span(c, tile.c))
      store(t.y, row, span(c, tile.c), y)
      return max(most, row_max(abs(y)))
    end)
    store(t.most, row, most)
  end,

  -- The same by hand, on plain numbers, one at a time: `run` compares the program's meaning with it, and the kernel
  -- with that.
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local squares, most = 0, 0
      for c = 0, n.C - 1 do squares = squares + (t.x[r][c] + t.residual[r][c]) ^ 2 end
      for c = 0, n.C - 1 do
        local s = t.x[r][c] + t.residual[r][c]
        local y = s * rsqrt(squares / n.C + t.eps) * t.w[c]
        t.sum[r][c], t.y[r][c] = s, y
        most = max(most, abs(y))
      end
      t.most[r] = most
    end
  end,

  -- Whole tiles; an edge in the second turn; rows that no vector of 16 bytes divides; more columns than stay in
  -- registers; no row at all.
  run   = { { R = 5, C = 1024 }, { R = 9, C = 1544 }, { R = 3, C = 999 }, { R = 2, C = 10304 }, { R = 0, C = 64 } },
  bench = { { R = 16384, C = 8192 } },
}
