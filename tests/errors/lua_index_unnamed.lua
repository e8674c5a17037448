for i in ipairs(nil) do end
