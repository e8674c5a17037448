-- Windows of images, as programs of one's own write them.
local N, H, W = dims "N H W"
local function windows(name, give, more)
  local fields = {
    axes = "m n b h w x c", grid = { m = N * H * W, n = 64 }, tile = { m = 64, n = 64, c = 64 }, arch = { sm_90a = {} },
    X = tensor { N, H, W, 64, axes = "b h w x", dtype = "bf16" }, F = tensor { 64, 64, axes = "n c", dtype = "bf16" },
    Y = tensor { N * H * W, 64, axes = "m n", dtype = "bf16", out = true },
    program = function(t, at, tile)
      store(t.Y, span(at.m, 64), span(at.n, 64), give(t, at, load(t.F, span(at.n, 64), span(0, 64)):t()))
    end,
  }
  for key, value in pairs(more or {}) do fields[key] = value end
  kernel(name)(fields)
end
local c = function() return span(0, 64) end
windows("no_windows", function(t, at, f) return dot(im2col(t.X, span(at.m, 64), 0, 0, c(), 3), f) end)
windows("no_taps", function(t, at, f) return dot(im2col(t.X, span(at.m, 64), 0, 0, c(), { padding = 1 }), f) end)
windows("unknown", function(t, at, f) return dot(im2col(t.X, span(at.m, 64), 0, 0, c(), { taps = 3, pad = 1 }), f) end)
windows("three", function(t, at, f) return dot(im2col(t.X, span(at.m, 64), 0, 0, c(), { taps = { 1, 1, 1 } }), f) end)
windows("no_step", function(t, at, f) return dot(im2col(t.X, span(at.m, 64), 0, 0, c(), { taps = 1, stride = 0 }), f) end)
windows("spans", function(t, at, f) return dot(im2col(t.X, at.m, span(0, 64), 0, c(), { taps = 1 }), f) end)
windows("computed", function(t, at, f) return dot(cast(im2col(t.X, span(at.m, 64), 0, 0, c(), { taps = 1 }) * 2, "bf16"), f) end)
windows("alone", function(t, at, f) return im2col(t.X, span(at.m, 64), 0, 0, c(), { taps = 1 }) end)
windows("begins_within", function(t, at, f)
  return dot(im2col(t.X, span(at.m, 64), 0, 0, span(4, 64), { taps = 1 }), f)
end, { arch = { sm_80 = {} } })
windows("two_shapes", function(t, at, f)
  return dot(im2col(t.X, span(at.m, 64), 0, 0, c(), { taps = 1 }), f,
    dot(im2col(t.X, span(at.m, 64), 0, 0, c(), { taps = 3, padding = 1 }), f))
end)
