-- Attention of the newest R tokens of each request (1 to 16) over its cache of keys and values, [request, token, head,
-- head size]. How many tokens each request has, the new ones with them, stands on the device.
--
-- The N heads of Q that share one of K and V are rows of one tile, token by token. Several blocks share a request's
-- keys, every so many tiles of them: each leaves what it found, and the last puts the parts together.
local by_hand = require "reference/attention_decode"
local B, R, S, G, P, T = dims "B R S G P T"
local D, N = 128, 4

-- The first is empty, the second has one token, the last all that there is room for; of many tokens each has all.
local function lengths(b, requests, most)
  if most >= 4096 then return most end
  if b < 2 then return b end
  return b == requests - 1 and most or (b * 171 + 90) % (most + 1)
end

local on_both = { sm_90a = {}, sm_80 = { tile = { kv = 64 }, pipeline = { stages = 2, warps_m = 4 } } }
local decode = kernel "attention_decode" {
  family = "attention_decode",
  Q = tensor { B, R, N * G, D, dtype = "bf16" },
  K = tensor { B, S, G, D, dtype = "bf16" },
  V = tensor { B, S, G, D, dtype = "bf16" },
  O = tensor { B, R, N * G, D, dtype = "bf16" },
  LSE = tensor { B, R, N * G, dtype = "fp32" },
  lengths = tensor { B, dtype = "int32", fill = function(b, n) return lengths(b, n.B, n.S) end },
  tile = { q = 64 // N, h = N, kv = 128 },
  ahead = { s = { turns = 1, before = "o" } },
  via = { q = "bulk" },
  arch = on_both,
  reference = by_hand(N),
  run = {
    { B = 5, R = 1, S = 1152, G = 2 }, { B = 3, R = 2, S = 300, G = 1 }, { B = 2, R = 16, S = 1, G = 1 },
    { B = 4, R = 16, S = 516, G = 1 },
  },
  bench = { { B = 32, R = 1, S = 4096, G = 8 } },
}

kernel "attention_decode_split_4" {
  like = decode,
  split = { kv = { parts = 4, over = "blocks" } },
  run = { { B = 3, R = 1, S = 2300, G = 1 }, { B = 5, R = 2, S = 700, G = 2 }, { B = 2, R = 16, S = 1, G = 1 } },
}

-- Each request has a cache of its own somewhere: of K and V a launch is given the addresses. By the copies of sm_80, on
-- Hopper too: loads of rows that a request does not have begin outside of their slice, which no such map may.
kernel "attention_decode_pointers" {
  like = decode,
  K = tensor { B, S, G, D, dtype = "bf16", pointers = "B" },
  V = tensor { B, S, G, D, dtype = "bf16", pointers = "B" },
  arch = { sm_90a = false },
  run = {
    { B = 5, R = 1, S = 1152, G = 2 }, { B = 4, R = 16, S = 516, G = 1 }, { B = 1, R = 2, S = 100, G = 1 },
  },
}

-- For one long request: eight heads of K and V in so many parts are one block for nearly each multiprocessor.
kernel "attention_decode_split_16" {
  like = decode,
  split = { kv = { parts = 16, over = "blocks" } },
  run = { { B = 1, R = 1, S = 10300, G = 1 }, { B = 5, R = 1, S = 700, G = 1 } },
  bench = { { B = 1, R = 1, S = 65536, G = 8 }, { B = 32, R = 1, S = 4096, G = 8 } },
}

kernel "attention_decode_fp16" {
  like = decode,
  Q = tensor { B, R, 8 * G, D, dtype = "fp16" },
  K = tensor { B, S, G, D, dtype = "fp16" },
  V = tensor { B, S, G, D, dtype = "fp16" },
  O = tensor { B, R, 8 * G, D, dtype = "fp16" },
  LSE = tensor { B, R, 8 * G, dtype = "fp32" },
  tile = { q = 8, h = 8, kv = 128 },
  split = { kv = { parts = 3, over = "blocks" } },
  reference = by_hand(8),
}

-- The cache in pages, of one pool for all requests: page pages[b][i] has their tokens from i times so many on. What a
-- page lacks of a tile's keys comes from the next one that the table names.
local function paged(size, arch, parts)
  return {
    family = "attention_decode",
    Q = tensor { B, R, N * G, D, dtype = "bf16" },
    K = tensor { P * size, G, D, dtype = "bf16", axes = "kv g d" },
    V = tensor { P * size, G, D, dtype = "bf16", axes = "kv g d" },
    O = tensor { B, R, N * G, D, dtype = "bf16" },
    LSE = tensor { B, R, N * G, dtype = "fp32" },
    lengths = tensor { B, dtype = "int32", fill = function(b, n) return lengths(b, n.B, n.T * size) end },
    pages = tensor { B, T, dtype = "int32", fill = function(b, i, n) return (b * n.T + i) * 7 % n.P end },
    tile = { q = 64 // N, h = N, kv = 128, l = size },
    ahead = { s = { turns = 1, before = "o" } },
    via = { q = "bulk" },
    split = parts and { kv = { parts = parts, over = "blocks" } } or nil,
    arch = arch,
    reference = by_hand(N, { row = function(t, b, kv)
      local token = t.pages[b][kv // size] * size + kv % size
      return t.K[token], t.V[token]
    end }),
    run = {
      { B = 3, R = 1, G = 1, P = 2400 // size, T = 2304 // size },
      { B = 5, R = 2, G = 2, P = 900 // size, T = 768 // size },
      { B = 2, R = 16, G = 1, P = 3, T = 1 }, { B = 6, R = 16, G = 1, P = 640 // size, T = 512 // size },
    },
    bench = { { B = 32, R = 1, G = 8, P = 32 * 4096 // size, T = 4096 // size } },
  }
end
kernel "attention_decode_paged_16" (paged(16, on_both))
kernel "attention_decode_paged_64" (paged(64, { sm_90a = {} }))
kernel "attention_decode_paged_128" (paged(128, { sm_90a = {} }))
kernel "attention_decode_paged_64_split_4" (paged(64, on_both, 4))
