-- Consumers that take items in turn: what one consumer, turns within items, a block of one item and a counter have no
-- use for; more sums than a thread holds.
local M, N, K = dims "M N K"
local k = kernel "one_consumer" {
  family = "gemm", tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  pipeline = { mode = "items", consumers = 1 },
}
kernel "turns_within" { like = k, pipeline = { mode = "items", consumers = 2, turns = true } }
kernel "one_item" { like = k, pipeline = { mode = "items", consumers = 2 }, schedule = { persistent = false } }
kernel "counted" { like = k, cluster = { m = 1 }, pipeline = { mode = "items", consumers = 2 }, schedule = { dynamic = true } }
kernel "shared" { like = k, pipeline = { mode = "items", consumers = 2 }, split = { k = 2 } }
kernel "shared_by_last" {
  like = k, pipeline = { mode = "items", consumers = 2 }, split = { k = { parts = 3, over = "blocks" } },
}
kernel "wide" { like = k, tile = { n = 256 }, pipeline = { mode = "items", consumers = 2 } }
kernel "high" { like = k, tile = { m = 96 }, pipeline = { mode = "items", consumers = 2 } }
kernel "unknown" { like = k, pipeline = { mode = "pingpong", consumers = 2 } }
