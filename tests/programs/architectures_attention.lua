-- Attention for compute capability 12.0: Q stays in registers, K and V come in rings of their own, by bulk copies; of
-- the turns some need masks.
local B, H, S = dims "B H S"
local D = 64
local function tensor_of(axes) return tensor { B, S, H, D, dtype = "bf16", axes = axes } end

kernel "attention_blackwell" {
  family = "attention",
  Q = tensor_of "b q h d", K = tensor_of "b kv g d", V = tensor_of "b kv g e", O = tensor_of "b q h e",
  mask_mod = function(_, _, i) return le(i.kv, i.q) end,
  tile = { q = 64, kv = 16 }, pipeline = { stages = 2 }, arch = { sm_120a = {} }, run = { { B = 1, H = 1, S = 72 } },
}

-- And for compute capability 10.0: sums and the weights that threads compute are in tensor memory.
kernel "attention_tensor" {
  family = "attention",
  Q = tensor_of "b q h d", K = tensor_of "b kv g d", V = tensor_of "b kv g e", O = tensor_of "b q h e",
  mask_mod = function(_, _, i) return le(i.kv, i.q) end,
  tile = { q = 128, kv = 16 }, pipeline = { stages = 2 }, arch = { sm_100a = {} },
  run = { { B = 1, H = 2, S = 136 }, { B = 1, H = 1, S = 8 } },
}

-- Of head size 256 two consumers have no room side by side: the second's are in the other halves of the lanes.
local function wide_of(axes) return tensor { B, S, H, 256, dtype = "bf16", axes = axes } end
kernel "attention_tensor_256" {
  family = "attention",
  Q = wide_of "b q h d", K = wide_of "b kv g d", V = wide_of "b kv g e", O = wide_of "b q h e",
  tile = { q = 128, kv = 16 }, pipeline = { stages = 2 }, arch = { sm_100a = {} },
  run = { { B = 1, H = 1, S = 72 }, { B = 1, H = 1, S = 0 } },
}
