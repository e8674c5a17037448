local M = dims "M"
local y = M.x
