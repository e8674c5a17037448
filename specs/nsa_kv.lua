-- Native sparse attention by blocks of keys, for few heads of Q to one of K and V, a launch each. Lists of blocks are
-- turned round: nsa_places counts and nsa_queries writes, for each block, the queries that see it. A block's K and V
-- then meet 64 rows of queries at a time (nsa_kv), where an item of specs/nsa.lua brings them for the few rows of one
-- query, and what each query got of its blocks is put together (nsa_combine). For a query of one head and a block, 32
-- KB of K and V become 0.5 KB, 0.25 KB of Q and 1 KB of what is written and read again; for a query of 16 heads that is
-- 28 KB in all, and most of it through memory. dK and dV (specs/nsa_bwd.lua) take the same lists.
local lists = require "reference/nsa_lists"
local B, T, G = dims "B T G"
local QUERIES = 64 -- of a turn that makes the lists

local function by_blocks(suffix, own)
  local d, heads, block, dtype, slots = own.d or 128, own.heads, own.block or 64, own.dtype or "bf16", own.slots
  local of = lists.counted(block, function() return slots end)
  local turned = lists.turned(of.entry, slots, block, QUERIES)
  local function integers(dims, fill)
    dims.dtype, dims.fill = "int32", fill
    return tensor(dims)
  end
  local function named() return integers({ B, T, G, slots }, of.named) end
  local function lengths() return integers({ B, T, G }, of.length) end
  local function places(fill)
    return integers({ B, G, (T + block - 1) // block, (T + QUERIES - 1) // QUERIES + 1 }, fill)
  end
  local function per_place(fill) return integers({ B, G, T * slots }, fill) end
  local function filled(what) return per_place(function(b, g, i, n) return turned[what](b, g, i, n) or 1 << 30 end) end
  local function part() return tensor { B, G, T * slots * heads, d, dtype = "fp32" } end
  local function weight() return tensor { B, G, T * slots * heads, dtype = "fp32" } end
  -- A reference that writes what write(t, n, b, g) does, for all b and g.
  local function each(write)
    return function(t, n)
      for b = 0, n.B - 1 do
        for g = 0, n.G - 1 do write(t, n, b, g) end
      end
    end
  end
  local function kernel_of(name, fields)
    fields.arch, fields.run, fields.bench = { sm_90a = {} }, fields.run or own.run, own.bench
    kernel("nsa_" .. name .. suffix)(fields)
  end

  kernel_of("places", {
    family = "nsa_places",
    lists = named(), lengths = lengths(), places = places(),
    tile = { u = QUERIES, kv = block, c = own.together }, run = own.together and own.run_kv,
    reference = each(function(t, n, b, g)
      for c = 0, (n.T + block - 1) // block - 1 do
        for u = 0, (n.T + QUERIES - 1) // QUERIES do t.places[b][g][c][u] = turned.places(b, g, c, u, n) end
      end
    end),
  })
  kernel_of("queries", {
    family = "nsa_queries",
    lists = named(), lengths = lengths(), places = places(turned.places), queries = per_place(), times = per_place(),
    tile = { u = QUERIES, kv = block },
    reference = each(function(t, n, b, g)
      for i = 0, n.T * slots - 1 do
        local q = turned.queries(b, g, i, n)
        if q then t.queries[b][g][i], t.times[b][g][i] = q, turned.times(b, g, i, n) end
      end
    end),
  })
  kernel_of("kv", {
    family = "nsa_kv",
    Q = tensor { B, T * G * heads, d, dtype = dtype },
    K = tensor { B, T, G, d, dtype = dtype }, V = tensor { B, T, G, d, dtype = dtype },
    places = places(turned.places), queries = filled "queries", times = filled "times",
    part = part(), weight = weight(),
    scale = own.scale and scalar("fp32", own.scale) or nil,
    tile = { kv = block, h = heads, i = own.rows }, grid = { i = T * heads },
    pipeline = { consumers = 1, stages = own.stages }, schedule = { blocks = 2 }, run = own.run_kv,
    reference = each(function(t, n, b, g)
      for i = 0, n.T * slots - 1 do
        local q = turned.queries(b, g, i, n)
        for h = 0, q and heads - 1 or -1 do
          local c, x, most, sum, o = 0, {}, -math.huge, 0, {}
          while turned.places(b, g, c, (n.T + QUERIES - 1) // QUERIES, n) <= i do c = c + 1 end
          for kv = c * block, math.min(c * block + block - 1, q) do
            x[kv] = 0
            for e = 0, d - 1 do x[kv] = x[kv] + t.Q[b][(q * n.G + g) * heads + h][e] * t.K[b][kv][g][e] end
            x[kv] = x[kv] * (own.scale and t.scale or d ^ -0.5)
            most = math.max(most, x[kv])
          end
          for e = 0, d - 1 do o[e] = 0 end
          for kv, s in pairs(x) do
            local p = exp(s - most)
            sum = sum + p
            for e = 0, d - 1 do o[e] = o[e] + p * t.V[b][kv][g][e] end
          end
          for e = 0, d - 1 do t.part[b][g][i * heads + h][e] = o[e] / sum end
          t.weight[b][g][i * heads + h] = (most + log(sum * turned.times(b, g, i, n))) / log(2)
        end
      end
    end),
  })
  kernel_of("combine", {
    family = "nsa_combine",
    lists = named(), lengths = lengths(), places = places(turned.places), queries = filled "queries",
    part = part(), weight = weight(),
    O = tensor { B, T, G, heads, d, dtype = dtype }, LSE = tensor { B, T, G, heads, dtype = "fp32" },
    tile = { u = QUERIES, kv = block },
    reference = each(function(t, n, b, g)
      for h = 0, heads - 1 do
        local sum, o = {}, {}
        for q = 0, n.T - 1 do
          sum[q], o[q] = 0, {}
          for e = 0, d - 1 do o[q][e] = 0 end
        end
        for i = 0, n.T * slots - 1 do
          local q, row = turned.queries(b, g, i, n), i * heads + h
          if q then
            local p = 2 ^ t.weight[b][g][row]
            sum[q] = sum[q] + p
            for e = 0, d - 1 do o[q][e] = o[q][e] + p * t.part[b][g][row][e] end
          end
        end
        for q = 0, n.T - 1 do
          for e = 0, d - 1 do t.O[b][q][g][h][e] = sum[q] > 0 and o[q][e] / sum[q] or 0 end
          t.LSE[b][q][g][h] = log(sum[q])
        end
      end
    end),
  })
end
by_blocks("", {
  heads = 2, slots = 16, stages = 3, run = { { B = 1, T = 70, G = 2 }, { B = 1, T = 20, G = 1 } },
  run_kv = { { B = 2, T = 140, G = 2 }, { B = 1, T = 20, G = 1 } },
  bench = { { B = 1, T = 8192, G = 4 }, { B = 1, T = 65536, G = 4 } },
})
by_blocks("_b16", {
  d = 64, heads = 4, block = 16, stages = 2, slots = 4, dtype = "fp16", scale = 0.1,
  run = { { B = 1, T = 70, G = 2 }, { B = 1, T = 19, G = 2 } },
  run_kv = { { B = 1, T = 115, G = 2 }, { B = 1, T = 19, G = 2 } },
})
-- What others compare small groups at: 16 of 512 blocks for each of 32 heads of Q.
by_blocks("_h1", {
  heads = 1, slots = 16, stages = 3, together = 4, rows = 4096, run = { { B = 1, T = 70, G = 2 } },
  run_kv = { { B = 1, T = 400, G = 2 }, { B = 1, T = 20, G = 1 } },
  bench = { { B = 1, T = 32768, G = 32 } },
})
by_blocks("_h4", {
  heads = 4, slots = 16, stages = 3, rows = 4096, run = { { B = 1, T = 70, G = 2 } },
  run_kv = { { B = 1, T = 140, G = 2 }, { B = 1, T = 20, G = 1 } },
  bench = { { B = 1, T = 32768, G = 8 } },
})
