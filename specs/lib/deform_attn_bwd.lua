-- Multi-scale deformable attention, backward: of what lib/deform_attn.lua computes, the gradients of value, locations
-- and weights, from that of its result, `grad`.
--
-- With D = grad[q] and a sample's four pixels p of weights a(p), of row times of column as lib/deform_attn.lua has
-- them, d_weight is the sum of a(p) <D, V(p)>, and d_loc, (x, y), that of weight da(p) / d(x, y) <D, V(p)> by W and H
-- of the level. To d_value[p] weight a(p) D is added, in fp32 and in any order: it must hold numbers before, zeros as a
-- rule. A pixel's weight falls to both of its sides; on the pixel itself the slope is that to the next one, and a
-- sample that lies a whole pixel outside, or nowhere, gives nothing and gets nothing.
--
-- require "deform_attn_bwd" gives a function of one table, to what a kernel is made of: levels, points, channels, dtype
-- (of value and grad), of (of loc and weight), heads, softmax, fill, tile, run, bench, tune and arch are those of
-- lib/deform_attn.lua; maps have no borders. d_value, d_loc and d_weight are fp32, laid out as value, loc and weight
-- are. With softmax, what weight holds gets softmax times (d_weight - <D, O>), where out is the result O of forward.

local log2e = 1.4426950408889634

-- Levels as the program reads them, and where the next one would begin.
local function maps_of(levels)
  local maps, start = {}, 0
  for i, level in ipairs(levels) do
    maps[i] = { start = start, h = level[1], w = level[2] }
    start = start + level[1] * level[2]
  end
  return maps, start
end

-- What holds of a sample's level: values by level, of which each has as many samples.
local function of_level(sample, points, values)
  local value = values[#values]
  for i = #values - 1, 1, -1 do value = where(lt(sample, i * points), values[i], value) end
  return value
end

-- Along one axis of `count` pixels: the one before the location, and of it and the next one weights and their slopes.
local function pair(x, count)
  local first = min(max(floor(x), 0), max(count - 2, 0))
  local function near(c, is_there)
    local t, inside = x - c, is_there & gt(x, -1)
    local slope = where(ge(t, 0) & lt(t, 1), -1, where(ge(t, -1) & lt(t, 0), 1, 0))
    return { weight = where(inside, saturate(1 - abs(t)), 0), slope = where(inside, slope, 0) }
  end
  return first, { near(first, ge(count, 1)), near(first + 1, gt(count, 1)) }
end

local function program_of(k, maps, pixels)
  return function(t, at, tile)
    local queries = span(at.q, tile.q)
    -- The coordinates of row q, and of pixels by their numbers, with those behind them.
    local function of_query(x, ...)
      if k.heads then return x, at.b, queries, at.h, ... end
      return x, at.b, queries, ...
    end
    local function of_pixel(x, number, ...)
      if k.heads then return x, at.b, number, at.h, all, ... end
      return x, at.b, number, all, ...
    end
    local function number(x, i) return load(of_query(x, i)):t() end
    local grad = load(of_query(t.grad, all))
    local samples, most, sum, mean = range(0, #maps * k.points, 1), nil, nil, nil
    if k.softmax then
      mean = row_sum(load(of_query(t.out, all)) * grad)
      most, sum = loop("sum", samples, { rows(-inf), rows(0) }, function(s, most, sum)
        local logit = number(t.weight, s) * log2e
        local m = max(most, logit)
        return m, sum * exp2_diff(most, m) + exp2_diff(logit, m)
      end)
    end
    loop("samples", samples, {}, function(s)
      local function map(name)
        local values = {}
        for n, one in ipairs(maps) do values[n] = one[name] end
        return of_level(s, k.points, values)
      end
      local w, h, weight = map "w", map "h", number(t.weight, s)
      if k.softmax then weight = exp2(weight * log2e - most) / sum end
      local x, across = pair(number(t.loc, 2 * s) * w - 0.5, w)
      local y, down = pair(number(t.loc, 2 * s + 1) * h - 0.5, h)
      local first = whole(y * w + x + map "start")
      local by_weight, by_x, by_y = 0, 0, 0
      for v = 1, 2 do
        for u = 1, 2 do
          local a = across[u].weight * down[v].weight
          local pixel = min(first + (v - 1) * w + (u - 1), pixels - 1)
          local along = row_sum(gather(of_pixel(t.value, pixel)) * grad)
          by_weight = by_weight + a * along
          by_x = by_x + across[u].slope * down[v].weight * along
          by_y = by_y + across[u].weight * down[v].slope * along
          scatter_add(of_pixel(t.d_value, pixel, grad * (weight * a)))
        end
      end
      store(of_query(t.d_weight, span(s, 1), k.softmax and weight * (by_weight - mean) or by_weight))
      store(of_query(t.d_loc, span(2 * s, 1), by_x * weight * w))
      store(of_query(t.d_loc, span(2 * s + 1, 1), by_y * weight * h))
    end)
  end
end

-- By hand: four pixels of each sample, those outside left out.
local function reference_of(k, maps, pixels)
  return function(t, n)
    for b = 0, n.B - 1 do
      for h = 0, (k.heads or 1) - 1 do
        local function of(x, i) return k.heads and x[b][i][h] or x[b][i] end
        local sum = {}
        for pixel = 0, pixels - 1 do
          sum[pixel] = {}
          for c = 0, k.channels - 1 do sum[pixel][c] = 0 end
        end
        for q = 0, n.Q - 1 do
          local loc, grad, d_loc, d_weight = of(t.loc, q), of(t.grad, q), of(t.d_loc, q), of(t.d_weight, q)
          local weight, total, mean = {}, 0, 0
          for s = 0, #maps * k.points - 1 do
            weight[s] = k.softmax and exp(of(t.weight, q)[s]) or of(t.weight, q)[s]
            total = total + weight[s]
          end
          for s = 0, k.softmax and #maps * k.points - 1 or -1 do weight[s] = weight[s] / total end
          for c = 0, k.softmax and k.channels - 1 or -1 do mean = mean + grad[c] * of(t.out, q)[c] end
          for s = 0, #maps * k.points - 1 do
            local map, by_weight, by_x, by_y = maps[s // k.points + 1], 0, 0, 0
            local x, y = loc[2 * s] * map.w - 0.5, loc[2 * s + 1] * map.h - 0.5
            if x > -1 and x < map.w and y > -1 and y < map.h then
              local x0, y0 = math.floor(x), math.floor(y)
              for v = max(y0, 0), min(y0 + 1, map.h - 1) do
                for u = max(x0, 0), min(x0 + 1, map.w - 1) do
                  local pixel, along = map.start + v * map.w + u, 0
                  local value, of_row, of_column = of(t.value, pixel), 1 - math.abs(y - v), 1 - math.abs(x - u)
                  for c = 0, k.channels - 1 do
                    along = along + value[c] * grad[c]
                    sum[pixel][c] = sum[pixel][c] + weight[s] * of_row * of_column * grad[c]
                  end
                  by_weight = by_weight + of_row * of_column * along
                  by_x = by_x + (u == x0 and -1 or 1) * of_row * along
                  by_y = by_y + (v == y0 and -1 or 1) * of_column * along
                end
              end
            end
            d_weight[s] = k.softmax and weight[s] * (by_weight - mean) or by_weight
            d_loc[2 * s], d_loc[2 * s + 1] = by_x * weight[s] * map.w, by_y * weight[s] * map.h
          end
        end
        for pixel = 0, pixels - 1 do
          for c = 0, k.channels - 1 do of(t.d_value, pixel)[c] = of(t.d_value, pixel)[c] + sum[pixel][c] end
        end
      end
    end
  end
end

return function(k)
  local B, Q = dims "B Q"
  local maps, pixels = maps_of(k.levels)
  local samples, of = #maps * k.points, k.of or k.dtype
  local function made(dtype, more, ...)
    local list = { B, ... }
    if k.heads then table.insert(list, 3, k.heads) end
    list.dtype = dtype
    for name, value in pairs(more) do list[name] = value end
    return tensor(list)
  end
  local written = { out = true }
  return {
    value = made(k.dtype, {}, pixels, k.channels), grad = made(k.dtype, {}, Q, k.channels),
    out = k.softmax and made(k.dtype, {}, Q, k.channels) or nil,
    loc = made(of, { fill = k.fill }, Q, 2 * samples), weight = made(of, {}, Q, samples),
    d_value = made("fp32", written, pixels, k.channels),
    d_loc = made("fp32", written, Q, 2 * samples), d_weight = made("fp32", written, Q, samples),
    axes = k.heads and "b h q" or "b q",
    tile = k.tile or { q = 64 },
    grid = k.heads and { b = B, h = k.heads, q = Q } or { b = B, q = Q },
    program = program_of(k, maps, pixels),
    reference = reference_of(k, maps, pixels),
    run = k.run, bench = k.bench, tune = k.tune, arch = k.arch,
  }
end
