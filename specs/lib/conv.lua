-- Convolution: Y = epilogue(alpha X * F), of images n h w c and filters k r s c, as one matrix product without its
-- matrix: rows are pixels of the result, columns filters, and the sum runs over taps and channels.
--
-- X holds images with channels innermost (axes b h w x), F filters (n r s c), Y (m n, written) a row of N channels for
-- each pixel of the result, m = images x P x Q of them in the order of images p q, where
--     P = (H + 2 padding - dilation (R - 1) - 1) // stride + 1,
-- and so is Q of W and S. stride, padding, dilation are one number, or { of h, of w }; padding of a side may be
-- { before, after }. groups = g: filters n to n + N / g see channels from c on, g parts of each. Rows of X and F have a
-- multiple of 16 bytes: pad 3 channels to 8 with zeros in both. Filters and channels of a group are whole tiles.
-- epilogue(acc, t, i) returns what Y receives, or a table of values by output tensor; other tensors that it names
-- broadcast along the axes they lack, bias = tensor { K, axes = "n" }.

-- Entry i of a constant that is one number for both spatial dims, or a list.
local function of_dim(value, i)
  return type(value) == "table" and value[i] or value
end

-- What stands before and after, of padding.
local function sides(value)
  if type(value) == "table" then
    return value[1], value[2]
  end
  return value, value
end

-- Pixels of the result along one dim.
local function pixels(length, taps, stride, padding, dilation)
  local before, after = sides(padding)
  return (length + (before + after - dilation * (taps - 1) - 1)) // stride + 1
end

-- Constants of the kernel, of each dim; what is wrong is told, and taken as 1 or 0 from there on.
local function windows()
  local w = { taps = {}, stride = {}, padding = {}, dilation = {} }
  for i, axis in ipairs { "r", "s" } do
    w.taps[i] = constant(extent(axis))
    if not w.taps[i] then
      refuse("F", "taps r and s are constants: the kernel is of one window; write numbers")
      w.taps[i] = 1
    end
    for name, least in pairs { stride = 1, padding = 0, dilation = 1 } do
      local given = constant(name)
      local value = of_dim(given, i)
      local before, after = sides(value)
      before = (type(given) ~= "table" or #given == 2) and before
      if not before or not after or before < least or after < least or before ~= after and name ~= "padding" then
        refuse(name, "write a whole number from " .. least .. " on, or one for each of h and w")
        value = least
      end
      w[name][i] = value
    end
  end
  return w
end

local function program(t, at, tile)
  local w, groups = windows(), constant "groups"
  local lengths, count = { extent "h", extent "w" }, extent "b"
  for i = 1, 2 do count = count * pixels(lengths[i], w.taps[i], w.stride[i], w.padding[i], w.dilation[i]) end
  local rest = constant(extent "m" - count)
  if rest and rest ~= 0 then
    refuse("Y", "its rows are not as many as the result has pixels; write images * P * Q")
  end
  if type(groups) ~= "number" or groups < 1 then
    refuse("groups", "write a whole number from 1 on")
    groups = 1
  end
  if constant(extent "x" - groups * extent "c") ~= 0 then
    refuse("F", "a filter has the channels of a group, those of X / groups; write as many")
  end
  if groups > 1 then
    local filters, channels = constant(extent "n"), constant(extent "c")
    if not filters or filters % groups ~= 0 or filters // groups % tile.n ~= 0 then
      refuse("groups", "filters of a group are a constant, a multiple of tile.n, " .. tile.n .. "; write such groups")
    end
    if not channels or channels % tile.c ~= 0 then
      refuse("groups", "channels of a group are a constant, a multiple of tile.c, " .. tile.c .. "; write such groups")
    end
  end

  local n, chunks = span(at.n, tile.n), (extent "c" + (tile.c - 1)) // tile.c
  local first = groups > 1 and at.n // (extent "n" // groups) * extent "c" or 0 -- channel of the group
  local taps = w.taps[1] * w.taps[2] -- a constant, and so the divisions of each turn are cheap
  local sum = loop("k", range(0, taps * chunks), { zeros() }, function(k, sum)
    local tap, c = k % taps, k // taps * tile.c
    local r, s = tap // w.taps[2], tap % w.taps[2]
    local x = im2col(t.X, span(at.m, tile.m), r, s, span(first + c, tile.c), w)
    return dot(x, load(t.F, n, r, s, span(c, tile.c)):t(), sum)
  end)
  if given "alpha" then
    sum = sum * t.alpha
  end
  local results = fused("epilogue", sum)
  if type(results) ~= "table" then
    results = { Y = results }
  end
  for name, value in pairs(results) do store(t[name], span(at.m, tile.m), n, value) end
end

-- The smallest power of two from `least` that covers the extent, at most `most`.
local function cover(extent, least, most)
  local tile = most
  while extent and tile // 2 >= least and extent <= tile // 2 do tile = tile // 2 end
  return tile
end

-- The largest power of two up to `most` that divides the extent.
local function divisor(extent, most)
  local tile = most
  while extent and tile > 8 and extent % tile ~= 0 do tile = tile // 2 end
  return tile
end

-- 128 bytes of a pixel, the span of the widest swizzle, or fewer where it has fewer channels. 64 pixels for each
-- consumer, and the most filters whose sums its registers hold; whole tiles of each group.
local function sizes(arch, said, extent, bytes)
  local widest = 128 // (bytes.X or 2)
  local groups = type(said.groups) == "number" and said.groups > 1 and said.groups or nil
  local c = groups and divisor(extent.c, widest) or cover(extent.c, widest // 4, widest)
  local m = said.m or 64 * (said.consumers or 2)
  local most = arch and arch ~= "sm_90a" and 128 or m > 128 and 128 or 256
  local n = extent.n and (extent.n + 7) // 8 * 8 or most
  if groups and extent.n then
    n = divisor(extent.n // groups, most)
  end
  return { m = m, n = math.min(n, most), c = c }
end

return {
  axes = "m n b h w x r s c",
  grid = "m n",
  tensors = {
    { "X", axes = "b h w x" },
    { "F", axes = "n r s c" },
    { "Y", axes = "m n", out = true },
  },
  constants = { stride = 1, padding = 0, dilation = 1, groups = 1 },
  scalars = { "alpha" },
  functions = { "epilogue" },
  program = program,
  sizes = sizes,
}
