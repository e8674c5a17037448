-- Native sparse attention backward, the selected and the window branch, a launch each. First delta = sum of dO * O
-- (nsa_bwd_delta). dQ by queries, each of which walks its own list as forward does (nsa_bwd_dq). dK and dV by blocks of
-- keys (nsa_bwd_dkdv), each of which walks the list of the queries that named it, so that nothing is added atomically,
-- no gradient wants zeroes before it, and results are the same bits in each run: adding each query's share to dK and dV
-- where they lie would move 64 KB for each block that a query names, 8 times what its heads' queries and gradients are.
-- nsa_places and nsa_queries (specs/nsa_kv.lua) make these lists, once for all heads that share one. Where lists name
-- one block again and again, parts of its queries are items of their own, and nsa_bwd_sum adds these up.
--
-- The window branch is attention under a mask: families attention_bwd_dkdv and attention_bwd_dq compute it, and leave
-- out the tiles that the window does not reach. Gates: a branch's dO is its gate times what comes from above.
local attention, by_hand = require "reference/attention_bwd", require "reference/nsa_bwd"
local lists = require "reference/nsa_lists"
local B, T, G, H, R, S = dims "B T G H R S"
local QUERIES = 64 -- of a turn that makes the lists

-- heads of Q share one of K and V; lists: by their name in reference/nsa_lists.lua, where sequences are long.
local function selected(suffix, own)
  local d, heads, block, dtype, slots = own.d or 128, own.heads or 16, own.block or 64, own.dtype or "bf16", own.slots
  local constant = lists.counted(block, function() return slots end)
  local any = lists.counted(block, function(n) return n.S end)
  local turned = lists.turned(constant.entry, slots, block, QUERIES)
  local function lse(of) -- what sees nothing has the logarithm of nothing
    return tensor { B, T, G, heads, dtype = "fp32", fill = function(b, q, g, _, n)
      for _, x in ipairs(of.entries(nil, n, b, q, g)) do
        if x >= 0 and x <= q // block then return 4 end
      end
      return -math.huge
    end }
  end
  local function of_queries() return tensor { B, T, G, heads, d, dtype = dtype } end
  local function of_rows() return tensor { B, T * G * heads, d, dtype = dtype } end
  local function of_keys() return tensor { B, T, G, d, dtype = dtype } end
  local function by_head() return tensor { B, T, G, heads, dtype = "fp32" } end
  local function integers(dims, fill)
    dims.dtype, dims.fill = "int32", fill
    return tensor(dims)
  end
  local function scale() return own.scale and scalar("fp32", own.scale) or nil end
  local function gradient() -- of K or V; of parts, what each has summed up
    if not own.parts then return tensor { B, T, G, d, dtype = dtype, axes = "b kv g d" } end
    return tensor { B, own.parts, T, G, d, dtype = "fp32", axes = "b p kv g d" }
  end
  local function part_of(b, g, c, q, n)
    local first = turned.places(b, g, c, 0, n)
    local i = first
    while turned.queries(b, g, i, n) ~= q do i = i + 1 end
    return (i - first) // own.turn % own.parts
  end
  local function kernel_of(name, of, fields)
    fields.scale, fields.tile, fields.arch = scale(), fields.tile or { kv = block }, { sm_90a = {} }
    fields.reference = by_hand {
      gives = name, d = d, heads = heads, block = block, scaled = own.scale, entries = of.entries,
      parts = name == "dkdv" and own.parts, part = name == "dkdv" and own.parts and part_of or nil,
    }
    kernel("nsa_bwd_" .. name .. suffix)(fields)
  end

  kernel_of("dq", any, {
    family = "nsa_bwd_dq",
    Q = of_queries(), K = of_keys(), V = of_keys(), dO = of_queries(), LSE = lse(any), delta = by_head(),
    blocks = integers({ B, T, G, S }, any.named), counts = integers({ B, T, G }, any.length), dQ = of_queries(),
    pipeline = { consumers = 1 }, schedule = { blocks = 2 },
    run = own.run_dq, bench = own.bench_dq,
  })
  kernel_of("dkdv", constant, {
    family = "nsa_bwd_dkdv",
    Q = of_rows(), K = of_keys(), V = of_keys(), dO = of_rows(), LSE = lse(constant), delta = by_head(),
    places = integers({ B, G, (T + block - 1) // block, (T + QUERIES - 1) // QUERIES + 1 }, turned.places),
    queries = integers({ B, G, T * slots }, function(b, g, i, n) return turned.queries(b, g, i, n) or 1 << 30 end),
    times = integers({ B, G, T * slots }, function(b, g, i, n) return turned.times(b, g, i, n) or 1 << 30 end),
    dK = gradient(), dV = gradient(), tile = { kv = block, q = own.turn }, grid = { p = own.parts or 1 },
    pipeline = d == 64 and { mode = "items", consumers = 2 } or { consumers = 1 },
    schedule = { blocks = d == 64 and 1 or 2 },
    run = own.run, bench = own.bench,
  })
end
selected("", {
  slots = 16,
  run = { { B = 2, T = 70, G = 2 }, { B = 1, T = 1, G = 6 }, { B = 1, T = 9, G = 1 } },
  run_dq = {
    { B = 1, T = 67, G = 1, S = 2 }, { B = 1, T = 9, G = 2, S = 4 }, { B = 1, T = 3, G = 1, S = 0 },
  },
  bench = { { B = 1, T = 8192, G = 4 }, { B = 1, T = 65536, G = 4 } },
  bench_dq = { { B = 1, T = 8192, G = 4, S = 16 }, { B = 1, T = 65536, G = 4, S = 16 } },
})
selected("_b16", {
  d = 64, heads = 8, block = 16, slots = 4, dtype = "fp16", scale = 0.03, turn = 4, parts = 2,
  run = { { B = 1, T = 150, G = 2 }, { B = 2, T = 18, G = 1 } },
  run_dq = { { B = 1, T = 37, G = 1, S = 4 }, { B = 1, T = 18, G = 1, S = 3 } },
})

-- Sums over the parts of dK or dV, whose rows are N numbers.
local PARTS = 2
kernel "nsa_bwd_sum" {
  x = tensor { B, PARTS, T, dtype = "fp32" }, y = tensor { B, T, dtype = "bf16", out = true },
  axes = "b t", tile = { t = 1024 }, grid = { b = B, t = T },
  program = function(t, at, tile)
    local place = span(at.t, tile.t)
    local sum = 0
    for p = 0, PARTS - 1 do sum = load(t.x, at.b, p, place) + sum end
    store(t.y, at.b, place, sum)
  end,
  run = { { B = 2, T = 1104 }, { B = 1, T = 3 } },
  bench = { { B = 1, T = 8192 * 4 * 128 } },
}

local function of_o() return tensor { B, R, H, 128, dtype = "bf16", axes = "b q h e" } end
kernel "nsa_bwd_delta" {
  family = "attention_bwd_delta",
  O = of_o(), dO = of_o(), delta = tensor { B, R, H, dtype = "fp32", axes = "b q h" },
  reference = function(t, n)
    for b = 0, n.B - 1 do
      for q = 0, n.R - 1 do
        for h = 0, n.H - 1 do
          local sum = 0
          for c = 0, 127 do sum = sum + t.dO[b][q][h][c] * t.O[b][q][h][c] end
          t.delta[b][q][h] = sum
        end
      end
    end
  end,
  run = { { B = 2, R = 70, H = 3 }, { B = 1, R = 1, H = 1 } },
  bench = { { B = 1, R = 65536, H = 64 } },
}

-- Queries stand at the end of the keys, and each sees WINDOW of them.
local WINDOW = 512
local function window(gives)
  local function of_q() return tensor { B, R, H, 128, dtype = "bf16", axes = "b q h d" } end
  local function of_k(last) return tensor { B, S, G, 128, dtype = "bf16", axes = "b kv g " .. last } end
  local function by_row(fill) return tensor { B, H, R, dtype = "fp32", axes = "b h q", fill = fill } end
  local keys, queries = gives == "dkdv", gives == "dq"
  kernel("nsa_window_" .. gives) {
    family = "attention_bwd_" .. gives,
    Q = of_q(), K = of_k "d", V = of_k "e", dO = of_o(), LSE = by_row "constant 4", delta = by_row(),
    dK = keys and of_k "d" or nil, dV = keys and of_k "e" or nil, dQ = queries and of_q() or nil,
    mask_mod = function(_, _, i) return le(i.kv, i.q + (S - R)) & gt(i.kv, i.q + (S - R) - WINDOW) end,
    schedule = { dynamic = true },
    via = queries and { o = "bulk" } or nil,
    arch = { sm_90a = {} },
    reference = function(t, n)
      attention {
        gives = gives, shared = n.H // n.G,
        visible = function(q, kv) return kv <= q + n.S - n.R and kv > q + n.S - n.R - WINDOW end,
      } (t, n)
    end,
    run = {
      { B = 1, H = 12, G = 2, R = 3, S = 2 }, { B = 1, H = 2, G = 1, R = 140, S = 650 },
      { B = 1, H = 1, G = 1, R = 2, S = 520 },
    },
    bench = { { B = 1, H = 64, G = 4, R = 8192, S = 8192 } },
  }
end
window "dkdv"
window "dq"
