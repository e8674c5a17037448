local R = dims "R"

local function rows(program, dtype)
  return {
    x = tensor { R, 16, dtype = dtype or "int32" },
    y = tensor { R, 16, dtype = "int32", out = true },
    axes = "r",
    tile = { r = 64 },
    grid = { r = R },
    program = function(t, at, tile)
      local r = span(at.r, tile.r)
      store(t.y, r, all, program(load(t.x, r, all), t, r))
    end,
  }
end

kernel "real" (rows(function(x) return row_rank(x) end, "fp32"))
kernel "condition" (rows(function(x) return row_rank(lt(x, 3)) end))
kernel "wide" (rows(function(x) return row_rank(x) end, "int64"))
kernel "sums" (rows(function(x) return row_segment_sum(x, row_rank(x)) end))
kernel "numbers" (rows(function(x) return row_segment_max(x, x * 0.5) end))
kernel "one_number" (rows(function(x) return x + row_segment_max(1, 2) end))
kernel "one_row" (rows(function(x, t)
  local first = row_rank(load(t.x, span(0, 1), all))
  return x + first
end))
kernel "beside_dots" {
  a = tensor { R, 64, dtype = "bf16" },
  b = tensor { 64, 64, dtype = "bf16", axes = "n k" },
  x = tensor { R, 64, dtype = "int32", axes = "r n" },
  y = tensor { R, 64, dtype = "fp32", out = true, axes = "r n" },
  axes = "r k n",
  tile = { r = 64, n = 64 },
  grid = { r = R },
  program = function(t, at, tile)
    local r = span(at.r, tile.r)
    store(t.y, r, all, dot(load(t.a, r, all), load(t.b, all, all):t()) + row_rank(load(t.x, r, all)))
  end,
}
kernel "fused" {
  family = "gemm",
  A = tensor { R, 64, dtype = "bf16" },
  B = tensor { 64, 64, dtype = "bf16", axes = "n k" },
  D = tensor { R, 64, dtype = "bf16" },
  epilogue = function(x) return row_rank(whole(x)) end,
}
