local M, N, K = dims "M N K"

local two = kernel "stream" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  schedule = { blocks = 2, stream = true },
}
kernel "many" { like = two, schedule = { blocks = 33, stream = false } }
kernel "registers" { like = two, schedule = { blocks = 3, stream = false }, tile = { n = 256, k = 32 } }
kernel "stages" { like = two, schedule = { blocks = 2, stream = false }, pipeline = { stages = 12 } }
kernel "no_room" { like = two, schedule = { blocks = 4, stream = false }, tile = { k = 256, n = 128 } }
kernel "ampere" { like = two, schedule = { stream = false }, arch = { sm_80 = { schedule = { blocks = 8 } } } }
