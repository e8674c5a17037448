-- Exponentials by a polynomial, one of so many elements (pipeline.polynomial), where the special function unit is what
-- holds attention: two of its results an element (soft cap), or one for few products (head size 64, fp8).
--     build/tilewright bench tests/bench/attention_exp2.lua --mode burst --peer none
local B, H, R, S = dims "B H R S"
local function attention(d, dtype, how)
  local o, fp8 = dtype, dtype == "fp8_e4m3"
  if fp8 then o = "bf16" end
  return {
    family = "attention",
    Q = tensor { B, R, H, d, dtype = dtype, axes = "b q h d" },
    K = tensor { B, S, H, d, dtype = dtype, axes = "b kv g d" },
    V = fp8 and tensor { B, H, d, S, dtype = dtype, axes = "b g e kv" } or
      tensor { B, S, H, d, dtype = dtype, axes = "b kv g e" },
    O = tensor { B, R, H, d, dtype = o, axes = "b q h e" },
    ahead = { s = { turns = 1, before = "o" } },
    arch = { sm_90a = {} },
    score_mod = how.cap and function(s) return 50 * tanh_approx(s / 50) end or nil,
    mask_mod = how.causal and function(_, _, i) return le(i.kv, i.q) end or nil,
    pipeline = how.every and { polynomial = how.every } or nil,
    run = { { B = 1, H = 1, R = 200, S = 300 } },
    bench = { { B = 4, H = 2048 // d, R = 4096, S = 4096 } },
  }
end
for _, every in ipairs { 0, 2, 3, 4, 6 } do
  local name, some = every == 0 and "" or "_" .. every, every > 0 and every or nil
  kernel("cap" .. name) (attention(128, "bf16", { cap = true, every = some }))
  kernel("cap_causal" .. name) (attention(128, "bf16", { cap = true, causal = true, every = some }))
  kernel("d64" .. name) (attention(64, "bf16", { every = some }))
  kernel("d64_causal" .. name) (attention(64, "bf16", { causal = true, every = some }))
  kernel("d128" .. name) (attention(128, "bf16", { every = some }))
  kernel("fp8" .. name) (attention(128, "fp8_e4m3", { every = some }))
end
