local R, C, E = dims "R C%128 E"
kernel "embed" {
  ids = tensor { R, dtype = "int32" }, table = tensor { E, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 64, c = 128 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), gather(t.table, load(t.ids, span(at.r, tile.r)), span(at.c, tile.c)))
  end,
}
kernel "scatter" {
  ids = tensor { R, dtype = "int32" }, x = tensor { R, C, dtype = "fp32" }, y = tensor { E, C, dtype = "fp32", out = true },
  lse = tensor { R, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 64, c = 128 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    scatter_add(t.y, load(t.ids, span(at.r, tile.r)), span(at.c, tile.c), x)
    store_add(t.lse, span(at.r, tile.r), row_sum(x))
  end,
}
kernel "bias" {
  x = tensor { R, C, dtype = "bf16" }, b = tensor { C, dtype = "fp32" }, y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 64, c = 128 }, grid = { r = R, c = C },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), gelu(x + t.b))
  end,
}
kernel "sparse" {
  x = tensor { R, C, dtype = "bf16" }, blocks = tensor { R, 16, dtype = "int32", axes = "r n" }, count = tensor { R, dtype = "int32" },
  y = tensor { R, 128, axes = "r d", dtype = "fp32", out = true },
  axes = "r c d n", tile = { r = 1 }, grid = { r = R },
  program = function(t, at, tile)
    local s = loop("j", list(t.blocks, at.r, 0, t.count[at.r]), { rows(0) }, function(j, s)
      return s + row_sum(load(t.x, span(at.r, 1), span(j * 128, 128)))
    end, { combine = function(a, b) return { a[1] + b[1] } end })
    store(t.y, span(at.r, 1), all, s)
  end,
}
kernel "layers" { -- loops in loops, packed rows, a limit from data, integers, plain Lua over plain numbers
  x = tensor { 4, R, 64, axes = "h r d", dtype = "int8" }, w = tensor { 64, 64, axes = "e d", dtype = "int8" },
  last = tensor { R, dtype = "int32" }, y = tensor { 4, R, 64, axes = "h r e", dtype = "int32", out = true },
  m = tensor { R, C, dtype = "fp16" }, top = tensor { C, axes = "c", dtype = "fp32", out = true },
  axes = "h r d e c", tile = { h = 2, r = 32 }, grid = { h = 4, r = R },
  program = function(t, at, tile)
    local w = stage(load(t.w, all, all))
    local part = span(at.r, tile.r, t.last[at.r])
    local acc
    for layer = 1, 2 do
      acc = dot(load(t.x, span(at.h, tile.h), part, all), w:t(), layer > 1 and acc or nil):as("layer" .. layer)
    end
    store(t.y, span(at.h, tile.h), part, all, where(lt(row(), 32), acc, clamp(acc, -128, 127)))
    local best = loop("outer", range(0, 4), { columns(-inf) }, function(i, best)
      return loop("inner", range(i, 4), { best }, function(j, best)
        local m = load(t.m, span((i + j) * 8, 8), span(0, 128))
        return max(best, column_max(cast(m * 2, "bf16")))
      end)
    end)
    store(t.top, span(0, 128), best)
  end,
}
