local a = #5
