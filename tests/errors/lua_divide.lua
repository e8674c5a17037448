local a = 1 // 0
