-- Multi-scale deformable attention backward: specs/lib/deform_attn_bwd.lua says what it computes. One kernel reads each
-- pixel once for the gradients of weights and locations, and adds to that of value in fp32: in any order, so that its
-- last bits differ from run to run.

local deform = require "lib/deform_attn_bwd"

-- Multiples of 1/64 from a quarter outside to a quarter outside on the other side; now and then far away or no number.
local function around(b, q, s)
  local draw = (b * 131 + q * 37 + s * 59 + q * s * 7) % 193
  if draw == 192 then return 1e30 elseif draw == 191 then return -1e30 elseif draw == 190 then return 0 / 0 end
  return (draw % 97 - 16) / 64
end
local function around_heads(b, q, h, s) return around(b + 5 * h, q, s) end

-- Maps of a camera of 800 x 928 pixels, by 8, 16, 32 and 64; maps of one row, one column, one pixel.
local camera = { { 100, 116 }, { 50, 58 }, { 25, 29 }, { 13, 15 } }
local odd = { { 8, 4 }, { 1, 6 }, { 3, 1 }, { 1, 1 } }

kernel "deform_attn_bwd_fp16" (deform {
  levels = camera, points = 8, channels = 32, dtype = "fp16", fill = around,
  run = { { B = 1, Q = 9 } }, bench = { { B = 48, Q = 123376 } },
})
kernel "deform_attn_bwd_fp32_heads" (deform {
  levels = camera, points = 8, channels = 32, heads = 8, dtype = "fp32", fill = around_heads,
  bench = { { B = 48, Q = 15422 } }, run = { { B = 1, Q = 1 } },
})
kernel "deform_attn_bwd_bf16_odd" (deform {
  levels = odd, points = 3, channels = 24, dtype = "bf16", of = "fp32", softmax = true, fill = around,
  run = { { B = 2, Q = 70 }, { B = 3, Q = 2 }, { B = 0, Q = 5 } },
})
kernel "deform_attn_bwd_fp16_heads_odd" (deform {
  levels = odd, points = 4, channels = 16, heads = 2, dtype = "fp16", fill = around_heads,
  run = { { B = 2, Q = 67 }, { B = 1, Q = 1 } },
})
