local M = dims "M"
kernal "gemm" {}
