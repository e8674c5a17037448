local M, N, K = dims "M N K"
local big = M > 4096
