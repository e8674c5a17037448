local M, N, K = dims "M N K%8"
local L = dims "K%128"
