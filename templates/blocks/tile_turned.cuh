//@ -- The reading half of a transpose: a vector's elements lie below each other, in rows of the tile that was written.
//@ param step table
//@ param place table
//@ param layout table
//@ param offset int
//@ local n, vector, dtype = step.layout, layout.vector, place.dtype
//@ local rows, vectors, apart = step.rows // layout.down, step.cols // (layout.across * vector), layout.across * vector
//@ local type, held = ctype(dtype), place.name
//@ if rows > 1 then held = held .. "[i]" end
//@ if vectors > 1 then held = held .. "[j]" end
//@ local chunks, swap = step.rows // vector, 1
//@ while swap < 8 and chunks % (2 * swap) == 0 do swap = 2 * swap end
//@ local cols = vector > 1 and step.rows or step.rows + 1
{
    const ${type} *const tile = (const ${type} *)(shared_memory + ${offset});
//@ if rows > 1 then
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i) {
//@     deeper()
    const int row = row${n} + i * ${layout.down};
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
    ${type} word[${vector}];
//@ if vector > 1 then
    const ${type} *const from = tile + (row / ${vector} ^ column / ${vector} % ${swap}) * ${vector} + row % ${vector};
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
        word[e] = from[(column + e) * ${cols}];
//@ else
    word[0] = tile[column * ${cols} + row];
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
