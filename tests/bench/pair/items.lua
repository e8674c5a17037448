-- Candidates for pair.c: how consumers share items, who waits for a stage, the order of items.
local M, N, K = dims "M N K"
local base = kernel "split_128x256" { -- as specs/gemm.lua has it: consumers split an item
  family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 256, k = 64 }, cluster = { m = 2 }, arch = { sm_90a = {} },
  run = { { M = 264, N = 520, K = 200 } },
}
local items = kernel "items_128x128" { like = base, tile = { n = 128 }, pipeline = { mode = "items" } }
kernel "items_128x160" { like = items, tile = { n = 160 } }
kernel "items_128x192" { like = items, tile = { n = 192 } }
kernel "items_64x256" { like = items, tile = { m = 64, n = 256 } }
kernel "items_lane" { like = items, pipeline = { poll = "lane" } }
kernel "items_hilbert" { like = items, schedule = { order = "hilbert" } }
kernel "split_lane" { like = base, pipeline = { poll = "lane" } }
kernel "split_hilbert" { like = base, schedule = { order = "hilbert" } }
