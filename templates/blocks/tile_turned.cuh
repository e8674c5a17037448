//@ -- The reading half of a transpose: a vector's elements lie below each other, in rows of the tile that was written.
//@ param step table
//@ param text table
//@ param scratch table
//@ param place table
//@ param layout table
//@ param offset int
//@ local base = offset > 0 and "shared_memory + " .. offset or "shared_memory"
//@ local n, vector, dtype = step.layout, layout.vector, place.dtype
//@ local rows, vectors, apart = step.rows // layout.down, step.cols // (layout.across * vector), layout.across * vector
//@ local type, held = ctype(dtype), place.name
//@ if rows > 1 then held = held .. "[i]" end
//@ if vectors > 1 then held = held .. "[j]" end
//@ local chunks, swap = scratch.cols // vector, 1
//@ while swap < 8 and chunks % (2 * swap) == 0 do swap = 2 * swap end
//@ local cols = vector > 1 and scratch.cols or scratch.cols + 1
//@ local inside = has(text, "inside") and text.inside or "true"
//@ local level1, level2 = text.at[2], text.at[3]
{
    const ${type} *const tile = (const ${type} *)(${base});
//@ if rows > 1 then
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i) {
//@     deeper()
    const int row = row${n} + i * ${layout.apart};
//@ else
    const int row = row${n};
//@ end
//@ if vectors > 1 then
    #pragma unroll
    for (int j = 0; j < ${vectors}; ++j) {
//@     deeper()
    const int column = column${n} + j * ${apart};
//@ else
    const int column = column${n};
//@ end
    ${level1}
    ${level2}
    ${type} word[${vector}] = {};
//@ if inside ~= "true" then
    if (${inside}) {
//@     deeper()
//@ end
//@ if vector > 1 then
    const ${type} *const from = tile + (row / ${vector} ^ column / ${vector} % ${swap}) * ${vector} + row % ${vector};
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
        word[e] = from[(column + e) * ${cols}];
//@ else
    word[0] = tile[column * ${cols} + row];
//@ end
//@ if inside ~= "true" then
//@     shallower()
    }
//@ end
    ${held} = ${dtype}_gather(word);
//@ if vectors > 1 then
//@     shallower()
    }
//@ end
//@ if rows > 1 then
//@     shallower()
    }
//@ end
}
