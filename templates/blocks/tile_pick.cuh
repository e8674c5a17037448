//@ -- A column of a tile whose rows each thread has whole.
//@ param step table
//@ param place table
//@ param from table
//@ param layout table
//@ local rows, vectors = step.rows // layout.down, from.cols // layout.vector
//@ local skip, row = has(step, "skip") and step.skip or 0, rows > 1 and "[i]" or ""
//@ local vector, element = skip // layout.vector, skip % layout.vector
//@ local held = from.name .. row .. (vectors > 1 and "[" .. vector .. "]" or "")
//@ if from.packed then held = from.dtype .. "_element(" .. held .. ", " .. element .. ")" end
//@ if rows > 1 then
#pragma unroll
for (int i = 0; i < ${rows}; ++i)
//@     deeper()
//@ end
${place.name}${row} = ${held};
//@ if rows > 1 then shallower() end
