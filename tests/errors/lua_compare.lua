local a = {} < 1
