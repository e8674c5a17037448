//@ -- Sums (most, least) of a row's elements by the column that their number names, in shared memory. segment_clear:
//@ -- what a column without any holds; segment_join: each element into its column; segment_take: a thread's own ones.
//@ param step table
//@ param scratch table
//@ param place table
//@ param numbers text
//@ param layout table
//@ param offset int
//@ local base = offset > 0 and "shared_memory + " .. offset or "shared_memory"
//@ local n, call, pitch = step.layout, step.call, scratch.cols
//@ local rows, vectors = step.rows // layout.down, step.cols // (layout.across * layout.vector)
//@ local vector, which = layout.vector, ""
//@ if rows > 1 then which = which .. "[i]" end
//@ if vectors > 1 then which = which .. "[j]" end
//@ local vector_of = place.name .. which
//@ if vector > 1 then which = which .. "[e]" end
//@ local held, number, const = place.name .. which, numbers .. which, call == "segment_take" and "const " or ""
//@ local none, join = "0", "atomicAdd"
//@ if has(step, "reduction") and step.reduction == "max" then none, join = "(int)0x80000000", "atomicMax" end
//@ if has(step, "reduction") and step.reduction == "min" then none, join = "0x7fffffff", "atomicMin" end
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
    ${const}int *const from = (${const}int *)(${base}) + row * ${pitch};
//@ if vectors > 1 then
    #pragma unroll
    for (int j = 0; j < ${vectors}; ++j) {
//@     deeper()
//@ end
//@ if call ~= "segment_join" then
//@     local own = "column" .. n
//@     own = step.cols == 1 and "0" or own .. (vectors > 1 and " + j * " .. layout.across * vector or "")
    const int column = ${own};
//@ end
//@ local chunk = call ~= "segment_join" and (vector % 4 == 0 and 4 or vector) or 1
//@ local step_of = chunk > 1 and "e += " .. chunk or "++e"
//@ if vector > 1 then
    #pragma unroll
    for (int e = 0; e < ${vector}; ${step_of}) {
//@     deeper()
//@ end
//@ local at = vector > 1 and "column + e" or "column"
//@ local nones = none .. (", " .. none):rep(chunk - 1)
//@ if call == "segment_clear" and chunk > 1 then
    *(int${chunk} *)(from + ${at}) = make_int${chunk}(${nones});
//@ elseif call == "segment_clear" then
    from[${at}] = ${none};
//@ elseif call == "segment_join" then
    if ((u32)${number} < ${step.cols}u)
        ${join}(from + ${number}, ${held});
//@ elseif chunk > 1 then
    const int${chunk} values = *(const int${chunk} *)(from + ${at});
//@     for e, part in ipairs { "x", "y", "z", "w" } do
//@         local to = vector_of .. (e > 1 and "[e + " .. e - 1 .. "]" or "[e]")
//@         if e <= chunk then
    ${to} = values.${part};
//@         end
//@     end
//@ else
    ${held} = from[${at}];
//@ end
//@ if vector > 1 then
//@     shallower()
    }
//@ end
//@ if vectors > 1 then
//@     shallower()
    }
//@ end
//@ if rows > 1 then
//@     shallower()
    }
//@ end
}
