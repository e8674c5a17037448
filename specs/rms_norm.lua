-- A kernel of one's own: y = x / sqrt(mean(x^2) + eps) * w, row by row. rms_norm.cu is its template; the spec says what
-- a family would.
local R, C = dims "R C%8"

kernel "rms_norm_ring" {
  template = "rms_norm.cu",
  x        = tensor { R, C, dtype = "bf16", tile = { 1, 1024 } },
  w        = tensor { C, dtype = "bf16" },
  y        = tensor { R, C, dtype = "bf16", out = true },
  eps      = scalar("fp32", 1e-5),
  rings    = { { "x", stages = 2 } },
  grid     = { R },
  threads  = 256,
  shared   = 64,                                -- partial sums, a float a warp
  arch     = { sm_90a = {} },
  run      = { { R = 5, C = 1024 }, { R = 33, C = 3080 } },
  bench    = { { R = 16384, C = 8192 } },

  reference = function(t, n)
    for r = 0, n.R - 1 do
      local x, y, sum = t.x[r], t.y[r], 0
      for c = 0, n.C - 1 do sum = sum + x[c] * x[c] end
      local scale = rsqrt(sum / n.C + t.eps)
      for c = 0, n.C - 1 do y[c] = x[c] * scale * t.w[c] end
    end
  end,
}
