local a = {} < {}
