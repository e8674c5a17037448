-- Ranks of a row's elements among its values, and sums of them by number, against references by hand: rows that end
-- within a tile and rows of many warps, in loops and not, every type that 32 bits hold, numbers that are no column.
local R, C = dims "R C"

-- What of a row counts, its different values in their order, and how often each is there.
local function values(t, r, from, to)
  local found, times = {}, {}
  for c = from, to - 1 do
    local x = t.x[r][c]
    if not times[x] then found[#found + 1] = x end
    times[x] = (times[x] or 0) + 1
  end
  table.sort(found)
  return found, times
end

local function ranked(own)
  local columns = own.columns or C
  return {
    x = tensor { R, columns, dtype = own.dtype or "int32", fill = own.fill or "integers -9 9" },
    rank = tensor { R, columns, dtype = "int32", out = true },
    sorted = tensor { R, columns, dtype = "int32", out = true },
    times = tensor { R, columns, dtype = "int32", out = true },
    axes = "r c",
    tile = { r = own.rows or 4, c = own.tile or 64 },
    grid = { r = R },
    schedule = own.schedule,
    program = function(t, at, tile)
      local r, c = span(at.r, tile.r), span(0, tile.c)
      local x = load(t.x, r, c)
      local rank = row_rank(x)
      store(t.rank, r, c, rank)
      store(t.times, r, c, row_segment_sum(1, rank))
      store(t.sorted, r, c, row_segment_max(x, rank) + row_segment_min(x, rank))
    end,
    reference = function(t, n)
      local least, most = -2 ^ 31 // 1, 2 ^ 31 // 1 - 1
      for r = 0, n.R - 1 do
        local found, times = values(t, r, 0, own.columns or n.C)
        local place = {}
        for i, x in ipairs(found) do place[x] = i - 1 end
        for c = 0, (own.columns or n.C) - 1 do
          local x = found[c + 1]
          t.rank[r][c], t.times[r][c] = place[t.x[r][c]], x and times[x] or 0
          t.sorted[r][c] = x and 2 * x or least + most
        end
      end
    end,
    run = own.run or { { R = 9, C = 64 }, { R = 4, C = 61 }, { R = 1, C = 1 } },
  }
end
kernel "ranked" (ranked {})
kernel "ranked_narrow" (ranked { columns = 20, tile = 20, rows = 7, run = { { R = 23 } } })
kernel "ranked_wide" (ranked { tile = 512, rows = 3, run = { { R = 5, C = 512 }, { R = 3, C = 333 } } })
kernel "ranked_row" (ranked { rows = 1, tile = 96, run = { { R = 3, C = 96 }, { R = 3, C = 95 } } })
kernel "ranked_column" (ranked { columns = 1, tile = 1, rows = 40, run = { { R = 90 } } })
kernel "ranked_int8" (ranked { dtype = "int8", tile = 128, run = { { R = 5, C = 128 }, { R = 5, C = 70 } } })
kernel "ranked_uint8" (ranked { dtype = "uint8", fill = "integers 0 200", run = { { R = 5, C = 64 } } })
kernel "ranked_int16" (ranked { dtype = "int16", fill = "integers -300 300", run = { { R = 5, C = 64 } } })
kernel "ranked_persistent" (ranked { rows = 1, schedule = { persistent = true }, run = { { R = 90, C = 64 } } })

-- Numbers that are no column count nowhere, and of what lies behind a row's end nothing does.
kernel "by_number" {
  x = tensor { R, C, dtype = "int32", fill = "integers -1000 1000" },
  number = tensor { R, C, dtype = "int32", fill = "integers -3 40" },
  sum = tensor { R, 32, dtype = "int32", out = true, axes = "r n" },
  axes = "r c n",
  tile = { r = 8, c = 32 },
  grid = { r = R },
  program = function(t, at, tile)
    local r = span(at.r, tile.r)
    local sum = loop("c", range(0, C, tile.c), { zeros() }, function(c, sum)
      local x, number = load(t.x, r, span(c, tile.c)), load(t.number, r, span(c, tile.c))
      return sum + row_segment_sum(min(max(x, -1000), 1000), number)
    end)
    store(t.sum, r, all, sum)
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do
      for i = 0, 31 do t.sum[r][i] = 0 end
      for c = 0, n.C - 1 do
        local i = t.number[r][c]
        if i >= 0 and i < 32 then t.sum[r][i] = t.sum[r][i] + t.x[r][c] end
      end
    end
  end,
  run = { { R = 19, C = 75 }, { R = 11, C = 64 } },
}

-- Ranks alone, turn by turn.
kernel "by_rank" {
  x = tensor { R, C, dtype = "int32", fill = "integers -1000 1000" },
  sum = tensor { R, dtype = "int32", out = true },
  axes = "r c",
  tile = { r = 2, c = 512 },
  grid = { r = R },
  program = function(t, at, tile)
    local r = span(at.r, tile.r)
    local sum = loop("c", range(0, C, tile.c), { rows(0) }, function(c, sum)
      return sum + row_sum(row_rank(load(t.x, r, span(c, tile.c))))
    end)
    store(t.sum, r, sum)
  end,
  reference = function(t, n)
    for r = 0, n.R - 1 do
      t.sum[r] = 0
      for from = 0, n.C - 1, 512 do
        local to = math.min(from + 512, n.C)
        local found, times = values(t, r, from, to)
        for i, x in ipairs(found) do t.sum[r] = t.sum[r] + (i - 1) * times[x] end
      end
    end
  end,
  run = { { R = 3, C = 1500 }, { R = 2, C = 1027 }, { R = 1, C = 0 } },
}
