-- Columns that are picked from rows, numbers made of reals, arithmetic rounded to fp16 at every step.
local R, C = dims "R C"

local function grid(r, c) return ((r * 7 + c * 5) % 41 - 20) / 8 end

-- Rows of a tile of several rows a thread, the picked tile's columns of no whole vector.
kernel "picked_numbers" {
  x = tensor { R, C, dtype = "fp16" }, p = tensor { R, 6, dtype = "fp32", fill = grid },
  table = tensor { 5, C, dtype = "fp16" },
  y = tensor { R, C, dtype = "fp16", out = true }, n = tensor { R, C, dtype = "int32", out = true },
  axes = "r c", tile = { r = 32, c = 64 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    local p = load(t.p, r, all)
    local near = whole(min(max(pick(p, 0), 0), 4))
    local x = load(t.x, r, c)
    store(t.y, r, c, gather(t.table, near, c) * saturate(pick(p, 5)) + x * floor(pick(p, 2)))
    store(t.n, r, c, whole(x * 3 / 2 + pick(p, 4)))
  end,
  run = { { R = 37, C = 72 }, { R = 5, C = 33 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local p = t.p[r]
      local near = math.floor(min(max(p[0], 0), 4))
      for c = 0, n.C - 1 do
        t.y[r][c] = t.table[near][c] * min(max(p[5], 0), 1) + t.x[r][c] * math.floor(p[2])
        t.n[r][c] = math.floor(t.x[r][c] * 3 / 2 + p[4])
      end
    end
  end,
}

-- By pairs: rows that are no whole number of vectors, sums and products in each order, a value that is stored too.
kernel "picked_pairs" {
  x = tensor { R, C, dtype = "fp16" }, w = tensor { C, dtype = "fp16" }, p = tensor { R, 8, dtype = "fp32", fill = grid },
  y = tensor { R, C, dtype = "fp32", out = true }, z = tensor { R, C, dtype = "fp16", out = true },
  axes = "r c", tile = { r = 16, c = 128 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    local x, w, p = load(t.x, r, c), load(t.w, c), load(t.p, r, all)
    local a, b = cast(pick(p, 1), "fp16"), cast(pick(p, 7) * 2, "fp16")
    local first = cast(x * a, "fp16")
    local second = cast(b + cast(w * first, "fp16"), "fp16")
    local third = cast(first + x * second, "fp16")
    store(t.y, r, c, third + x)
    store(t.z, r, c, second)
  end,
  run = { { R = 19, C = 136 }, { R = 3, C = 50 } },
  reference = function(t, n)
    for r = 0, n.R - 1 do
      local a, b = cast(t.p[r][1], "fp16"), cast(t.p[r][7] * 2, "fp16")
      for c = 0, n.C - 1 do
        local x = t.x[r][c]
        local first = cast(x * a, "fp16")
        local second = cast(b + cast(t.w[c] * first, "fp16"), "fp16")
        t.y[r][c] = cast(first + x * second, "fp16") + x
        t.z[r][c] = second
      end
    end
  end,
}
