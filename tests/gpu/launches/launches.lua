-- The kernels of tests/gpu/launches.sh. `many` is launched by many threads, captured and updated; `chained` starts
-- while the kernel before it in the stream still runs.
local M, N, K = dims "M N K"
local small = { m = 64, n = 64, k = 64 }

kernel "many" {
  family = "gemm", arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "fp32" },
  tile = small, cluster = { m = 2 }, pipeline = { consumers = 1 },
}

kernel "chained" {
  family = "gemm", arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = small, cluster = { m = 1 }, pipeline = { consumers = 1 }, launch = { programmatic = true },
}
