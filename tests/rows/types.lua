-- Row programs of every element type, and shapes that the shipped ones leave out.
local R, C, H = dims "R C H"
for _, dt in ipairs { "int8", "uint8", "int16", "int32", "fp16", "bf16", "fp32", "int64" } do
  kernel("turned_" .. dt) {
    x = tensor { R, C, dtype = dt }, y = tensor { C, R, dtype = dt, out = true, axes = "c r" },
    axes = "r c", tile = { r = 32, c = 64 }, grid = { r = R, c = C },
    program = function(t, at, tile)
      store(t.y, span(at.c, tile.c), span(at.r, tile.r), load(t.x, span(at.r, tile.r), span(at.c, tile.c)):t())
    end,
    run = { { R = 33, C = 65 }, { R = 64, C = 80 } },
  }
  kernel("scaled_" .. dt) {
    x = tensor { R, C, dtype = dt }, y = tensor { R, C, dtype = "fp32", out = true },
    m = tensor { R, dtype = "fp32", out = true },
    axes = "r c", tile = { r = 16, c = 64 }, grid = { r = R },
    program = function(t, at, tile)
      local function x(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) end
      local m = loop("m", range(0, C, tile.c), { rows(-inf) }, function(c, m) return max(m, row_max(x(c) * 1.0)) end)
      loop("w", range(0, C, tile.c), {}, function(c) store(t.y, span(at.r, tile.r), span(c, tile.c), x(c) * 2.0 - m) end)
      store(t.m, span(at.r, tile.r), m)
    end,
    run = { { R = 33, C = 65 }, { R = 16, C = 256 } },
  }
end
-- 3-d, packed rows, columns of another dim, min/max of columns in a loop, shifted 8-bit and 16-bit vectors
kernel "smooth" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 4, c = 256 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local function x(d) return load(t.x, span(at.r, tile.r), span(at.c + d, tile.c)) end
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), (x(-3) + x(5) + x(0)) / 3)
  end,
  run = { { R = 5, C = 264 }, { R = 5, C = 512 }, { R = 2, C = 301 } },
}
kernel "range_of_columns" {
  x = tensor { R, C, dtype = "fp16" }, y = tensor { C, dtype = "fp16", out = true },
  axes = "r c", tile = { r = 32, c = 64 }, grid = { c = C },
  program = function(t, at, tile)
    local function x(r) return load(t.x, span(r, tile.r), span(at.c, tile.c)) end
    local a, b = loop("r", range(0, R, tile.r), { columns(-inf), columns(inf) }, function(r, a, b)
      local v = x(r)
      return max(a, column_max(v)), min(b, column_min(v))
    end)
    store(t.y, span(at.c, tile.c), a - b)
  end,
  run = { { R = 33, C = 65 }, { R = 64, C = 80 }, { R = 1, C = 8 } },
}
kernel "packed" {
  x = tensor { H, R, C, dtype = "bf16" }, y = tensor { H, R, C, dtype = "fp32", out = true },
  axes = "h r c", tile = { h = 2, r = 4, c = 64 }, grid = { h = H, r = R },
  program = function(t, at, tile)
    loop("c", range(0, C, tile.c), {}, function(c)
      local x = load(t.x, span(at.h, tile.h), span(at.r, tile.r), span(c, tile.c))
      store(t.y, span(at.h, tile.h), span(at.r, tile.r), span(c, tile.c), x - row_sum(x) / C)
    end)
  end,
  run = { { H = 3, R = 5, C = 72 }, { H = 2, R = 4, C = 64 } },
}
kernel "online" {
  x = tensor { R, C, dtype = "fp32" }, y = tensor { R, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 2, c = 512 }, grid = { r = R },
  program = function(t, at, tile)
    local m, s = loop("c", range(0, C, tile.c), { rows(-inf), rows(0) }, function(c, m, s)
      local x = load(t.x, span(at.r, tile.r), span(c, tile.c))
      local n = max(m, row_max(x))
      return n, s * exp2_diff(m, n) + row_sum(exp2_diff(x, n))
    end)
    store(t.y, span(at.r, tile.r), m + log2(s))
  end,
  run = { { R = 3, C = 1300 }, { R = 2, C = 1301 }, { R = 2, C = 5 } },
}
