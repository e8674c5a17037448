-- What is one number a row, reduced again: by lanes that hold different rows or the same one, over warps; rows behind
-- the last are no zeros of it. What is computed in 32 bits is stored as it is.
local R, C = dims "R C"

for _, shape in ipairs { { 64, 4 }, { 4, 512 } } do
  kernel("sums_" .. shape[1]) {
    axes = "r c", tile = { r = shape[1], c = shape[2] }, grid = { r = R },
    x = tensor { R, C, dtype = "int32", fill = "integers -9 -1" }, y = tensor { 4, dtype = "int32", out = true },
    program = function(t, at, tile)
      local sum = row_sum(load(t.x, span(at.r, tile.r), span(0, tile.c)))
      store(t.y, span(0, 1), column_sum(sum))
      store(t.y, span(1, 1), column_max(sum))
      store(t.y, span(2, 1), column_min(-sum))
      store(t.y, span(3, 1), select(lt(column_max(sum), 0), at.r + 1, 0))
    end,
    run = { { R = shape[1] - 1, C = shape[2] }, { R = 1, C = 4 } },
  }
end
