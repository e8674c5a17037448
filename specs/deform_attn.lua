-- Multi-scale deformable attention: specs/lib/deform_attn.lua says what it computes and what may be chosen. By default
-- a row's locations and weights come in vectors, and fp16 pixels are added in pairs; `baseline` reads number by number
-- and adds in fp32; `tma` has each sample's four pixels brought by a tensor map, by the template deform_attn_tma.cu.

local deform = require "lib/deform_attn"

-- Multiples of 1/64 from a quarter outside to a quarter outside on the other side; now and then far away or no number.
local function around(b, q, s)
  local draw = (b * 131 + q * 37 + s * 59 + q * s * 7) % 193
  if draw == 192 then return 1e30 elseif draw == 191 then return -1e30 elseif draw == 190 then return 0 / 0 end
  return (draw % 97 - 16) / 64
end

-- Where many queries are timed: within 0.05 of a place that moves with the query, row by row over the first level; or
-- anywhere, 0 to 1. Multiples of 1/2048, whose pixels fp32 finds exactly.
local function noise(b, q, s)
  return ((b * 7919 + q * 104729 + s * 15485863) * 2654435761 >> 13 & 2047) / 2048
end
local function near(b, q, s)
  local at = q // 8
  local place = s % 2 == 0 and at % 116 / 116 or at // 116 % 100 / 100
  return floor((place + noise(b, q, s) * 0.1 - 0.05) * 2048) / 2048
end
local function placed(many)
  return function(b, q, s, n) return (n.Q < 1000 and around or many)(b, q, s) end
end
-- The heads of a query are neighbours, as where they are folded.
local function placed_heads(many)
  return function(b, q, h, s, n)
    if n.Q < 1000 then return around(b + 5 * h, q, s) end
    return many(b, 8 * q + h, s)
  end
end

-- Maps of a camera of 800 x 928 pixels, by 8, 16, 32 and 64. Folded: a batch has one head, whose queries are all that
-- read its maps.
local camera = { { 100, 116 }, { 50, 58 }, { 25, 29 }, { 13, 15 } }
local folded = { levels = camera, points = 8, channels = 32, fill = placed(near), bench = { { B = 48, Q = 123376 } } }
local heads = { levels = camera, points = 8, channels = 32, heads = 8, fill = placed_heads(near),
                bench = { { B = 48, Q = 15422 } } }
-- A row of 32 numbers of fp32 is one line of the L1, which 8 threads beside each other read as one: of 16 queries each
-- thread of 128 has a vector.
local lines = { q = 16 }
-- Maps of one row, one column, one pixel.
local odd = { levels = { { 8, 4 }, { 1, 6 }, { 3, 1 }, { 1, 1 } }, points = 3, channels = 24, fill = around }

local function like(base, more)
  local made = {}
  for name, value in pairs(base) do made[name] = value end
  for name, value in pairs(more) do made[name] = value end
  return deform(made)
end

local few = { { B = 1, Q = 66 }, { B = 2, Q = 3 } }
kernel "deform_attn_fp16" (like(folded, { dtype = "fp16", sums = "fp16", run = few }))
kernel "deform_attn_fp16_softmax" (like(folded, { dtype = "fp16", sums = "fp16", softmax = true, run = few }))
-- What they are beside where locations are anywhere.
local one = { { B = 1, Q = 2 } }
kernel "deform_attn_fp16_uniform" (like(folded, { dtype = "fp16", sums = "fp16", fill = placed(noise), run = one }))
kernel "deform_attn_fp16_softmax_uniform" (like(folded, {
  dtype = "fp16", sums = "fp16", softmax = true, fill = placed(noise), run = one,
}))
kernel "deform_attn_fp32_heads_uniform" (like(heads, {
  dtype = "fp32", tile = lines, fill = placed_heads(noise), run = one,
}))
kernel "deform_attn_fp16_baseline" (like(folded, { dtype = "fp16", loads = "numbers", run = few }))
kernel "deform_attn_fp16_tma" (like(folded, {
  dtype = "fp16", loads = "boxes", template = "deform_attn_tma.cu", arch = { sm_90a = {} }, run = few,
}))
-- 192 maps: each of 48 batches has four levels that lie anywhere.
kernel "deform_attn_fp16_tma_maps" (like(folded, {
  dtype = "fp16", loads = "boxes", template = "deform_attn_tma.cu", batches = 48, arch = { sm_90a = {} },
  run = { { B = 48, Q = 5 } }, bench = { { B = 48, Q = 123376 } },
}))
kernel "deform_attn_fp16_heads" (like(heads, { dtype = "fp16", sums = "fp16", run = few }))
kernel "deform_attn_fp32_heads" (like(heads, { dtype = "fp32", tile = lines, run = few }))
kernel "deform_attn_bf16_padded" (like(odd, {
  dtype = "bf16", of = "fp32", padded = true, softmax = true, run = { { B = 2, Q = 70 }, { B = 3, Q = 2 } },
}))
kernel "deform_attn_fp16_tma_odd" (like(odd, {
  dtype = "fp16", of = "fp32", channels = 16, loads = "boxes", template = "deform_attn_tma.cu", tile = { q = 16 },
  arch = { sm_90a = {} }, run = { { B = 2, Q = 67 }, { B = 3, Q = 2 }, { B = 0, Q = 5 } },
}))
kernel "deform_attn_fp16_odd" (like(odd, {
  dtype = "fp16", of = "fp32", run = { { B = 2, Q = 67 }, { B = 3, Q = 2 }, { B = 0, Q = 5 } },
}))
