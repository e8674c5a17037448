-- How a family brings its tiles is one way for all architectures and tiles: what goes with it is chosen so, too, where an
-- architecture has another tile than the kernel. A field that a kernel has stands before it.
local B, T, S = dims "B T S"

local function listed(d, kv, of_arch, pipeline)
  return {
    family = "nsa", tile = { kv = kv }, pipeline = pipeline, arch = { sm_90a = of_arch },
    Q = tensor { B, T, 1, 16, d, dtype = "bf16" }, K = tensor { B, T, 1, d, dtype = "bf16" },
    V = tensor { B, T, 1, d, dtype = "bf16" }, O = tensor { B, T, 1, 16, d, dtype = "bf16" },
    blocks = tensor { B, T, 1, S, dtype = "int32", fill = function(b, q, g, s) return (b + q + 3 * s) % 5 - 1 end },
    run = { { B = 2, T = 40, S = 3 }, { B = 1, T = 140, S = 8 } },
  }
end
kernel "small_tiles_of_arch" (listed(32, 128, { tile = { kv = 32 } }))
kernel "wide_tiles_of_arch" (listed(32, 32, { tile = { kv = 128 } }))
kernel "one_stage_said" (listed(32, 32, {}, { stages = 1 }))
kernel "three_stages_said" (listed(64, 32, {}, { stages = 3 }))
