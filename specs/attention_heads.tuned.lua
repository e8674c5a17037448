-- The quickest set-ups of this spec's kernels, by GPU and sizes: of candidates that `tilewright bench` timed beside each
-- other (tests/bench/notes.md). `tilewright tune` keeps the rows that it does not measure again. us: of a launch.
tuned "attention_fwd_d64" { gpu = "NVIDIA H200", arch = "sm_90a",
  { B = 8, H = 32, R = 2048, S = 2048, mode = "burst", use = {}, us = 582.3 },
  { B = 4, H = 32, R = 4096, S = 4096, mode = "burst", use = { pipeline = { turns = true }, tile = { kv = 112, q = 192 } }, us = 1091.2 },
  { B = 2, H = 32, R = 8192, S = 8192, mode = "burst", use = { pipeline = { turns = true }, tile = { kv = 112, q = 192 } }, us = 2028.6 },
  { B = 1, H = 32, R = 16384, S = 16384, mode = "burst", use = { pipeline = { turns = true }, tile = { kv = 112, q = 192 } }, us = 3912.9 },
}
tuned "attention_fwd_d64_causal" { gpu = "NVIDIA H200", arch = "sm_90a",
  { B = 8, H = 32, R = 2048, S = 2048, mode = "burst", use = {}, us = 330.0 },
  { B = 4, H = 32, R = 4096, S = 4096, mode = "burst", use = { tile = { kv = 96, q = 192 } }, us = 582.3 },
  { B = 2, H = 32, R = 8192, S = 8192, mode = "burst", use = { tile = { kv = 96, q = 192 } }, us = 1045.3 },
  { B = 1, H = 32, R = 16384, S = 16384, mode = "burst", use = { tile = { kv = 96, q = 192 } }, us = 1979.0 },
}
