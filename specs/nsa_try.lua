-- Native sparse attention: each query attends to S blocks of keys that a list names, one list for all heads of Q that
-- share one of K and V.
local by_hand = require "reference/nsa"
local lists = require "reference/nsa_lists"
local B, T, G, S = dims "B T G S"

-- The heads of one query fill the rows of an mma.sync, of wgmma a quarter: a warp for each 16 rows, and many blocks a
-- multiprocessor with one stage each, so that some multiply while keys come for others.
local by_warps = { instruction = "mma.sync", stages = 1 }

-- heads of Q share one of K and V. warps: so many blocks a multiprocessor, of mma.sync. lists: by
-- their name in reference/nsa_lists.lua, where sequences are long;
-- together: so many neighbouring queries share the union of theirs. What else there is, are fields of a kernel.
local function selected(own)
  local d, heads, block, dtype = own.d or 128, own.heads or 16, own.block or 64, own.dtype or "bf16"
  local together, slots = own.together or 1, own.slots or S
  local function entry(b, q, g, s, n)
    return lists[n.T >= 1024 and own.lists or "mixed"](b, q, g, s, block, n.T, own.slots or n.S)
  end
  local union = own.together and lists.union(entry, together, slots, block)
  local of = union or { blocks = entry, counts = lists.count }
  local room, many = slots * together, (T + together - 1) // together
  return {
    family = "nsa",
    Q = tensor { B, T, G, heads, d, dtype = dtype },
    K = tensor { B, T, G, d, dtype = dtype },
    V = tensor { B, T, G, d, dtype = dtype },
    O = tensor { B, T, G, heads, d, dtype = dtype },
    LSE = tensor { B, T, G, heads, dtype = "fp32" },
    blocks = tensor { B, many, G, room, dtype = "int32", fill = of.blocks },
    counts = (own.counts or union) and tensor { B, many, G, dtype = "int32", fill = of.counts } or nil,
    times = union and tensor { B, many, G, room, dtype = "int32", fill = of.times } or nil,
    scale = own.scale and scalar("fp32", own.scale) or nil,
    tile = { q = together, kv = block, m = own.warps and heads * together or nil },
    pipeline = own.warps and (own.stages and { instruction = "mma.sync", stages = own.stages } or by_warps) or own.pipeline or { mode = "items", consumers = 3 },
    schedule = own.warps and { blocks = own.warps } or own.schedule,
    ahead = not own.warps and { s = { turns = 1, before = "o" } } or nil,
    arch = { sm_90a = {} },
    reference = by_hand {
      d = d, heads = heads, block = block, scaled = own.scale,
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
-- The union of four queries' lists, and attention by it: two launches, of which the second finds what the first left.
local function union(own)
  local together, slots, block = own.together or 4, own.slots or 16, own.block or 64
  local many, function_of = (T + together - 1) // together, lists[own.lists]
  return {
    family = "nsa_union",
    lists = tensor { B, T, G, slots, dtype = "int32", fill = function(b, q, g, s, n)
      return (n.T >= 1024 and function_of or lists.mixed)(b, q, g, s, block, n.T, slots)
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

local at_8k = { { B = 1, T = 8192, G = 4 } }
local few_16 = { { B = 1, T = 330, G = 1 }, { B = 1, T = 5, G = 2 } }
local two = { pipeline = { consumers = 1 }, schedule = { blocks = 2 } }
kernel "x_union_2" (union { lists = "near", together = 2, slots = 16, run = few_16, bench = at_8k })
kernel "x_union_4" (union { lists = "near", together = 4, slots = 16, run = few_16, bench = at_8k })
kernel "x_two_4" (selected {
  lists = "near", together = 4, slots = 16, pipeline = two.pipeline, schedule = two.schedule, run = few_16, bench = at_8k,
})
kernel "x_2_b4" (selected { lists = "near", together = 2, slots = 16, warps = 4, run = few_16, bench = at_8k })
for _, x in ipairs { { 4, 2 }, { 4, 2, 2 } } do
  local own = selected {
    lists = "near", together = x[1], slots = 16, warps = x[2], stages = x[3], run = few_16, bench = at_8k,
  }
  own.allow_spills = true
  kernel("x_" .. x[1] .. "_b" .. x[2] .. (x[3] and "_s" .. x[3] or "")) (own)
end
