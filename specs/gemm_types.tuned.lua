-- The quickest set-ups of this spec's kernels, by GPU and sizes: of candidates that `tilewright bench` timed beside each
-- other (tests/bench/notes.md). `tilewright tune` keeps the rows that it does not measure again. us: of a launch; ratio:
-- the best peer's time by it, as tests/bench/results/h200.json has them.
tuned "gemm_fp8" { gpu = "NVIDIA H200", arch = "sm_90a",
  { M = 64, N = 7168, K = 2048, mode = "sustained", use = { cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1 }, pipeline = { swap = true }, tile = { k = 256, m = 64, n = 64 } }, us = 6.2, ratio = 1.122 },
  { M = 4096, N = 2112, K = 7168, mode = "sustained", exact = true, use = { cache = { B = "evict_last" }, cluster = { m = 1 }, schedule = { order = "row" }, tile = { m = 192, n = 176 } }, us = 97.2, ratio = 1.004 },
  { M = 4096, N = 4096, K = 4096, mode = "sustained", exact = true, use = { cache = { A = "evict_last", B = "evict_first", D = "evict_first" }, pipeline = { store = "late" }, schedule = { group = 16, reuse = "rows" } }, us = 105.6, ratio = 1.029 },
  { M = 4096, N = 7168, K = 2048, mode = "sustained", exact = true, use = { cache = { A = "evict_last", D = "evict_first" }, pipeline = { store = "late" }, schedule = { group = 16, reuse = "rows" } }, us = 94.6, ratio = 1.008 },
  { M = 4096, N = 24576, K = 1536, mode = "sustained", exact = true, use = { cache = { A = "evict_last", D = "evict_first" }, pipeline = { store = "late" }, schedule = { group = 16, reuse = "rows", tail = "halves" } }, us = 240.7, ratio = 0.989 },
  { M = 8192, N = 8192, K = 8192, mode = "sustained", use = {}, us = 849.5, ratio = 1.005 },
}
tuned "gemm_fp8_blocks" { gpu = "NVIDIA H200", arch = "sm_90a",
  { M = 128, N = 7168, K = 2048, mode = "burst", use = { tile = { m = 128 } } },
  { M = 4096, N = 2112, K = 7168, mode = "burst", use = { cache = { B = "evict_last" }, schedule = { order = "row" }, tile = { m = 192 } }, us = 94.3, ratio = 0.898 },
  { M = 4096, N = 4096, K = 4096, mode = "burst", use = { cache = { A = "evict_last", B = "evict_first" }, cluster = { m = 1, n = 2 }, pipeline = { store = "whole" } }, us = 99.5, ratio = 0.946 },
  { M = 4096, N = 7168, K = 2048, mode = "burst", use = { cache = { A = "evict_last" }, cluster = { m = 1, n = 2 }, pipeline = { store = "whole" } }, us = 90.4, ratio = 0.906 },
  { M = 4096, N = 24576, K = 1536, mode = "burst", use = { cache = { A = "evict_last" }, cluster = { m = 1, n = 2 }, tile = { m = 192 } }, us = 228.8, ratio = 0.902 },
}
