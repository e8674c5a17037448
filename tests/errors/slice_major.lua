-- Second operands of bytes and tf32 that are not turned, and so lie the wrong way: rows of a tile, and gathered ones.
local T = dims "T"
local function product(name, dtype, of)
  kernel(name) {
    a = tensor { T, 32, dtype = dtype }, b = tensor { 64, 64, dtype = dtype }, c = tensor { T, 64, dtype = "fp32", out = true },
    axes = "m n k", grid = { m = T }, tile = { m = 16 }, pipeline = { instruction = "mma.sync" }, arch = { sm_90a = {} },
    program = function(t, at, tile)
      local m = span(at.m, tile.m)
      store(t.c, m, all, cast(dot(load(t.a, m, all), of(t)), "fp32"))
    end,
  }
end
local function sliced(t) return slice(load(t.b, all, all), 0, 32) end
product("bytes_as_they_lie", "int8", sliced)
product("tf32_as_it_lies", "tf32", sliced)
product("gathered_as_it_lies", "uint8", function(t) return gather(t.b, 31 - rows(span(0, 32)), all) end)
