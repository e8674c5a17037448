//@ -- Results on their way through shared memory, and what of their arithmetic comes into the same buffers. model: the
//@ -- Plan.
//@ param model table
//@ local staged, source, outputs = nil, nil, {}
//@ for _, r in ipairs(model.ring) do
//@     if r.filler == "threads" then staged = r elseif r.filler == "own" then source = r end
//@ end
//@ for _, name in ipairs(staged and staged.tensor or {}) do outputs[#outputs + 1] = model.tensor[name] end
//@ if staged then
//@ include "blocks/store_tile.cuh" ring = staged, outputs = outputs, roles = model.role,
//@     barrier = model.barrier.d_barrier, offset = model.shared[staged.name].offset,
//@     ring_bytes = model.shared[staged.name].bytes, turned = model.turned,
//@     limited = has(model, "limited") and model.limited or {},
//@     wide = has(model, "memory") and model.memory.wide == 1
//@ end
//@ if source then
//@ include "blocks/tile_source.cuh" ring = source, into = staged.name, tensor = model.tensor[source.tensor[1]],
//@     output = staged.tensor[1], full_offset = model.shared[source.full_shared].offset,
//@     consumers = model.role.consumer.instances
//@ end
