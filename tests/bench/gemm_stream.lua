-- Shares of all turns (schedule.stream) beside whole items, for sizes whose waves are uneven:
-- `tilewright bench tests/bench/gemm_stream.lua` times those of one size beside each other and beside cuBLASLt.
local M, N, K = dims "M N K"
local function g(name, f)
  f.family = "gemm"
  f.A, f.B = tensor { M, K, dtype = "bf16" }, tensor { N, K, dtype = "bf16" }
  f.D = tensor { M, N, dtype = "bf16" }
  f.arch = { sm_90a = {} }
  f.run = { { M = 520, N = 1032, K = 520 }, { M = 264, N = 512, K = 136 } }
  f.bench = {
    { M = 2048, N = 2048, K = 2048 }, { M = 4096, N = 2112, K = 7168 }, { M = 4096, N = 6144, K = 4096 },
    { M = 1024, N = 1024, K = 1024 },
  }
  kernel(name)(f)
end
for name, tile in pairs {
  ["128_256"] = { m = 128, n = 256, k = 64 }, ["256_128"] = { m = 256, n = 128, k = 64 },
  ["128_192"] = { m = 128, n = 192, k = 64 }, ["192_192"] = { m = 192, n = 192, k = 64 },
  ["256_160"] = { m = 256, n = 160, k = 64 }, ["128_128"] = { m = 128, n = 128, k = 64 },
} do
  local cluster = tile.m == 256 and { m = 1, n = 2 } or { m = 2 }
  g("whole_" .. name, { tile = tile, cluster = cluster })
  g("stream_" .. name, { tile = tile, cluster = cluster, schedule = { stream = true } })
end
-- What 1024^3 and 2048^3 have by themselves.
g("whole_64_128", { tile = { m = 64, n = 128, k = 64 }, cluster = { m = 1 } })
g("whole_128_256_alone", {
  tile = { m = 128, n = 256, k = 64 }, cluster = { m = 1 }, pipeline = { stages = 3, store = "whole" },
})
g("stream_64_128", { tile = { m = 64, n = 128, k = 64 }, cluster = { m = 1 }, schedule = { stream = true } })
