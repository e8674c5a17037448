-- What memory gives to a kernel that reads and hardly writes: the sum of each row, `tilewright bench tests/bench/read.lua`.
local R, C = dims "R C"
kernel "read_rows" {
  axes = "r c", tile = { r = 1, c = 1024 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local r = span(at.r, tile.r)
    local sum = loop("c", range(0, C, tile.c), { rows(0) }, function(c, sum)
      return sum + row_sum(cast(load(t.x, r, span(c, tile.c)), "fp32"))
    end)
    store(t.y, r, sum)
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local sum = 0
      for c = 0, n.C - 1 do sum = sum + t.x[r][c] end
      t.y[r] = sum
    end
  end,
  run = { { R = 5, C = 3000 }, { R = 1, C = 1 }, { R = 2, C = 0 } },
  bench = { { R = 32768, C = 8192 } },
}
