local a = 1.5 | 1
