-- The kernel goes by a list of turns, whose records lie where the counters and sums of a split have to find zeros.
tuned "attention" { gpu = "NVIDIA H200", arch = "sm_90a",
  { Q = 64, S = 4096, use = { split = { s = { parts = 2, over = "blocks" } } } },
  { Q = 4096, S = 4096, use = { tile = { s = 32 } } },
}
