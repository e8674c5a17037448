-- Rings are filled by bulk tensor copies: sm_80 is no default then, and refused where it is named.
local R, C = dims "R C"

local rows = kernel "rows" {
  template = "plan_rings.cu",
  x = tensor { R, C, dtype = "bf16", tile = { 512, 64 } },
  rings = { { "x", stages = 2 } },
  grid = { R },
}
kernel "named" { like = rows, x = tensor { R, C, dtype = "bf16", tile = { 1, 64 } }, arch = { sm_80 = {} } }
