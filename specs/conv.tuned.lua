-- The quickest set-ups of this spec's kernels, by GPU and sizes: made by `tilewright tune`, which keeps the rows
-- that it does not measure again. us: of a launch; ratio: the best peer's time by it.
tuned "conv_3x3" { gpu = "NVIDIA H200", arch = "sm_90a",
  { N = 32, H = 7, W = 7, C = 512, K = 512, mode = "burst", use = { cluster = { n = 2 }, pipeline = { swap = true }, schedule = { stream = false }, tile = { m = 64, n = 128 } }, us = 15.51 },
  { N = 32, H = 14, W = 14, C = 256, K = 256, mode = "burst", use = { cluster = { n = 2 }, pipeline = { swap = true }, schedule = { order = "hilbert" }, tile = { c = 128, n = 128 } }, us = 15.95 },
  { N = 32, H = 16, W = 16, C = 640, K = 1280, mode = "burst", use = { cluster = { n = 2 }, schedule = { group = 4, order = "hilbert", stream = true }, tile = { c = 128, n = 128 } }, us = 164.66 },
  { N = 32, H = 16, W = 16, C = 1280, K = 1280, mode = "burst", use = { tile = { m = 256, n = 160 } }, us = 287.94 },
  { N = 32, H = 28, W = 28, C = 128, K = 128, mode = "burst", use = { cluster = { n = 2 }, pipeline = { mode = "items", swap = true }, schedule = { stream = false }, tile = { c = 128, n = 64 } }, us = 14.51 },
  { N = 32, H = 32, W = 32, C = 320, K = 640, mode = "burst", use = { schedule = { persistent = true, stream = false }, tile = { m = 256, n = 160 } }, us = 146.65 },
  { N = 32, H = 32, W = 32, C = 640, K = 640, mode = "burst", use = { tile = { m = 256, n = 160 } }, us = 291.75 },
  { N = 32, H = 56, W = 56, C = 64, K = 64, mode = "burst", use = { pipeline = { swap = true }, schedule = { dynamic = false }, tile = { m = 256, n = 64 } }, us = 19.28 },
  { N = 32, H = 64, W = 64, C = 320, K = 320, mode = "burst", use = { schedule = { persistent = true, stream = false }, tile = { m = 256, n = 160 } }, us = 293.31 },
  { N = 32, H = 64, W = 64, C = 640, K = 320, mode = "burst", use = { schedule = { stream = false }, tile = { m = 256, n = 160 } }, us = 572.83 },
}
