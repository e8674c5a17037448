-- What a convolution may not be.
local N, H, W, C, K = dims "N H W C K"
local base = {
  family = "conv", arch = { sm_90a = {} },
  X = tensor { N, H, W, 64, dtype = "bf16" }, F = tensor { 64, 3, 3, 64, dtype = "bf16" },
  Y = tensor { N * H * W, 64, dtype = "bf16" }, padding = 1,
}
local function conv(name, more)
  local fields = {}
  for key, value in pairs(base) do fields[key] = value end
  for key, value in pairs(more) do fields[key] = value end
  kernel(name)(fields)
end
conv("no_stride", { stride = 0 })
conv("half_padding", { padding = 0.5 })
conv("negative_padding", { padding = -1 })
conv("rows_of_the_image", { padding = 0, X = tensor { 2, 8, 8, 64, dtype = "bf16" }, Y = tensor { 128, 64, dtype = "bf16" } })
conv("other_channels", { F = tensor { 64, 3, 3, 32, dtype = "bf16" } })
conv("symbolic_taps", { F = tensor { 64, K, 3, 64, dtype = "bf16" } })
conv("groups_of_few", { groups = 8, F = tensor { 64, 3, 3, 8, dtype = "bf16" }, tile = { n = 16, c = 16 } })
conv("groups_unknown", { groups = 2, X = tensor { N, H, W, C, dtype = "bf16" },
                         F = tensor { 64, 3, 3, C // 2, dtype = "bf16" } })
kernel "strides_of_three" { family = "conv", X = base.X, F = base.F, Y = base.Y, padding = 1, stride = { 1, 1, 1 } }
conv("a_word", { dilation = "2" })
conv("long_walk", { padding = 140, dilation = 140 })
conv("long_reach", { F = tensor { 64, 1, 301, 64, dtype = "bf16" }, padding = { 0, 150 } })
conv("wide_step", { stride = 9, Y = tensor { N * ((H - 1) // 9 + 1) * ((W - 1) // 9 + 1), 64, dtype = "bf16" } })
conv("no_row_of_16_bytes", { X = tensor { N, H, W, 3, dtype = "bf16" }, F = tensor { 64, 3, 3, 3, dtype = "bf16" } })
