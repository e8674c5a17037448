-- Native sparse attention: each query attends to S blocks of keys that a list names, one list for all heads of Q that
-- share one of K and V.
local by_hand = require "reference/nsa"
local lists = require "reference/nsa_lists"
local B, T, G, S = dims "B T G S"

-- heads of Q share one of K and V; lists: by the name that reference/nsa_lists.lua gives them.
local function selected(own)
  local d, heads, block, dtype = own.d or 128, own.heads or 16, own.block or 64, own.dtype or "bf16"
  local slots = own.slots or S
  local function entry(b, q, g, s, n)
    return lists[n.T >= 1024 and (own.lists or "uniform") or "mixed"](b, q, g, s, block, n.T, own.slots or n.S)
  end
  return {
    family = "nsa",
    Q = tensor { B, T, heads * G, d, dtype = dtype },
    K = tensor { B, T, G, d, dtype = dtype },
    V = tensor { B, T, G, d, dtype = dtype },
    O = tensor { B, T, heads * G, d, dtype = dtype },
    LSE = tensor { B, T, heads * G, dtype = "fp32" },
    blocks = tensor { B, T, G, slots, dtype = "int32", fill = entry },
    counts = own.counts and tensor { B, T, G, dtype = "int32", fill = lists.count } or nil,
    scale = own.scale and scalar("fp32", own.scale) or nil,
    tile = { h = heads, kv = block },
    pipeline = { mode = "items", consumers = 3 },
    ahead = { s = { turns = 1, before = "o" } },
    arch = { sm_90a = {} },
    reference = by_hand {
      d = d, heads = heads, block = block, scaled = own.scale,
      entries = function(t, n, b, q, g)
        local list, count = {}, own.slots or n.S
        if own.counts then count = math.max(math.min(t.counts[b][q][g], count), 0) end
        for s = 0, count - 1 do list[s + 1] = t.blocks[b][q][g][s] end
        return list
      end,
    },
    run = own.run,
    bench = own.bench,
  }
end

kernel "nsa_fwd" (selected {
  counts = true,
  run = {
    { B = 1, T = 140, G = 1, S = 4 }, { B = 2, T = 13, G = 2, S = 3 }, { B = 1, T = 1, G = 1, S = 1 },
  },
  bench = { { B = 1, T = 8192, G = 4, S = 16 }, { B = 1, T = 65536, G = 4, S = 16 } },
})

-- Small heads and blocks: the K and V of what a query sees are few bytes, and nothing but launches counts.
kernel "nsa_fwd_d64_b32" (selected {
  d = 64, block = 32, slots = 8, dtype = "fp16",
  run = { { B = 1, T = 130, G = 1 }, { B = 2, T = 3, G = 1 } },
  bench = { { B = 2, T = 512, G = 1 }, { B = 2, T = 1024, G = 8 } },
})
kernel "nsa_fwd_d32_b32" (selected {
  d = 32, block = 32, slots = 1, scale = 0.1,
  run = { { B = 2, T = 130, G = 1 }, { B = 1, T = 7, G = 2 } },
  bench = { { B = 2, T = 1024, G = 1 }, { B = 2, T = 4096, G = 1 } },
})

-- Blocks of 16 keys; four heads share them, so that fifteen sixteenths of a tile's rows count for nothing.
kernel "nsa_fwd_b16" (selected {
  d = 64, heads = 4, block = 16, counts = true, scale = 0.25,
  run = { { B = 1, T = 75, G = 1, S = 4 }, { B = 2, T = 21, G = 2, S = 5 } },
})
