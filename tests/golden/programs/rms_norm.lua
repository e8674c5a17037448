local R, C = dims "R C"
kernel "rms_norm" {
  x = tensor { R, C, dtype = "bf16" }, w = tensor { C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  eps = scalar("fp32", 1e-5),
  axes = "r c", tile = { r = 1, c = 1024 }, grid = { r = R },
  program = function(t, at, tile)
    local function part(c) return load(t.x, span(at.r, tile.r), span(c, tile.c)) end
    local s = loop("sum", range(0, C, tile.c), { rows(0) }, function(c, s) local x = part(c) return s + row_sum(x * x) end)
    local scale = rsqrt(s / C + t.eps)
    loop("scale", range(0, C, tile.c), {}, function(c)
      store(t.y, span(at.r, tile.r), span(c, tile.c), part(c) * scale * load(t.w, span(c, tile.c)))
    end)
  end,
}
