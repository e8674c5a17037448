local s = string.rep()
