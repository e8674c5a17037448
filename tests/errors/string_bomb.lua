local name = ("gemm_"):rep(1000000000)
