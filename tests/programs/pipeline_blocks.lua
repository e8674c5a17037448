-- Products of which a multiprocessor holds several blocks at once.
local M, N, K = dims "M N K"

local two = kernel "blocks_two" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 128, k = 64 }, schedule = { blocks = 2 }, arch = { sm_90a = {} },
  run = { { M = 460, N = 520, K = 520 }, { M = 41, N = 136, K = 72 } },
}
kernel "blocks_two_cluster" {
  like = two, cluster = { m = 2 }, tile = { n = 64 }, pipeline = { stages = 3 }, run = { { M = 700, N = 264, K = 328 } },
}
kernel "blocks_three" { like = two, tile = { n = 32 }, schedule = { blocks = 3 }, run = { { M = 700, N = 264, K = 840 } } }
kernel "blocks_two_whole" { like = two, schedule = { persistent = false }, run = { { M = 130, N = 136, K = 840 } } }
-- Its variant unaligned has room for chunks of 16 columns alone.
kernel "blocks_four" { like = two, schedule = { blocks = 4 }, run = { { M = 460, N = 520, K = 840 } } }
