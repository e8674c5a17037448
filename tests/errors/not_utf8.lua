local M = dims "M"
-- café
