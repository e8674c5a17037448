-- Convolutions of images n h w c with filters k r s c, as implicit matrix products: the program of specs/lib/conv.lua.
local N, H, W, C, K = dims "N H W C K"

-- Pixels of the result along one dim of an image.
local function pixels(length, taps, stride, padding, dilation)
  return (length + (2 * padding - (dilation or 1) * (taps - 1) - 1)) // stride + 1
end

-- By hand, from the definition: own.taps of each side, stride, padding, dilation, groups, and after(sum, k, pixel, t).
local function by_hand(own)
  local taps, stride, dilation, groups = own.taps, own.stride or 1, own.dilation or 1, own.groups or 1
  local padding, after = own.padding or 0, own.after or function(sum) return sum end
  return function(t, n)
    local C, K = own.C or n.C, own.K or n.K
    local P, Q = pixels(n.H, taps, stride, padding, dilation), pixels(n.W, taps, stride, padding, dilation)
    local channels, filters, filter = C // groups, K // groups, {}
    for k = 0, K - 1 do
      filter[k] = {}
      for r = 0, taps - 1 do
        for s = 0, taps - 1 do
          local from, to = t.F[k][r][s], {}
          for c = 0, channels - 1 do to[c] = from[c] end
          filter[k][r * taps + s] = to
        end
      end
    end
    for m = 0, n.N * P * Q - 1 do
      local image, p, q, seen = m // (P * Q), m // Q % P, m % Q, {}
      for tap = 0, taps * taps - 1 do
        local h, w = p * stride - padding + tap // taps * dilation, q * stride - padding + tap % taps * dilation
        if h >= 0 and h < n.H and w >= 0 and w < n.W then
          local from, to = t.X[image][h][w], {}
          for c = 0, C - 1 do to[c] = from[c] end
          seen[tap] = to
        end
      end
      for k = 0, K - 1 do
        local sum, first = 0, k // filters * channels
        for tap, x in pairs(seen) do
          local f = filter[k][tap]
          for c = 0, channels - 1 do sum = sum + x[first + c] * f[c] end
        end
        t.Y[m][k] = after(sum, k, m, t)
      end
    end
  end
end

-- A kernel of square windows, of any number of channels and filters where own.C and own.K do not fix them.
local function conv(name, own, more)
  local taps, dtype, C, K = own.taps, own.dtype or "bf16", own.C or C, own.K or K
  local P = pixels(H, taps, own.stride or 1, own.padding or 0, own.dilation)
  local Q = pixels(W, taps, own.stride or 1, own.padding or 0, own.dilation)
  local fields = {
    family = "conv",
    X = tensor { N, H, W, C, dtype = dtype },
    F = tensor { K, taps, taps, own.C and own.C // (own.groups or 1) or C, dtype = dtype },
    Y = tensor { N * P * Q, K, dtype = dtype },
    stride = own.stride, padding = own.padding, dilation = own.dilation, groups = own.groups,
    arch = { sm_90a = {}, sm_80 = { pipeline = { stages = 3 } } },
    reference = by_hand(own),
  }
  for key, value in pairs(more) do fields[key] = value end
  return kernel(name)(fields)
end

-- Ragged pixels, of which a second tile begins within an image; ragged channels and filters; filters whose rows no bulk
-- copy stores; no channels.
local function sizes(images, height, channels)
  return {
    { N = images, H = height, W = 13, C = channels, K = 264 }, { N = 1, H = 3, W = 41, C = 8, K = 41 },
    { N = 1, H = 2, W = 3, C = 0, K = 8 },
  }
end

-- Layers to time, at batch 32: { side of the image, channels, filters }. Of ResNet-50, then of a diffusion U-Net.
local function layers(list)
  local sizes = {}
  for i, l in ipairs(list) do sizes[i] = { N = 32, H = l[1], W = l[1], C = l[2], K = l[3] } end
  return sizes
end
local tune = {
  tile = { m = { 64, 128, 192, 256 }, n = { 64, 96, 128, 160, 192, 256 }, c = { 64, 128 } },
  cluster = { m = { 1, 2 }, n = { 1, 2 } },
  schedule = { stream = { true, false } },
}

conv("conv_3x3", { taps = 3, padding = 1 }, {
  run = sizes(2, 5, 72), tune = tune,
  bench = layers {
    { 56, 64, 64 }, { 28, 128, 128 }, { 14, 256, 256 }, { 7, 512, 512 },
    { 64, 320, 320 }, { 32, 640, 640 }, { 16, 1280, 1280 }, { 32, 320, 640 }, { 16, 640, 1280 }, { 64, 640, 320 },
  },
})
conv("conv_3x3_s2", { taps = 3, padding = 1, stride = 2 }, {
  run = sizes(5, 9, 72), tune = tune,
  bench = layers { { 56, 128, 128 }, { 28, 256, 256 }, { 14, 512, 512 }, { 64, 320, 320 }, { 32, 640, 640 } },
})
conv("conv_1x1", { taps = 1 }, {
  run = sizes(2, 5, 328), tune = tune,
  bench = layers {
    { 56, 64, 64 }, { 56, 64, 256 }, { 56, 256, 64 }, { 56, 256, 128 }, { 28, 128, 512 }, { 28, 512, 128 },
    { 28, 512, 256 }, { 14, 256, 1024 }, { 14, 1024, 256 }, { 14, 1024, 512 }, { 7, 512, 2048 }, { 7, 2048, 512 },
  },
})
conv("conv_1x1_s2", { taps = 1, stride = 2 }, {
  run = sizes(5, 9, 328), tune = tune, bench = layers { { 56, 256, 512 }, { 28, 512, 1024 }, { 14, 1024, 2048 } },
})

-- The first layer of ResNet-50, whose 3 channels are padded to 8, which is a row of 16 bytes.
conv("conv_7x7_s2", { taps = 7, padding = 3, stride = 2, C = 8, K = 64 }, {
  run = { { N = 11, H = 17, W = 19 } }, bench = { { N = 32, H = 224, W = 224 } },
})

-- Taps apart, in fp16.
conv("conv_3x3_dilated_fp16", { taps = 3, padding = 2, dilation = 2, dtype = "fp16", C = 64, K = 96 }, {
  run = { { N = 5, H = 11, W = 13 } }, bench = { { N = 32, H = 56, W = 56 } },
})

-- Groups, each a product of its own channels and filters.
conv("conv_3x3_groups", { taps = 3, padding = 1, groups = 4, C = 128, K = 256 }, {
  run = { { N = 2, H = 7, W = 11 } }, bench = { { N = 32, H = 28, W = 28 } },
})

-- What stands behind a convolution, in its kernel: a bias by filter, an activation, a residual.
local function silu_by_hand(x) return x / (1 + exp(-x)) end
conv("conv_3x3_bias_silu", {
  taps = 3, padding = 1, after = function(sum, k, m, t) return silu_by_hand(sum + t.bias[k]) + t.R[m][k] end,
}, {
  bias = tensor { K, dtype = "bf16", axes = "n" },
  R = tensor { N * H * W, K, dtype = "bf16" },
  epilogue = function(acc, t) return silu(acc + t.bias) + t.R end,
  run = sizes(2, 5, 72), bench = layers { { 64, 320, 320 }, { 32, 640, 640 } },
})
