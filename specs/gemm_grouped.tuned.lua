-- The quickest set-ups of this spec's kernels, by GPU and sizes: of candidates that `tilewright bench` timed beside each
-- other (tests/bench/notes.md). `tilewright tune` keeps the rows that it does not measure again. us: of a launch; ratio:
-- the best peer's time by it, as tests/bench/results/h200.json has them.
tuned "gemm_grouped_contiguous" { gpu = "NVIDIA H200", arch = "sm_90a",
  { E = 4, M = 32768, N = 4096, K = 7168, mode = "burst", use = {}, us = 2415.7, ratio = 0.970 },
  { E = 4, M = 32768, N = 7168, K = 2048, mode = "burst", use = { pipeline = { mode = "items" }, schedule = { group = 16, order = "grouped" }, tile = { n = 192 } }, us = 1197.9, ratio = 0.965 },
}
tuned "gemm_grouped_masked" { gpu = "NVIDIA H200", arch = "sm_90a",
  { E = 6, M = 1024, N = 4096, K = 7168, mode = "burst", use = {}, us = 454.9, ratio = 0.981 },
  { E = 6, M = 1024, N = 7168, K = 2048, mode = "burst", use = { pipeline = { mode = "items" }, tile = { n = 192 } }, us = 231.2, ratio = 0.955 },
}
