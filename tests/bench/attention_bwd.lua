-- Attention backward of head size 128 by tile, way of taking turns and order of items, beside what
-- specs/attention_bwd.lua has (plain): `tilewright bench tests/bench/attention_bwd.lua --peer none`. Of dq, tiles of 64
-- and 80 keys leave Q, and dO, room in registers.
local B, H, R, S = dims "B H R S"
local function of_q() return tensor { B, R, H, 128, dtype = "bf16", axes = "b q h d" } end
local function of_k() return tensor { B, S, H, 128, dtype = "bf16", axes = "b kv g d" } end
local function of_v() return tensor { B, S, H, 128, dtype = "bf16", axes = "b kv g e" } end
local function by_row(fill) return tensor { B, H, R, dtype = "fp32", axes = "b h q", fill = fill } end
local function base(name, family)
  return kernel(name) {
    family = family,
    Q = of_q(), K = of_k(), V = of_v(), dO = tensor { B, R, H, 128, dtype = "bf16", axes = "b q h e" },
    LSE = by_row "constant 4", delta = by_row(),
    dQ = family == "attention_bwd_dq" and of_q() or nil,
    dK = family == "attention_bwd_dkdv" and of_k() or nil, dV = family == "attention_bwd_dkdv" and of_v() or nil,
    arch = { sm_90a = {} },
    run = { { B = 1, H = 2, R = 300, S = 200 } },
    bench = { { B = 8, H = 16, R = 2048, S = 2048 }, { B = 1, H = 16, R = 16384, S = 16384 } },
  }
end

local dkdv = base("dkdv_plain", "attention_bwd_dkdv")
kernel "dkdv_q48" { like = dkdv, tile = { q = 48 } }
kernel "dkdv_turns" { like = dkdv, pipeline = { turns = true } }
kernel "dkdv_blocks" { like = dkdv, schedule = { persistent = false } }
kernel "dkdv_dynamic" { like = dkdv, schedule = { dynamic = true } }
kernel "dkdv_cluster" { like = dkdv, cluster = { kv = 2 } }
kernel "dkdv_two_stages" { like = dkdv, pipeline = { stages = 2 } }

local dq = base("dq_plain", "attention_bwd_dq")
for _, kv in ipairs { 64, 80 } do kernel("dq_kv" .. kv) { like = dq, tile = { kv = kv } } end
kernel "dq_kv64_turns" { like = dq, tile = { kv = 64 }, pipeline = { turns = true } }
kernel "dq_turns" { like = dq, pipeline = { turns = true } }
kernel "dq_blocks" { like = dq, schedule = { persistent = false } }
kernel "dq_cluster" { like = dq, cluster = { q = 2 } }
kernel "dq_three" { like = dq, tile = { q = 192, kv = 48 } }

-- The same of a causal mask.
local function causal(_, _, i) return le(i.kv, i.q) end
local dkdv_causal = kernel "dkdv_causal" { like = dkdv, mask_mod = causal, schedule = { dynamic = true } }
kernel "dkdv_causal_blocks" { like = dkdv_causal, schedule = { dynamic = false, persistent = false } }
kernel "dkdv_causal_static" { like = dkdv_causal, schedule = { dynamic = false } }
local dq_causal = kernel "dq_causal" { like = dq, mask_mod = causal }
kernel "dq_causal_kv64" { like = dq_causal, tile = { kv = 64 }, via = { o = "bulk" } }
