-- Kernels with a template of their own: tiles that are no boxes, rings that shared memory does not hold.
local R, C = dims "R C"

local rows = kernel "rows" {
  template = "plan_rings.cu",
  x = tensor { R, C, dtype = "bf16", tile = { 512, 64 } },
  rings = { { "x", stages = 2 } },
  grid = { R },
  arch = { sm_90a = {} },
}
kernel "columns" { like = rows, x = tensor { R, C, dtype = "bf16", tile = { 8, 1020 } } }
kernel "deep" {
  like = rows,
  x = tensor { R, C, dtype = "bf16", tile = { 16, 1024 } },
  rings = { { "x", stages = 16 } },
}
kernel "threads" {
  like = rows,
  x = tensor { R, C, dtype = "bf16", tile = { 1, 64 } },
  threads = 48,
}
kernel "misaligned" { like = rows, x = tensor { R, 100, dtype = "bf16", tile = { 1, 64 } } }
kernel "boxes" { like = rows, x = tensor { R, 1024, 8, dtype = "bf16", tile = { 1, 512, 12 } } }
kernel "vast" { like = rows, x = tensor { R, C, 256, dtype = "bf16", tile = { 16, 256, 256 } } }
kernel "line" { like = rows, x = tensor { C, dtype = "bf16", tile = { 64 } } }
