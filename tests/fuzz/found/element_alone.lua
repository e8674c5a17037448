-- An element alone is no statement: no Lua.
local x, s = {}, 1
for i = 1, 2 do
  x[s] O = 0
end
kernel "k" { family = "gemm" }
