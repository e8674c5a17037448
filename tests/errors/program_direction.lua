local R, C = dims "R C"

kernel "k" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R },
  direction = { sums = "down", scan = "down", stores = "down", i = "down", extremes = "left" },
  program = function(t, at, tile)
    local function x(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) end
    local s, n = loop("sums", range(0, C, tile.c), { rows(0), rows(-inf) }, function(c, s, n)
      return s + row_sum(x(c)), max(n, row_max(x(c)))
    end)
    local a, b = loop("scan", range(0, C, tile.c), { rows(0), rows(1) }, function(c, a, b)
      return a + row_sum(x(c)), b * row_sum(x(c)) + 1
    end)
    local e = loop("extremes", range(0, C, tile.c), { rows(-inf) }, function(c, e) return max(e, row_max(x(c))) end)
    loop("stores", range(0, C, tile.c), {}, function(c)
      store(t.y, span(at.r, tile.r), span(c, tile.c), x(c) + s + n + a + b + e)
    end)
  end,
}

kernel "d" {
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "fp32", out = true },
  axes = "r c",
  tile = { r = 64, c = 128 },
  grid = { r = R },
  direction = "down",
  program = function(t, at, tile)
    store(t.y, span(at.r, tile.r), span(0, tile.c), load(t.x, span(at.r, tile.r), span(0, tile.c)))
  end,
}
