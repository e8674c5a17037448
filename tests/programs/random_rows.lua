-- Programs without dots, drawn at random from their numbers: loops, masks, reductions, casts, carried values, tiles
-- that edges cut. Whatever is drawn is a program; the meaning says what it computes.
local R, C = dims "R C"

-- Numbers 0 to most - 1, the same for the same seed.
local function generator(seed)
  local state = seed * 7919 + 12345
  return function(most)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % most
  end
end

local function one_in(draw, most) return draw(most) == 0 end
local function pick(condition, a, b) if condition then return a end return b end

local unary = {
  function(x) return -x end, function(x) return abs(x) end, function(x) return relu(x) end,
  function(x) return exp2(min(x, 3.0)) end, function(x) return sigmoid(x) end, function(x) return tanh(x) end,
  function(x) return rsqrt(abs(x) + 0.5) end, function(x) return sqrt(abs(x)) end, function(x) return silu(x) end,
  function(x) return cast(x, "bf16") end, function(x) return cast(x, "fp16") end, function(x) return x * 0.375 end,
  function(x) return log2(abs(x) + 1.0) end, function(x) return gelu(x) end,
}
local binary = {
  function(x, y) return x + y end, function(x, y) return x - y end, function(x, y) return x * y * 0.25 end,
  function(x, y) return max(x, y) end, function(x, y) return min(x, y) end,
  function(x, y) return ratio(x, y, 0.125) end, function(x, y) return exp2_diff(min(x, y), y) end,
  function(x, y) return where(lt(x, y), x, y * 0.5) end,
  function(x, y) return where(le(row(), column()) & ge(x, 0.0), x, y) end,
  function(x, y) return where(eq(column() % 3, 0), x, y) end,
}

-- One value of all that are at hand.
local function drawn(draw, values, steps)
  local x = values[1]
  for i = 2, #values do x = binary[1 + draw(#binary)](x, values[i]) end
  for _ = 1, steps do
    if one_in(draw, 2) then
      x = unary[1 + draw(#unary)](x)
    else
      x = binary[1 + draw(#binary)](x, values[1 + draw(#values)])
    end
  end
  return x
end

local rows_of = {
  function(x) return row_sum(x) end, function(x) return row_max(x) end, function(x) return row_min(x) end,
}
local first_of = { 0.0, -math.huge, math.huge }
local joined = {
  function(s, x) return s + x end, function(s, x) return max(s, x) end, function(s, x) return min(s, x) end,
}

-- Goes over its row twice: what a loop carries, then what it writes with that.
local function over_rows(seed)
  return function(t, at, tile)
    local draw = generator(seed)
    local masked = seed % 2 == 0
    local function part(c)
      local x = load(t.x, span(at.r, tile.r), span(c, tile.c))
      local w = load(t.w, span(c, tile.c))
      local outside = pick(one_in(draw, 2), 0.0, -1.5)
      if masked then x = where(lt(index().c, t.length[index().r]), x, outside) end
      return { x, w, x + w }
    end
    local count, kind, carried = 1 + draw(3), {}, {}
    for i = 1, count do
      kind[i] = 1 + draw(3)
      carried[i] = rows(first_of[kind[i]])
    end
    local steps, at_once = 1 + draw(4), one_in(draw, 2)
    local shape = draw(1000)
    local results = { loop("gather_up", range(0, C, tile.c), carried, function(c, ...)
      draw = generator(shape)
      local values, next = part(c), {}
      for i, s in ipairs { ... } do
        next[i] = joined[kind[i]](s, rows_of[kind[i]](drawn(draw, values, steps)))
      end
      return table.unpack(next)
    end) }
    for i = 1, count do results[i] = min(max(results[i], -50.0), 50.0) end
    local again = draw(1000)
    loop("write", range(0, C, tile.c), {}, function(c)
      draw = generator(again)
      local values = part(c)
      for i = 1, count do values[#values + 1] = values[1] * 0.5 + results[i] end
      if at_once then values[#values + 1] = values[1] - row_max(values[3]) end
      store(t.y, span(at.r, tile.r), span(c, tile.c), drawn(draw, values, steps + 2))
    end)
    local last = results[1]
    for i = 2, count do last = binary[1 + draw(5)](last, results[i]) end
    store(t.s, span(at.r, tile.r), last)
  end
end

-- Goes down its columns.
local function down_columns(seed)
  return function(t, at, tile)
    local draw = generator(seed)
    local steps, shape = 1 + draw(3), draw(1000)
    local sum, most = loop("down", range(0, R, tile.r), { columns(0), columns(-inf) }, function(r, sum, most)
      draw = generator(shape)
      local x = load(t.x, span(r, tile.r), span(at.c, tile.c))
      local values = { x, x * x, x - load(t.w, span(at.c, tile.c)) }
      return sum + column_sum(drawn(draw, values, steps)), max(most, column_max(drawn(draw, values, steps)))
    end)
    store(t.sum, span(at.c, tile.c), sum)
    store(t.most, span(at.c, tile.c), most + sum * 0.0625)
  end
end

local sizes = { { R = 5, C = 70 }, { R = 16, C = 256 }, { R = 3, C = 333 }, { R = 1, C = 1 } }
local dtypes = { "bf16", "fp32", "fp16" }
for seed = 1, 16 do
  local draw = generator(seed + 500)
  local dtype, out = dtypes[1 + draw(3)], dtypes[1 + draw(3)]
  kernel("random_row_" .. seed) {
    x = tensor { R, C, dtype = dtype }, w = tensor { C, dtype = dtypes[1 + draw(3)] },
    length = pick(seed % 2 == 0, tensor { R, dtype = "int32", fill = "integers 0 90" }, nil),
    y = tensor { R, C, dtype = out, out = true }, s = tensor { R, dtype = "fp32", out = true },
    axes = "r c", tile = { r = ({ 1, 2, 4 })[1 + draw(3)], c = ({ 64, 128, 256 })[1 + draw(3)] }, grid = { r = R },
    program = over_rows(seed),
    run = { sizes[1 + draw(4)], sizes[1 + draw(4)] },
  }
end
for seed = 1, 6 do
  local draw = generator(seed + 900)
  kernel("random_column_" .. seed) {
    x = tensor { R, C, dtype = dtypes[1 + draw(3)] }, w = tensor { C, dtype = dtypes[1 + draw(3)] },
    sum = tensor { C, dtype = "fp32", out = true }, most = tensor { C, dtype = "fp32", out = true },
    axes = "r c", tile = { r = ({ 4, 8, 32 })[1 + draw(3)], c = ({ 64, 128 })[1 + draw(2)] }, grid = { c = C },
    program = down_columns(seed),
    run = { sizes[1 + draw(4)], sizes[1 + draw(4)] },
  }
end
