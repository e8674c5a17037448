//@ -- The L2 is asked for tensors as blocks begin, where the Plan says so.
//@ param model table
//@ param threads int
//@ for _, t in ipairs(model.tensor) do
//@     if has(t, "prefetch") then

//@ include "blocks/prefetch.cuh" tensor = t, extent = model.extent[t.name], threads = threads
//@     end
//@ end
