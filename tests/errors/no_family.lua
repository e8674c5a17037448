local M = dims "M"

kernel "copy" { x = tensor { M, dtype = "bf16" } }
