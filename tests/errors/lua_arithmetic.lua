local a = { b = {} }
local c = a.b + 1
