-- A tensor of three dims, whose boxes a block for two is to load.
local R, C = dims "R C%8"

kernel "of_three" {
  template = "template_ranks.cu",
  x = tensor { R, 8, C, dtype = "bf16", tile = { 1, 8, 64 } },
  rings = { { "x", stages = 2 } },
  grid = { R },
  arch = { sm_90a = {} },
}
