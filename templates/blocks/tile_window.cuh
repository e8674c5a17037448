//@ -- A tile's registers among those of the windows that it begins and ends in.
//@ param step table
//@ param place table
//@ param first table
//@ param second table
//@ param layout table
//@ local rows, vectors = step.rows // layout.down, step.cols // (layout.across * layout.vector)
//@ local at = vectors > 1 and "[j]" or ""
//@ local function row_of(window, skip)
//@     if rows + window.more <= 1 then return "" end
//@     return "[" .. (rows > 1 and "i" .. (skip > 0 and " + " .. skip or "") or tostring(skip)) .. "]"
//@ end
//@ local held = place.name .. (rows > 1 and "[i]" or "") .. at
//@ local from = first.name .. row_of(first, has(step, "skip") and step.skip or 0) .. at
//@ if has(step, "shift") then
//@     local next = second.name .. row_of(second, has(step, "skip2") and step.skip2 or 0) .. at
//@     from = place.dtype .. "_between(" .. from .. ", " .. next .. ", " .. step.shift .. ")"
//@ end
//@ if rows > 1 then
#pragma unroll
for (int i = 0; i < ${rows}; ++i)
//@     deeper()
//@ end
//@ if vectors > 1 then
#pragma unroll
for (int j = 0; j < ${vectors}; ++j)
//@     deeper()
//@ end
${held} = ${from};
//@ if vectors > 1 then shallower() end
//@ if rows > 1 then shallower() end
