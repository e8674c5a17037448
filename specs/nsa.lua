-- Native sparse attention: each query attends to S blocks of keys that a list names, one list for all heads of Q that
-- share one of K and V.
local by_hand = require "reference/nsa"
local lists = require "reference/nsa_lists"
local B, T, G, S = dims "B T G S"

-- heads of Q share one of K and V. lists: by their name in reference/nsa_lists.lua, where sequences are long; together:
-- so many neighbouring queries share the union of theirs. keys: so many there are, of which the newest are the queries'
-- own; resident: they stay in shared memory for so many queries with lists of their own. bare: its family chooses how
-- it runs. What else there is, are fields of a kernel.
local function selected(own)
  local d, heads, block, dtype = own.d or 128, own.heads or 16, own.block or 64, own.dtype or "bf16"
  local together, slots = own.together or 1, own.slots or S
  local keys = own.keys or T
  local function token(_, n, _, q) return q + (own.keys or n.T) - n.T end
  local function entry(b, q, g, s, n)
    local by = lists[lists.measured(n.T) and own.lists or "mixed"]
    return by(b, token(nil, n, b, q), g, s, block, own.keys or n.T, own.slots or n.S)
  end
  local union = own.together and lists.union(entry, together, slots, block)
  local of = union or { blocks = entry, counts = lists.count }
  local room, many = slots * together, (T + together - 1) // together
  return {
    family = "nsa",
    Q = tensor { B, T, G, heads, d, dtype = dtype },
    K = tensor { B, keys, G, d, dtype = dtype },
    V = tensor { B, keys, G, d, dtype = dtype },
    O = tensor { B, T, G, heads, d, dtype = dtype },
    LSE = tensor { B, T, G, heads, dtype = "fp32" },
    blocks = tensor { B, many, G, room, dtype = "int32", fill = of.blocks },
    counts = (own.counts or union) and tensor { B, many, G, dtype = "int32", fill = of.counts } or nil,
    times = union and tensor { B, many, G, room, dtype = "int32", fill = of.times } or nil,
    scale = own.scale and scalar("fp32", own.scale) or nil,
    tile = { q = own.resident or together, kv = block },
    pipeline = not own.bare and (own.pipeline or { mode = "items", consumers = 3 }) or nil,
    schedule = own.schedule,
    ahead = not own.bare and { s = { turns = 1, before = "o" } } or nil,
    arch = { sm_90a = {} },
    reference = by_hand {
      d = d, heads = heads, block = block, scaled = own.scale, keys = own.keys, token = token,
      entries = function(t, n, b, q, g)
        local list, count = {}, own.slots or n.S
        if union then
          for s = 0, slots - 1 do list[s + 1] = entry(b, q, g, s, n) end
          return list
        end
        if own.counts then count = math.max(math.min(t.counts[b][q][g], count), 0) end
        for s = 0, count - 1 do list[s + 1] = t.blocks[b][q][g][s] end
        return list
      end,
    },
    run = own.run,
    bench = own.bench,
  }
end

-- 64 heads of Q, 4 of K and V, 16 blocks of 64 keys: the sizes at which kernels are compared.
local long = { { B = 1, T = 8192, G = 4, S = 16 }, { B = 1, T = 65536, G = 4, S = 16 } }
local long_16 = { { B = 1, T = 8192, G = 4 }, { B = 1, T = 65536, G = 4 } }
local few = {
  { B = 1, T = 140, G = 1, S = 4 }, { B = 2, T = 13, G = 2, S = 3 }, { B = 1, T = 1, G = 1, S = 1 },
}
kernel "nsa_fwd" (selected { lists = "uniform", counts = true, bare = true, run = few, bench = long })
kernel "nsa_fwd_near" (selected { lists = "near", counts = true, bare = true, run = few, bench = long })

-- By wgmma: two blocks a multiprocessor, each of one consumer: one multiplies while the other computes weights.
local two = { pipeline = { consumers = 1 }, schedule = { blocks = 2 } }
kernel "nsa_fwd_two" (selected {
  lists = "uniform", counts = true, pipeline = two.pipeline, schedule = two.schedule, run = few, bench = long,
})

-- Small heads and blocks: the K and V of what a query sees are few bytes, and nothing but launches counts.
kernel "nsa_fwd_d64_b32" (selected {
  lists = "uniform", d = 64, block = 32, slots = 8, dtype = "fp16", bare = true,
  run = { { B = 1, T = 130, G = 1 }, { B = 2, T = 3, G = 1 } },
  bench = { { B = 2, T = 512, G = 1 }, { B = 2, T = 1024, G = 8 } },
})
-- K and V of a head, 131 KB, in the shared memory of a multiprocessor, for eight queries: a block of keys comes out of
-- the L2 once for them, and not once for each.
kernel "nsa_fwd_resident" (selected {
  lists = "uniform", d = 64, block = 32, slots = 8, dtype = "fp16", bare = true, keys = 512, resident = 8,
  run = { { B = 1, T = 43, G = 1 }, { B = 2, T = 3, G = 2 } }, bench = { { B = 2, T = 512, G = 1 } },
})
kernel "nsa_fwd_resident_counts" (selected { -- 17 rows of the last block of keys are none
  lists = "uniform", d = 32, heads = 32, block = 32, counts = true, bare = true, keys = 111, resident = 2,
  run = { { B = 2, T = 23, G = 2, S = 5 } },
})
kernel "nsa_fwd_d32_b32" (selected {
  lists = "uniform", d = 32, block = 32, slots = 1, scale = 0.1, bare = true,
  run = { { B = 2, T = 130, G = 1 }, { B = 1, T = 7, G = 2 } },
  bench = { { B = 2, T = 1024, G = 1 }, { B = 2, T = 4096, G = 1 } },
})

-- What others compare themselves at.
kernel "nsa_fwd_d64_b64" (selected {
  lists = "uniform", d = 64, slots = 16, bare = true, run = { { B = 1, T = 70, G = 1 }, { B = 2, T = 9, G = 2 } },
  bench = { { B = 2, T = 2048, G = 16 } },
})
kernel "nsa_fwd_b32" (selected {
  lists = "uniform", block = 32, slots = 16, bare = true, run = { { B = 1, T = 70, G = 1 }, { B = 2, T = 9, G = 2 } },
  bench = { { B = 32, T = 1024, G = 1 } },
})
kernel "nsa_fwd_b128" (selected {
  lists = "uniform", block = 128, slots = 32, bare = true,
  run = { { B = 1, T = 70, G = 1 }, { B = 2, T = 9, G = 2 } }, bench = { { B = 1, T = 4096, G = 32 } },
})

-- One head of Q, and four, to one of K and V: fifteen of 16 rows of an instruction are none, or twelve. What
-- specs/nsa_kv.lua makes of these sizes brings K and V for 64 rows instead.
kernel "nsa_fwd_h1" (selected {
  lists = "uniform", heads = 1, slots = 16, bare = true,
  run = { { B = 1, T = 70, G = 2 }, { B = 2, T = 9, G = 2 } }, bench = { { B = 1, T = 32768, G = 32 } },
})
kernel "nsa_fwd_h4" (selected {
  lists = "uniform", heads = 4, slots = 16, bare = true,
  run = { { B = 1, T = 70, G = 2 }, { B = 2, T = 9, G = 2 } }, bench = { { B = 1, T = 32768, G = 8 } },
})

-- Blocks of 16 keys; four heads share them, so that fifteen sixteenths of a tile's rows count for nothing.
kernel "nsa_fwd_b16" (selected {
  d = 64, heads = 4, block = 16, counts = true, scale = 0.25,
  run = { { B = 1, T = 75, G = 1, S = 4 }, { B = 2, T = 21, G = 2, S = 5 } },
})

-- Sequences behind each other, of Q and of K: of every third the queries are the newest of more keys, every fourth has
-- none. Rows behind the last belong to none.
local U, N = dims "U N"
local function varlen(own)
  local d, block, heads, dtype = own.d or 128, own.block or 64, 16, own.dtype or "bf16"
  local function length(i, all, n) return i % 4 == 1 and 0 or (i * 5 + 3) * all // (n.N * n.N * 3) end
  local function start_of(what)
    return function(_, i, n)
      local sum, all = 0, n[what]
      for k = 0, i - 1 do sum = sum + length(k, all, n) + (what == "U" and k % 3 == 0 and block + 5 or 0) end
      return math.min(sum, all)
    end
  end
  local queries, keys = start_of "T", start_of "U"
  local function sequence(b, q, n)
    for i = 0, n.N - 1 do
      if q >= queries(b, i, n) and q < queries(b, i + 1, n) then return i end
    end
    return -1
  end
  local function token(b, q, n) -- of its own sequence
    local i = sequence(b, q, n)
    return i < 0 and -1 or q - queries(b, i + 1, n) + keys(b, i + 1, n) - keys(b, i, n)
  end
  local function named(b, q, g, s, n)
    local at = math.max(token(b, q, n), 0)
    return lists[lists.measured(n.T) and "uniform" or "mixed"](b, at, g, s, block, n.U, n.S)
  end
  return {
    family = "nsa",
    Q = tensor { B, T, G, heads, d, dtype = dtype },
    K = tensor { B, U, G, d, dtype = dtype },
    V = tensor { B, U, G, d, dtype = dtype },
    O = tensor { B, T, G, heads, d, dtype = dtype },
    LSE = tensor { B, T, G, heads, dtype = "fp32" },
    blocks = tensor { B, T, G, S, dtype = "int32", fill = named },
    counts = tensor { B, T, G, dtype = "int32", fill = lists.count },
    starts_q = tensor { B, N + 1, dtype = "int32", fill = queries },
    starts_kv = tensor { B, N + 1, dtype = "int32", fill = keys },
    sequence = tensor { B, T, dtype = "int32", fill = sequence },
    tile = { kv = block },
    arch = { sm_90a = {} },
    reference = by_hand {
      d = d, heads = heads, block = block, keys = "U",
      entries = function(t, n, b, q, g)
        local list = {}
        for s = 0, math.max(math.min(t.counts[b][q][g], n.S), 0) - 1 do list[s + 1] = t.blocks[b][q][g][s] end
        return list
      end,
      token = function(t, n, b, q)
        local i = t.sequence[b][q]
        return i < 0 and -1 or q - t.starts_q[b][i + 1] + t.starts_kv[b][i + 1] - t.starts_kv[b][i]
      end,
      first = function(t, n, b, q) return t.sequence[b][q] < 0 and 0 or t.starts_kv[b][t.sequence[b][q]] end,
    },
    run = own.run,
    bench = own.bench,
  }
end
kernel "nsa_fwd_varlen" (varlen {
  run = { { B = 1, T = 70, U = 500, N = 5, G = 1, S = 4 } },
  bench = { { B = 1, T = 65536, U = 65536, N = 16, G = 4, S = 16 } },
})
kernel "nsa_fwd_varlen_b16" (varlen {
  d = 64, block = 16, dtype = "fp16",
  run = {
    { B = 2, T = 60, U = 170, N = 4, G = 1, S = 5 }, { B = 1, T = 9, U = 0, N = 2, G = 2, S = 3 },
    { B = 1, T = 22, U = 60, N = 4, G = 1, S = 2 },
  },
})

-- The union of four queries' lists, and attention by it: two launches, of which the second finds what the first left.
local function union(own)
  local together, slots, block = own.together or 4, own.slots or 16, own.block or 64
  local many, function_of = (T + together - 1) // together, lists[own.lists]
  return {
    family = "nsa_union",
    lists = tensor { B, T, G, slots, dtype = "int32", fill = function(b, q, g, s, n)
      return (lists.measured(n.T) and function_of or lists.mixed)(b, q, g, s, block, n.T, slots)
    end },
    lengths = own.lengths and tensor { B, T, G, dtype = "int32", fill = function(b, q, g, n)
      return lists.count(b, q, g, { T = n.T, S = slots })
    end } or nil,
    blocks = tensor { B, many, G, together * slots, dtype = "int32" },
    times = tensor { B, many, G, together * slots, dtype = "int32" },
    counts = tensor { B, many, G, dtype = "int32" },
    tile = { q = together, kv = block },
    arch = own.arch,
    reference = function(t, n)
      local function entry(b, q, g, s)
        return own.lengths and s >= t.lengths[b][q][g] and -1 or t.lists[b][q][g][s]
      end
      local of = lists.union(entry, together, slots, block)
      for b = 0, n.B - 1 do
        for u = 0, (n.T + together - 1) // together - 1 do
          for g = 0, n.G - 1 do
            for s = 0, together * slots - 1 do
              t.blocks[b][u][g][s], t.times[b][u][g][s] = of.blocks(b, u, g, s, n), of.times(b, u, g, s, n)
            end
            t.counts[b][u][g] = of.counts(b, u, g, n)
          end
        end
      end
    end,
    run = own.run,
    bench = own.bench,
  }
end
kernel "nsa_union" (union { lists = "uniform", lengths = true, run = { { B = 2, T = 70, G = 2 } }, bench = long_16 })
kernel "nsa_union_near" (union { lists = "near", slots = 16, run = { { B = 1, T = 301, G = 1 } }, bench = long_16 })
kernel "nsa_union_pairs" (union {
  lists = "near", together = 2, slots = 16, run = { { B = 1, T = 77, G = 1 } }, bench = long_16,
})
kernel "nsa_union_2" (union {
  lists = "uniform", together = 2, slots = 3, block = 16, run = { { B = 1, T = 35, G = 2 } },
})
kernel "nsa_fwd_union" (selected {
  lists = "uniform", together = 4, slots = 16, bench = long_16,
  run = { { B = 1, T = 150, G = 1 }, { B = 2, T = 13, G = 2 }, { B = 1, T = 1, G = 1 } },
})
kernel "nsa_fwd_union_near" (selected {
  lists = "near", together = 4, slots = 16, run = { { B = 1, T = 135, G = 1 } }, bench = long_16,
})
kernel "nsa_fwd_union_two" (selected {
  lists = "near", together = 4, slots = 16, bare = true, bench = long_16,
  run = { { B = 1, T = 139, G = 1 } },
})
kernel "nsa_fwd_union_pairs" (selected {
  lists = "near", together = 2, slots = 16, bare = true, bench = long_16,
  run = { { B = 1, T = 330, G = 1 }, { B = 1, T = 5, G = 2 } },
})
kernel "nsa_fwd_union_b16" (selected {
  d = 64, together = 2, heads = 32, block = 16, slots = 4, dtype = "fp16",
  run = { { B = 1, T = 55, G = 1 }, { B = 2, T = 6, G = 1 } },
})
