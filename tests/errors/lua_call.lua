local f = {}
f.g(1)
