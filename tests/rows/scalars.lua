-- Scalars of types below fp32, which come as words and are converted where arithmetic reads them.
local R, C = dims "R C"
local function of(a, b)
  return {
    axes = "r c", tile = { r = 1, c = 64 }, grid = { r = R },
    x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
    a = scalar(a, 1.5), b = scalar(b, -2),
    program = function(t, at, tile)
      loop("c", range(0, C, tile.c), {}, function(c)
        store(t.y, span(at.r, tile.r), span(c, tile.c), load(t.x, span(at.r, tile.r), span(c, tile.c)) * t.a + t.b)
      end)
    end,
    reference = function(t, n)
      for r = 0, n.R - 1 do
        for c = 0, n.C - 1 do t.y[r][c] = t.x[r][c] * 1.5 - 2 end
      end
    end,
    run = { { R = 3, C = 160 }, { R = 3, C = 150 }, { R = 1, C = 1 } },
  }
end
kernel "scalars_bf16_fp16" (of("bf16", "fp16"))

-- Beside a dot.
local M, N, K = dims "M N K"
kernel "scalars_gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "fp16" }, B = tensor { N, K, dtype = "fp16" }, D = tensor { M, N, dtype = "fp32" },
  alpha = scalar("bf16", 1.5), shift = scalar("fp16", -2),
  epilogue = function(acc, t) return acc + t.shift end,
  run = { { M = 70, N = 72, K = 40 } },
}
