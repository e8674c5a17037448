//@ -- Among the lanes of a warp that hold parts of one row (or column): each gets what all have.
//@ param step table
//@ param place table
//@ param layout table
//@ local rows, vectors = step.rows // layout.down, step.cols // (layout.across * layout.vector)
//@ local lanes = layout.across < 32 and layout.across or 32
//@ local first, last, held, name = 1, lanes, place.name, step.reduction
//@ if step.over_rows then
//@     local threads = layout.across * layout.down
//@     first, last = layout.across, threads < 32 and threads or 32
//@ end
//@ if rows > 1 then held = held .. "[i]" end
//@ if vectors > 1 then held = held .. "[j]" end
//@ if step.cols > 1 and layout.vector > 1 then held = held .. "[e]" end
#pragma unroll
for (int lane = ${first}; lane < ${last}; lane *= 2) {
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
//@ if step.cols > 1 and layout.vector > 1 then
    #pragma unroll
    for (int e = 0; e < ${layout.vector}; ++e)
//@     deeper()
//@ end
    ${held} = fold_${name}(${held}, __shfl_xor_sync(~0u, ${held}, lane));
//@ if step.cols > 1 and layout.vector > 1 then shallower() end
//@ if vectors > 1 then shallower() end
//@ if rows > 1 then shallower() end
}
