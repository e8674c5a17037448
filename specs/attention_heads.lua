-- Attention forward by head size, dtype and layout: the program of specs/lib/attention.lua, whose tiles follow from the
-- head sizes (`plan --why`).
local by_hand = require "reference/attention"
local B, H, R, S = dims "B H R S"

-- 16,384 tokens in sequences of some lengths.
local function lengths(heads)
  local sizes = {}
  for _, s in ipairs { 512, 1024, 2048, 4096, 8192, 16384 } do
    sizes[#sizes + 1] = { B = 16384 // s, H = heads, R = s, S = s }
  end
  return sizes
end

-- Of head size d, and e of V and O; [batch, sequence, heads, head size].
local function forward(d, e, dtype)
  return {
    family = "attention",
    Q = tensor { B, R, H, d, dtype = dtype, axes = "b q h d" },
    K = tensor { B, S, H, d, dtype = dtype, axes = "b kv g d" },
    V = tensor { B, S, H, e, dtype = dtype, axes = "b kv g e" },
    O = tensor { B, R, H, e, dtype = dtype, axes = "b q h e" },
    LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q" },
    ahead = { s = { turns = 1, before = "o" } },
    arch = {
      sm_90a = {}, sm_80 = {
        tile = { q = 64, kv = d == 256 and 32 or d == 192 and 16 or 64 }, pipeline = { stages = 2, warps_m = 4 },
      },
      sm_100a = d == 96 and { asked = true, tile = { kv = 64 } } or nil,
    },
    reference = by_hand { d = d, e = e },
    run = {
      { B = 2, H = 4, R = 5, S = 400 }, { B = 1, H = 2, R = 3, S = 250 }, { B = 1, H = 1, R = 200, S = 130 },
      { B = 1, H = 1, R = 1, S = 1 }, { B = 1, H = 1, R = 5, S = 0 },
    },
    bench = lengths(2048 // d),
  }
end

local of = {}
for _, size in ipairs { 64, 96, 192, 256 } do
  of[size] = kernel("attention_fwd_d" .. size)(forward(size, size, "bf16"))
end
for _, size in ipairs { 64, 256 } do
  kernel("attention_fwd_d" .. size .. "_causal") {
    like = of[size],
    mask_mod = function(_, _, i) return le(i.kv, i.q) end,
    reference = by_hand { d = size, visible = function(q, kv) return kv <= q end },
    run = {
      { B = 1, H = 1, R = 1300, S = 1160 }, { B = 1, H = 3, R = 450, S = 400 }, { B = 1, H = 1, R = 300, S = 128 },
      { B = 1, H = 2, R = 10, S = 90 }, { B = 1, H = 1, R = 5, S = 0 },
    },
  }
end
kernel "attention_fwd_d192_128" (forward(192, 128, "bf16"))

local fp16 = kernel "attention_fwd_fp16" (forward(128, 128, "fp16"))

-- fp8, O in bf16. The tensor cores read it with the summed dim innermost alone, which for V is kv: [batch, heads, head
-- size, sequence]. scale has 1 / sqrt(d) and the scales of Q and K in it, v_scale is that of V.
for _, size in ipairs { 64, 128, 256 } do
  local fp8 = kernel("attention_fwd_fp8" .. (size == 128 and "" or "_d" .. size)) {
    like = of[256],
    Q = tensor { B, R, H, size, dtype = "fp8_e4m3", axes = "b q h d" },
    K = tensor { B, S, H, size, dtype = "fp8_e4m3", axes = "b kv g d" },
    V = tensor { B, H, size, S, dtype = "fp8_e4m3", axes = "b g e kv" },
    O = tensor { B, R, H, size, dtype = "bf16", axes = "b q h e" },
    scale = scalar("fp32", size ^ -0.5),
    v_scale = scalar("fp32", 1),
    tile = { kv = size == 256 and 96 or 128 },
    arch = { sm_90a = {}, sm_80 = false, sm_89 = {
      tile = { q = 64, kv = size == 256 and 32 or 64 }, pipeline = { stages = 2, warps_m = 4 },
    } },
    reference = by_hand { d = size, turned = true, scaled = true },
    run = {
      { B = 1, H = 2, R = 3, S = 2000 }, { B = 2, H = 4, R = 5, S = 300 }, { B = 1, H = 1, R = 200, S = 130 },
      { B = 1, H = 1, R = 1, S = 1 }, { B = 1, H = 1, R = 5, S = 0 },
    },
    bench = lengths(2048 // size),
  }
  kernel("attention_fwd_fp8" .. (size == 128 and "" or "_d" .. size) .. "_causal") {
    like = fp8,
    mask_mod = function(_, _, i) return le(i.kv, i.q) end,
    reference = by_hand { d = size, turned = true, scaled = true, visible = function(q, kv) return kv <= q end },
    run = {
      { B = 1, H = 1, R = 1300, S = 1160 }, { B = 1, H = 2, R = 10, S = 90 }, { B = 1, H = 1, R = 300, S = 128 },
      { B = 1, H = 1, R = 5, S = 0 },
    },
  }
end

-- [batch, heads, sequence, head size].
kernel "attention_fwd_bhsd" {
  like = fp16,
  Q = tensor { B, H, R, 128, dtype = "fp16", axes = "b h q d" },
  K = tensor { B, H, S, 128, dtype = "fp16", axes = "b g kv d" },
  V = tensor { B, H, S, 128, dtype = "fp16", axes = "b g kv e" },
  O = tensor { B, H, R, 128, dtype = "fp16", axes = "b h q e" },
  reference = by_hand { d = 128, order = "bhsd" },
}

-- One tensor [batch, sequence, 3, heads, head size]: Q, K and V begin at its first, second and third part.
local function part(axes)
  return tensor { B, S, H, 128, dtype = "bf16", axes = axes, stride = { S * 3 * H * 128, 3 * H * 128, 128, 1 } }
end
kernel "attention_fwd_packed" {
  like = fp16,
  Q = part "b q h d", K = part "b kv g d", V = part "b kv g e",
  O = tensor { B, S, H, 128, dtype = "bf16", axes = "b q h e" },
  LSE = tensor { B, H, S, dtype = "fp32", axes = "b h q" },
  reference = by_hand { d = 128, queries = "S" },
  run = { { B = 1, H = 2, S = 500 }, { B = 1, H = 1, S = 40 }, { B = 1, H = 1, S = 1 } },
}
