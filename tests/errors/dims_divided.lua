local M, N, K = dims "M N K"
local half = tensor { M / 2, K, dtype = "bf16" }
