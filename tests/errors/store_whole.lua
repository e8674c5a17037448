local M, N, K = dims "M N K"
local base = kernel "base" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 256 },
  arch = { sm_90a = { pipeline = { stages = 3, store = "whole" } } },
}
kernel "three_blocks" { like = base, tile = { m = 384, n = 64 } }
kernel "two_blocks" { like = base, tile = { m = 256, n = 192 },
  arch = { sm_90a = { pipeline = { store = "whole" } } } }
kernel "two_blocks_read" { like = base, tile = { m = 256, n = 64 }, bias = tensor { N, dtype = "bf16" },
  epilogue = function(acc, t) return acc + t.bias end,
  arch = { sm_90a = { pipeline = { store = "whole" } } } }
kernel "two_blocks_made" { like = base, tile = { m = 256, n = 176 }, epilogue = function(acc) return acc * 2 end,
  arch = { sm_90a = { pipeline = { store = "whole" } } } }
kernel "two_blocks_shared" { like = base, tile = { m = 256, n = 184 }, schedule = { stream = true },
  arch = { sm_90a = { pipeline = { store = "whole" } } } }
kernel "two_results" {
  like = base, tile = { n = 128 }, arch = { sm_90a = { pipeline = { store = "whole" } } },
  E = tensor { M, N, dtype = "bf16", out = true },
  epilogue = function(acc) return { D = acc, E = relu(acc) } end,
}
kernel "no_room" { like = base, arch = { sm_90a = { pipeline = { stages = 4 } } } }
kernel "no_effect" { like = base, D = tensor { N, M, axes = "n m", dtype = "bf16" }, tile = { n = 128 },
  arch = { sm_90a = { pipeline = { store = "whole" } } } }
