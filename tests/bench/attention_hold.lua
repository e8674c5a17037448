-- Attention forward whose exponentials are computed in front of the wait for the product with V, and not behind it
-- (mma_hold). base_: the wait stands where the compiler puts it.
--     build/tilewright bench tests/bench/attention_hold.lua --mode burst --peer none
local B, H, R, S = dims "B H R S"
local function attention(d, how)
  how = how or {}
  local dtype = how.dtype or "bf16"
  local fp8 = dtype == "fp8_e4m3"
  return {
    family = "attention",
    Q = tensor { B, R, H, d, dtype = dtype, axes = "b q h d" },
    K = tensor { B, S, H, d, dtype = dtype, axes = "b kv g d" },
    V = fp8 and tensor { B, H, d, S, dtype = dtype, axes = "b g e kv" } or
      tensor { B, S, H, d, dtype = dtype, axes = "b kv g e" },
    O = tensor { B, R, H, d, dtype = "bf16", axes = "b q h e" },
    LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q" },
    slope = how.alibi and tensor { H, dtype = "fp32", axes = "h" } or nil,
    ahead = { s = { turns = 1, before = "o" } },
    arch = { sm_90a = {} },
    score_mod = how.cap and function(s) return 50 * tanh_approx(s / 50) end
      or how.alibi and function(s, t, i) return s + t.slope[i.h] * (i.kv - i.q) end or nil,
    mask_mod = how.causal and function(_, _, i) return le(i.kv, i.q) end or nil,
    tile = how.tile,
    pipeline = how.pipeline,
    run = { { B = 1, H = 1, R = 200, S = 1300 } },
    bench = { { B = 4, H = 2048 // d, R = 4096, S = 4096 } },
  }
end
local turns = { turns = true }
for _, how in ipairs { "base", "hold", "sync" } do
  local function one(name, d, own) kernel(how .. "_" .. name) (attention(d, own)) end
  one("full", 128)
  one("causal", 128, { causal = true })
  if how ~= "sync" then one("alibi", 128, { alibi = true, causal = true }) end
  if how ~= "sync" then
    one("cap", 128, { cap = true })
    one("d64", 64)
    one("d64_causal", 64, { causal = true })
    one("d256", 256)
    one("fp8", 128, { dtype = "fp8_e4m3" })
  end
  if how == "hold" then
    one("full_turns", 128, { pipeline = turns })
    one("causal_turns", 128, { causal = true, pipeline = turns })
    one("cap_turns", 128, { cap = true, pipeline = turns })
    one("d64_turns", 64, { pipeline = turns })
    one("full_112", 128, { tile = { kv = 112 } })
    one("causal_112", 128, { causal = true, tile = { kv = 112 } })
    one("causal_160", 128, { causal = true, tile = { kv = 160 } })
    one("full_160", 128, { tile = { kv = 160 } })
    one("d64_176", 64, { tile = { kv = 176 } })
    one("d64_192", 64, { tile = { q = 192, kv = 112 } })
  end
end
