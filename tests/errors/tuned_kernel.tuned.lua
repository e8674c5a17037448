kernel "copy" { family = "gemm" }
