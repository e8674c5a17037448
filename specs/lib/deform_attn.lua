-- Multi-scale deformable attention, forward: each query of each head sums `points` samples of each of several maps
-- (levels), at locations and with weights of its own: O[q] = the sum over samples s of weight[q][s] V(loc[q][s]).
--
-- Levels lie one behind the other in value, row by row. A location is (x, y), 0 to 1 across the level; the sample at
-- (x W - 0.5, y H - 0.5) is interpolated between four pixels, those outside of the level counting as zeros. So pixel c
-- has the weight max(0, 1 - |x W - 0.5 - c|) in its row and column: 0 for all of a sample far outside, at a NaN or at
-- infinity. Addresses stay within the level; value must be finite, as pixels at an edge are multiplied by 0 there.
--
-- require "deform_attn" gives a function of one table, to what a kernel is made of:
--   levels   { { H, W }, ... }, constants            points   samples of each level
--   channels of a head; a multiple of 8              dtype    of value and out; loc and weight have `of`, or the same
--   heads    nil: value { B, S, C }, loc { B, Q, 2 L P }, weight { B, Q, L P }, out { B, Q, C }: a batch has one head;
--            a number: value { B, S, H, C }, loc { B, Q, H, 2 L P }, weight { B, Q, H, L P }, out { B, Q, H, C }
--   padded   each level has a border of zeros, a pixel wide, so that its maps have (H + 2) (W + 2) pixels
--   softmax  weights are the softmax of what weight holds for the L P samples of a query
--   loads    "vectors": each thread of a row has the locations and weights of its row in vectors; "numbers": one by
--            one; "boxes": samples come as boxes of 2 x 2 pixels through a tensor map of each level, by `template`, a
--            file beside the spec, and are added in fp32. Levels are tensors of their own then, value0 { B, H, W, C }
--            and so on, which may lie in one memory as they do in value: their strides are those, if not given
--   batches  of "boxes": a number, in the place of B; each batch's levels have a map each then, and may lie anywhere.
--            A launch's B is not looked at where the spec has it for other kernels
--   sums     "fp16": samples of a turn are added in the dtype of value, by pairs, and those sums in fp32
--   unrolled the code of each level stands for itself, its extents as constants
--   tile     { q = queries of a block }              fill     of loc; and run, bench, tune, arch as kernels have them

local log2e = 1.4426950408889634

-- Levels as the program reads them: extents with borders, where each begins, how far pixel 0 is from coordinate 0.
local function maps_of(k)
  local maps, start, border = {}, 0, k.padded and 1 or 0
  for i, level in ipairs(k.levels) do
    local h, w = level[1] + 2 * border, level[2] + 2 * border
    maps[i] = { start = start, h = h, w = w, rows = level[1], columns = level[2], shift = border - 0.5 }
    start = start + h * w
  end
  return maps, start
end

-- Along one axis: the pixel that counts most before the location, and the weights of it and the next one.
local function pair(at, extent, count, shift)
  local x = at * extent + shift
  if type(count) == "number" and count == 1 then return 0, { saturate(1 - abs(x)) } end
  local first = min(max(floor(x), 0), count - 2)
  return first, { saturate(1 - abs(x - first)), saturate(1 - abs(x - first - 1)) }
end

local function gcd(a, b) return b == 0 and a or gcd(b, a % b) end

-- What holds of a turn's level: values[turn] by the number of the turn, which is a number where there is but one.
local function of_turn(turn, values)
  local value, same = values[#values], true
  for i = 1, #values - 1 do same = same and values[i] == values[#values] end
  for i = same and 0 or #values - 1, 1, -1 do value = where(eq(turn, i - 1), values[i], value) end
  return value
end

local function program_of(k, maps)
  local points, samples = k.points, #maps * k.points
  -- A turn takes whole levels, as many as make vectors of 8 weights of their samples; or all.
  local levels = 8 // gcd(8, points)
  local whole_levels = not k.unrolled and #maps % levels == 0
  for _, map in ipairs(maps) do whole_levels = whole_levels and map.w > 1 and map.h > 1 end
  if not whole_levels then levels = #maps end
  local turns, each = #maps // levels, levels * points

  return function(t, at, tile)
    local queries = span(at.q, tile.q)
    local function row_of(x, ...)
      if k.heads then return load(x, at.b, queries, at.h, ...) end
      return load(x, at.b, queries, ...)
    end
    -- Columns of loc and weight by their numbers.
    local function columns_of(x, first, count)
      if k.loads == "numbers" then return function(i) return row_of(x, first + i):t() end end
      local part = row_of(x, span(first, count))
      return function(i) return pick(part, i) end
    end
    local function pixels(number)
      if type(number) == "number" then
        if k.heads then return load(t.value, at.b, number, at.h, all) end
        return load(t.value, at.b, number, all)
      end
      if k.heads then return gather(t.value, at.b, number, at.h, all) end
      return gather(t.value, at.b, number, all)
    end

    local most
    if k.softmax then
      local logit = columns_of(t.weight, 0, samples)
      most = logit(0)
      for s = 1, samples - 1 do most = max(most, logit(s)) end
    end

    local carried = k.softmax and { zeros(), rows(0) } or { zeros() }
    local sum, total = loop("levels", range(0, turns), carried, function(turn, sum, total)
      local location, weights = columns_of(t.loc, turn * (2 * each), 2 * each), columns_of(t.weight, turn * each, each)
      local part
      for i = 0, each - 1 do
        local function map(name)
          local values = {}
          for n = 1, turns do values[n] = maps[(n - 1) * levels + i // points + 1][name] end
          return of_turn(turn, values)
        end
        local w, weight = map "w", weights(i)
        if k.softmax then
          weight = exp2(weight * log2e - most * log2e)
          total = total + weight
        end
        local x, wx = pair(location(2 * i), map "columns", w, map "shift")
        local y, wy = pair(location(2 * i + 1), map "rows", map "h", map "shift")
        local pixel = whole(y * w + x + map "start")
        for v = 1, #wy do
          local of_row = weight * wy[v]
          for u = 1, #wx do
            local value, by = pixels(pixel + (v - 1) * w + (u - 1)), of_row * wx[u]
            if k.sums == "fp16" then by = cast(by, k.dtype) end
            local product = value * by
            if part ~= nil then product = product + part end
            part = k.sums == "fp16" and cast(product, k.dtype) or product
          end
        end
      end
      if k.softmax then return sum + part, total end
      return sum + part
    end)
    if k.softmax then sum = sum / total end
    if k.heads then store(t.out, at.b, queries, at.h, all, sum) else store(t.out, at.b, queries, all, sum) end
  end
end

-- By hand: four pixels of each sample, those outside left out.
local function reference_of(k, maps)
  return function(t, n)
    for b = 0, (k.batches or n.B) - 1 do
      for h = 0, (k.heads or 1) - 1 do
        for q = 0, n.Q - 1 do
          local loc, weight, out = t.loc[b][q], t.weight[b][q], t.out[b][q]
          if k.heads then loc, weight, out = loc[h], weight[h], out[h] end
          local most, total, sum = -math.huge, 0, {}
          for s = 0, #maps * k.points - 1 do most = max(most, weight[s]) end
          for c = 0, k.channels - 1 do sum[c] = 0 end
          for s = 0, #maps * k.points - 1 do
            local map = maps[s // k.points + 1]
            local x, y = loc[2 * s] * map.columns - 0.5, loc[2 * s + 1] * map.rows - 0.5
            local w = k.softmax and exp(weight[s] - most) or weight[s]
            total = total + w
            if x > -1 and x < map.columns and y > -1 and y < map.rows then
              local x0, y0 = math.floor(x), math.floor(y)
              for v = max(y0, 0), min(y0 + 1, map.rows - 1) do
                for u = max(x0, 0), min(x0 + 1, map.columns - 1) do
                  local border = k.padded and 1 or 0
                  local value
                  if k.loads == "boxes" then value = t["value" .. s // k.points][b][v][u]
                  else value = t.value[b][map.start + (v + border) * map.w + u + border] end
                  if k.heads then value = value[h] end
                  local corner = w * (1 - math.abs(x - u)) * (1 - math.abs(y - v))
                  for c = 0, k.channels - 1 do sum[c] = sum[c] + value[c] * corner end
                end
              end
            end
          end
          for c = 0, k.channels - 1 do out[c] = k.softmax and sum[c] / total or sum[c] end
        end
      end
    end
  end
end

-- What `run` puts into padded maps: eighths, and zeros around each level.
local function bordered(maps, heads)
  local function at(b, pixel, c)
    for _, map in ipairs(maps) do
      local i = pixel - map.start
      if i >= 0 and i < map.h * map.w then
        local y, x = i // map.w, i % map.w
        local inside = y > 0 and y < map.h - 1 and x > 0 and x < map.w - 1
        return inside and ((b * 17 + pixel * 29 + c * 13) % 33 - 16) / 8 or 0
      end
    end
  end
  return heads and function(b, pixel, h, c) return at(b + 3 * h, pixel, c) end or at
end

-- By boxes: what the template is told in the place of a program.
local function boxes_of(k, made, maps, pixels, B, Q)
  assert(not (k.heads or k.padded or k.softmax), "boxes: one head, no borders, no softmax")
  local queries, samples, kernel = k.tile and k.tile.q or 32, #maps * k.points, { template = k.template, threads = 64 }
  local ring = { stages = 16 }
  for i, map in ipairs(maps) do
    ring[i] = "value" .. i - 1
    kernel[ring[i]] = made({ B, map.h, map.w, k.channels }, k.dtype, {
      tile = { 1, 2, 2, k.channels }, stride = { pixels * k.channels, map.w * k.channels, k.channels, 1 },
      maps = k.batches and "" .. k.batches,
    })
  end
  local of = k.of or k.dtype
  kernel.rings, kernel.grid = { ring }, { (Q + (queries - 1)) // queries * B }
  kernel.loc = made({ B, Q, 2 * samples }, of, { fill = k.fill })
  kernel.weight = made({ B, Q, samples }, of, { fill = k.weights, tile = { 1, queries, samples } })
  kernel.out = made({ B, Q, k.channels }, k.dtype, { out = true, tile = { 1, queries, k.channels } })
  return kernel
end

return function(k)
  local B, Q = dims "B Q"
  B = k.batches or B
  local maps, pixels = maps_of(k)
  local samples, of = #maps * k.points, k.of or k.dtype
  local function shaped(...)
    local list = { B, ... }
    if k.heads then table.insert(list, 3, k.heads) end
    return list
  end
  local function made(list, dtype, more)
    list.dtype = dtype
    for name, value in pairs(more or {}) do list[name] = value end
    return tensor(list)
  end
  if k.loads == "boxes" then
    local kernel = boxes_of(k, made, maps, pixels, B, Q)
    kernel.reference, kernel.run, kernel.bench, kernel.arch = reference_of(k, maps), k.run, k.bench, k.arch
    return kernel
  end
  return {
    value = made(shaped(pixels, k.channels), k.dtype, { fill = k.padded and bordered(maps, k.heads) or nil }),
    loc = made(shaped(Q, 2 * samples), of, { fill = k.fill }),
    weight = made(shaped(Q, samples), of, { fill = k.weights }),
    out = made(shaped(Q, k.channels), k.dtype, { out = true }),
    axes = k.heads and "b h q" or "b q",
    tile = k.tile or { q = 64 },
    grid = k.heads and { b = B, h = k.heads, q = Q } or { b = B, q = Q },
    program = program_of(k, maps),
    reference = reference_of(k, maps),
    run = k.run, bench = k.bench, tune = k.tune, arch = k.arch,
  }
end
