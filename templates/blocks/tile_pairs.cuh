//@ -- Sets a packed tile of fp16, two elements at a time. `text` is place_pairs's.
//@ param step table
//@ param text table
//@ param place table
//@ param layout table
//@ local rows, vectors = step.rows // layout.down, step.cols // (layout.across * layout.vector)
//@ local n, words, level0, level1, pairs = step.layout, layout.vector // 2, text.at[1], text.at[2], text.pairs
//@ local held, value = place.name, text.value
//@ if rows > 1 then held = held .. "[i]" end
//@ if vectors > 1 then held = held .. "[j]" end
// pairs ${place.name}
{
    ${level0}
//@ if rows > 1 then
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i) {
//@     deeper()
//@ end
//@ if text.row then
//@     local spread = rows == 1 and "" or layout.apart > 1 and " + i * " .. layout.apart or " + i"
    const int row = row${n}${spread};
//@ end
    ${level1}
//@ if vectors > 1 then
    #pragma unroll
    for (int j = 0; j < ${vectors}; ++j) {
//@     deeper()
//@ end
    #pragma unroll
    for (int word = 0; word < ${words}; ++word) {
        ${pairs}
        ${held}.word[word] = ${value};
    }
//@ if vectors > 1 then
//@     shallower()
    }
//@ end
//@ if rows > 1 then
//@     shallower()
    }
//@ end
}
