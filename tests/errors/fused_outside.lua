-- What a family's program makes of a kernel's function is told where the function stands.
local M, N, P, G, H, S = dims "M N P G H S"
local base = kernel "base" {
  family = "gemm",
  A = tensor { M, P, dtype = "bf16" }, B = tensor { N, P, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
}
kernel "operand" { like = base, epilogue = function(acc, t) return t.A end }
kernel "text" { like = base, epilogue = "gelu" }
kernel "word" { like = base, epilogue = gelu }
kernel "number" { like = base, epilogue = 3 }
kernel "turned" { like = base, epilogue = function(acc) return acc:t() end }
kernel "fewer_axes" {
  like = base, E = tensor { N, dtype = "fp32", out = true, axes = "n" },
  epilogue = function(acc) return { D = acc, E = acc } end,
}
kernel "asserts" { like = base, epilogue = function(acc) assert(false) return acc end }
kernel "no_condition" {
  family = "attention",
  Q = tensor { G, H, S, 64, dtype = "bf16" }, K = tensor { G, H, S, 64, dtype = "bf16" },
  V = tensor { G, H, S, 64, dtype = "bf16" }, O = tensor { G, H, S, 64, dtype = "bf16" },
  mask_mod = function(seen, t, i) return 1 end,
}
kernel "reduces" { like = base, epilogue = function(acc) return acc - row_max(acc) end }
