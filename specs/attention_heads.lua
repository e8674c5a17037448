-- Attention forward by head size, dtype and layout: the program of specs/lib/attention.lua, whose tiles follow from the
-- head sizes (`plan --why`).
local by_hand = require "reference/attention"
local B, H, R, S = dims "B H R S"

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
    arch = { sm_90a = {} },
    reference = by_hand { d = d, e = e },
    run = {
      { B = 2, H = 4, R = 5, S = 400 }, { B = 1, H = 2, R = 3, S = 250 }, { B = 1, H = 1, R = 200, S = 130 },
      { B = 1, H = 1, R = 1, S = 1 }, { B = 1, H = 1, R = 5, S = 0 },
    },
  }
end

for _, size in ipairs { 64, 96, 192, 256 } do kernel("attention_fwd_d" .. size)(forward(size, size, "bf16")) end
kernel "attention_fwd_d192_128" (forward(192, 128, "bf16"))
