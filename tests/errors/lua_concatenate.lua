local a = { b = {} }
local c = "x" .. a.b
