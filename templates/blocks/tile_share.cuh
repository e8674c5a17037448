//@ -- Between the warps that hold parts of one row (or column): each group of them writes what it has, and behind a
//@ -- barrier every thread folds what all have written.
//@ param step table
//@ param scratch table
//@ param place table
//@ param layout table
//@ param offset int
//@ local base = offset > 0 and "shared_memory + " .. offset or "shared_memory"
//@ local n, groups, name = step.layout, scratch.rows, step.reduction
//@ local rows, vectors = step.rows // layout.down, step.cols // (layout.across * layout.vector)
//@ local apart, vector = layout.across * layout.vector, layout.vector
//@ local type, held, size = place.dtype == "int64" and "i64" or "float", place.name, scratch.cols
//@ local group, one
//@ if step.over_rows and layout.across < 32 then
//@     group, one = "threadIdx.x / 32", "threadIdx.x % 32 < " .. layout.across
//@ elseif step.over_rows then
//@     group, one = layout.apart < layout.down and "threadIdx.x / " .. layout.across or "row" .. n, "true"
//@ else
//@     local warps = layout.down > 1 and " % " .. layout.across // 32 or ""
//@     group, one = "threadIdx.x / 32" .. warps, "threadIdx.x % 32 == 0"
//@ end
//@ local at = step.rows > 1 and "row" or "0"
//@ if step.over_rows and step.cols > 1 then
//@     at = vector > 1 and "column + e" or "column"
//@ elseif step.over_rows then -- all threads of a row have one number
//@     one = "threadIdx.x % " .. math.max(layout.across, 32) .. " == 0"
//@ end
//@ if rows > 1 then held = held .. "[i]" end
//@ if vectors > 1 then held = held .. "[j]" end
//@ if step.cols > 1 and vector > 1 then held = held .. "[e]" end
//@ if step.call == "share" and one ~= "true" then
if (${one}) {
//@ else
{
//@ end
//@ if step.call == "share" then
//@     local part = size > 1 and " * " .. size or ""
    ${type} *const parts = (${type} *)(${base}) + ${group}${part};
//@ else
    const ${type} *const parts = (const ${type} *)(${base});
//@ end
//@ if rows > 1 then
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i) {
//@     deeper()
    const int row = row${n} + i * ${layout.apart};
//@ elseif step.rows > 1 then
    const int row = row${n};
//@ end
//@ if vectors > 1 then
    #pragma unroll
    for (int j = 0; j < ${vectors}; ++j) {
//@     deeper()
    const int column = column${n} + j * ${apart};
//@ elseif step.cols > 1 then
    const int column = column${n};
//@ end
//@ if step.cols > 1 and vector > 1 then
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e) {
//@     deeper()
//@ end
//@ if step.call == "share" then
    parts[${at}] = ${held};
//@ else
//@     local next = "group" .. (size > 1 and " * " .. size or "") .. (at ~= "0" and " + " .. at or "")
    ${held} = parts[${at}];
    #pragma unroll
    for (int group = 1; group < ${groups}; ++group)
        ${held} = fold_${name}(${held}, parts[${next}]);
//@ end
//@ if step.cols > 1 and vector > 1 then
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
