-- What queries that share a union of their lists may not be.
local B, T, G, S = dims "B T G S"
local function queries(d) return tensor { B, T, G, 16, d, dtype = "bf16" } end
local fine = kernel "fine" {
  family = "nsa", Q = queries(64), O = queries(64), arch = { sm_90a = {} },
  K = tensor { B, T, G, 64, dtype = "bf16" }, V = tensor { B, T, G, 64, dtype = "bf16" },
  blocks = tensor { B, T, G, S, dtype = "int32" },
}
kernel "two_without_times" { like = fine, tile = { q = 2 } }
kernel "eight" { like = fine, tile = { q = 8 }, times = tensor { B, T, G, S, dtype = "int32" } }
local function keys(n) return tensor { B, n, G, 64, dtype = "bf16" } end
kernel "too_many_keys" { like = fine, tile = { q = 8 }, K = keys(4096), V = keys(4096) }
local function eight_heads() return tensor { B, T, G, 8, 64, dtype = "bf16" } end
kernel "eight_heads" { like = fine, tile = { q = 8 }, K = keys(64), V = keys(64), Q = eight_heads(), O = eight_heads() }
kernel "nine_queries" { like = fine, tile = { q = 9 }, K = keys(64), V = keys(64) }
kernel "one_start" { -- where sequences begin in K is missing
  like = fine, sequence = tensor { B, T, dtype = "int32" }, starts_q = tensor { B, G + 1, dtype = "int32" },
}
kernel "open_lists" {
  family = "nsa_places", arch = { sm_90a = {} }, lists = tensor { B, T, G, S, dtype = "int32" },
  places = tensor { B, G, (T + 63) // 64, (T + 63) // 64 + 1, dtype = "int32" },
}

local U = (T + 3) // 4
local places = tensor { B, U, G, 64, dtype = "int32" }
local union = kernel "fine_too" {
  family = "nsa_union", arch = { sm_90a = {} }, lists = tensor { B, T, G, 16, dtype = "int32" },
  blocks = places, times = places, counts = tensor { B, U, G, dtype = "int32" },
}
kernel "unknown_slots" { like = union, lists = tensor { B, T, G, S, dtype = "int32" } }
kernel "other_slots" { like = union, lists = tensor { B, T, G, 32, dtype = "int32" }, tile = { n = 64 } }
kernel "eight_queries" { like = union, lists = tensor { B, T, G, 8, dtype = "int32" }, tile = { q = 8, n = 64 } }
