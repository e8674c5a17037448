local at = string.find("gemm", "m")
