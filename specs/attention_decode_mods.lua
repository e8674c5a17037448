-- Masks and scores of one's own over a cache: mask_mod says which of a request's tokens count, in the place of "those
-- up to the row's own", score_mod changes a scaled score. Row i.q of Q is token i.q + t.lengths[i.b] - R, the newest
-- the last; i.kv is a token's number too, whatever page it lies in.
local by_hand = require "reference/attention_decode"
local B, R, S, G, P, T = dims "B R S G P T"
local D, N = 128, 4

local function own(t, i) return i.q + t.lengths[i.b] - R end
local function lengths(b, requests, most) return b == requests - 1 and most or b * 171 end

-- A sliding window: each row sees the 100 tokens up to its own. Tiles before all of them are not loaded.
local base = kernel "attention_decode_window" {
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
  split = { kv = { parts = 3, over = "blocks" } },
  arch = { sm_90a = {} },
  mask_mod = function(_, t, i) return le(i.kv, own(t, i)) & gt(i.kv, own(t, i) - 100) end,
  reference = by_hand(N, { visible = function(q, kv, at)
    local last = q + at.shift
    return kv <= last and kv > last - 100
  end }),
  run = { { B = 2, R = 2, S = 400, G = 1 }, { B = 2, R = 16, S = 2, G = 1 } },
}
local run = { { B = 2, R = 2, S = 200, G = 1 } }

-- ALiBi: scores fall with the distance, by a slope for each head.
kernel "attention_decode_alibi" {
  like = base,
  slope = tensor { N * G, dtype = "fp32", axes = "h" },
  mask_mod = false,
  score_mod = function(s, t, i) return s + t.slope[i.h] * (i.kv - own(t, i)) end,
  reference = by_hand(N, { score = function(x, q, kv, at) return x + at.t.slope[at.h] * (kv - q - at.shift) end }),
  run = run,
}

-- Documents behind each other: a row sees the tokens of its own document up to itself.
kernel "attention_decode_documents" {
  like = base,
  ahead = false, -- a thread reads documents of its columns, for which registers suffice without a turn's scores ahead
  document = tensor { B, S, dtype = "int32", fill = function(_, kv) return kv // 70 end },
  mask_mod = function(_, t, i)
    return le(i.kv, own(t, i)) & eq(t.document[i.b][max(own(t, i), 0)], t.document[i.b][i.kv])
  end,
  reference = by_hand(N, { visible = function(q, kv, at)
    local last, document = q + at.shift, at.t.document[at.b]
    return kv <= last and document[last] == document[kv]
  end }),
  run = run,
}

-- Attention sinks: a logit for each head joins the sum of its rows, and no value with it.
kernel "attention_decode_sink" {
  like = base,
  sink = tensor { N * G, dtype = "fp32", axes = "h" },
  mask_mod = false,
  reference = by_hand(N, { sink = function(at) return at.t.sink[at.h] end }),
  run = run,
}

-- Guesses that branch: the R newest tokens are a tree. All of them see what came before, and of each other those that
-- tree names. The cache lies in pages of 64 tokens.
kernel "attention_decode_paged_tree" {
  like = base,
  K = tensor { P * 64, G, D, dtype = "bf16", axes = "kv g d" },
  V = tensor { P * 64, G, D, dtype = "bf16", axes = "kv g d" },
  lengths = tensor { B, dtype = "int32", fill = function(b, n) return lengths(b, n.B, n.T * 64 - 7) end },
  pages = tensor { B, T, dtype = "int32", fill = function(b, i, n) return (b * n.T + i) * 7 % n.P end },
  tree = tensor { B, R, R, dtype = "int32", fill = function(_, q, of) return (q == of or of * 2 < q) and 1 or 0 end },
  tile = { l = 64 },
  split = { kv = { parts = 1 } },
  arch = { sm_90a = {}, sm_80 = { tile = { kv = 64 }, pipeline = { stages = 2, warps_m = 4 } } },
  mask_mod = function(_, t, i)
    local guess = i.kv - own(t, { b = i.b, q = 0 })
    return lt(guess, 0) | ne(t.tree[i.b][i.q][max(guess, 0)], 0)
  end,
  reference = by_hand(N, {
    row = function(t, b, kv)
      local token = t.pages[b][kv // 64] * 64 + kv % 64
      return t.K[token], t.V[token]
    end,
    visible = function(q, kv, at) return kv < at.shift or at.t.tree[at.b][q][kv - at.shift] ~= 0 end,
  }),
  run = { { B = 2, R = 4, G = 1, P = 6, T = 3 } },
}
