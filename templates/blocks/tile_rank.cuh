//@ -- The rank of each element among the different values of its row. rank_values: a thread's own, for all to read;
//@ -- rank_count: how many are less; rank_mark: a bit of its row for that number, which equal ones share; rank_take:
//@ -- how many bits are below it. rank_clear: no bits.
//@ param step table
//@ param scratch table
//@ param place table
//@ param counted text
//@ param layout table
//@ param offset int
//@ local base = offset > 0 and "shared_memory + " .. offset or "shared_memory"
//@ local n, call, pitch = step.layout, step.call, scratch.cols
//@ local rows, vectors = step.rows // layout.down, step.cols // (layout.across * layout.vector)
//@ local vector, cols, which = layout.vector, step.cols, rows > 1 and "[i]" or ""
//@ local of_row = (vectors > 1 and "[j]" or "") .. (vector > 1 and "[e]" or "")
//@ local held, vector_of = place.name .. which .. of_row, place.name .. which .. (vectors > 1 and "[j]" or "")
//@ local const = (call == "rank_count" or call == "rank_take") and "const " or ""
//@ local type = (call == "rank_values" or call == "rank_count") and "int" or "u32"
//@ local chunk = call == "rank_values" and (vector % 4 == 0 and 4 or vector) or 1
//@ local step_of = chunk > 1 and "e += " .. chunk or "++e"
//@ local wide = cols % 4 == 0 and 4 or cols % 2 == 0 and 2 or 1
{
//@ if rows > 1 then
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i) {
//@     deeper()
    const int row = row${n} + i * ${layout.apart};
//@ elseif step.rows > 1 then
    const int row = row${n};
//@ else
    const int row = 0;
//@ end
    ${const}${type} *const from = (${const}${type} *)(${base}) + row * ${pitch};
//@ local joined = call == "rank_mark" and pitch == 1 and vector * vectors > 1 -- a thread's bits at once
//@ if joined then
    u32 bits = 0;
//@ end
//@ if call == "rank_count" then
//@     if vectors > 1 then
    #pragma unroll
    for (int j = 0; j < ${vectors}; ++j)
//@         deeper()
//@     end
//@     if vector > 1 then
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
//@         deeper()
//@     end
    ${held} = 0;
//@     if vector > 1 then shallower() end
//@     if vectors > 1 then shallower() end
    #pragma unroll 8
    for (int chunk = 0; chunk < ${cols}; chunk += ${wide}) {
//@     deeper()
//@     if wide > 1 then
    const int${wide} values = *(const int${wide} *)(from + chunk);
//@     else
    const int values = from[chunk];
//@     end
//@ end
//@ if vectors > 1 then
    #pragma unroll
    for (int j = 0; j < ${vectors}; ++j) {
//@     deeper()
//@ end
//@ if call ~= "rank_count" and call ~= "rank_take" and call ~= "rank_mark" then
//@     local own = cols == 1 and "0" or "column" .. n .. (vectors > 1 and " + j * " .. layout.across * vector or "")
    const int column = ${own};
//@ end
//@ if vector > 1 then
    #pragma unroll
    for (int e = 0; e < ${vector}; ${step_of}) {
//@     deeper()
//@ end
//@ local at = vector > 1 and "column + e" or "column"
//@ if call == "rank_values" and chunk > 1 then
//@     local list = {}
//@     for e = 1, chunk do list[e] = vector_of .. (e > 1 and "[e + " .. e - 1 .. "]" or "[e]") end
//@     local values = table.concat(list, ", ")
    *(int${chunk} *)(from + ${at}) = make_int${chunk}(${values});
//@ elseif call == "rank_values" then
    from[${at}] = ${held};
//@ elseif call == "rank_clear" then
    if (${at} < ${pitch})
        from[${at}] = 0;
//@ elseif call == "rank_count" then
//@     local own = counted .. which .. of_row
//@     for _, part in ipairs(wide == 4 and { ".x", ".y", ".z", ".w" } or wide == 2 and { ".x", ".y" } or { "" }) do
    asm("{\n\t.reg .pred less;\n\tsetp.lt.s32 less, %1, %2;\n\t@less add.s32 %0, %0, 1;\n\t}"
        : "+r"(${held}) : "r"(values${part}), "r"(${own}));
//@     end
//@ elseif call == "rank_mark" and joined then
    bits |= 1u << ${held};
//@ elseif call == "rank_mark" then
    atomicOr(from + ${held} / 32, 1u << ${held} % 32);
//@ else
//@     if pitch == 1 then
    ${held} = __popc(*from & (1u << ${held}) - 1);
//@     else
    int below = 0;
    #pragma unroll
    for (int word = 0; word < ${pitch}; ++word) {
        const int bits = max(${held} - word * 32, 0);
        below += __popc(from[word] & (bits < 32 ? (1u << bits) - 1 : ~0u));
    }
    ${held} = below;
//@     end
//@ end
//@ if vector > 1 then
//@     shallower()
    }
//@ end
//@ if vectors > 1 then
//@     shallower()
    }
//@ end
//@ if call == "rank_count" then
//@     shallower()
    }
//@ elseif joined then
    atomicOr(from, bits);
//@ end
//@ if rows > 1 then
//@     shallower()
    }
//@ end
}
