local s = string.format("%l", 3)
