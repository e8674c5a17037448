local q = select("x", 1)
