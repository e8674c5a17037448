local M, N, K = dims "M N K"
tile = { m = 128 }
