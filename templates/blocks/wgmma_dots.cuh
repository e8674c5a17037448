//@ -- What tiles are multiplied by on Hopper: operands that stay in registers, the order of matrix instructions, each
//@ -- dot. model: the Plan.
//@ param model table
//@ local plan, loaded = model, {}
//@ for _, step in ipairs(plan.role.consumer.step) do
//@     local held = step.op == "read" and has(step, "place") and has(step, "tensor") and plan.place[step.place]
//@     if held and held.kind == "operand" and step.call and not loaded[step.call] then
//@         local name = step.tensor
//@         loaded[step.call] = true
//@ include "blocks/operand_load.cuh" name = step.call:sub(1, -9), tensor = plan.tensor[name],
//@     offset = plan.shared[step.ring .. "." .. name].offset, blocks = plan.mma[1].blocks_m,
//@     words = held.registers // plan.mma[1].blocks_m, block_rows = 64, dtype = held.dtype,
//@     half = has(plan, "half") and plan.half[step.place] or -1,
//@     less = has(plan, "less") and plan.less[step.place] or 0

//@     end
//@ end
//@ include "blocks/wgmma_descriptor.cuh" early = has(plan, "early")

//@ local held, steps = false, plan.role.consumer.step
//@ for _, place in ipairs(plan.place) do
//@     held = held or place.kind == "operand" and (place.dtype == "fp8_e4m3" or place.dtype == "fp8_e5m2")
//@ end
//@ local folds = false
//@ for i = 2, #steps do
//@     folds = folds or steps[i].op == "mma_wait" and steps[i - 1].op == "touch" and steps[i - 1].call == "fold"
//@ end
//@ include "blocks/wgmma_order.cuh" roles = plan.role, held = held and folds

//@ if plan.barrier.turn then
//@ include "blocks/turns.cuh" barrier = plan.barrier.turn, consumers = plan.role.consumer.instances

//@ end
//@ for _, mma in ipairs(plan.mma) do
//@     -- Where the dot's operand lies: in the ring of the read before the instruction.
//@     local function ring_of(operand)
//@         local name, ring, steps = operand.tensor, nil, plan.role.consumer.step
//@         for i = 1, #steps do
//@             local op = steps[i].op
//@             if op == "read" and steps[i].tensor == name then ring = steps[i].ring end
//@             if op == "mma" and steps[i].call == mma.name then break end
//@         end
//@         return ring
//@     end
//@     local function offset(operand)
//@         local name, ring = operand.tensor, ring_of(operand)
//@         return name and plan.shared[ring .. "." .. name].offset or 0
//@     end
//@     local fresh, apart = true, false
//@     for _, step in ipairs(plan.role.consumer.step) do
//@         if step.op == "mma" and step.call == mma.name then
//@             fresh, apart = fresh and has(step, "least") and step.least == 2, apart or has(step, "block")
//@         end
//@     end
//@     local early = has(plan, "early") and has(plan.early, mma.name) and 1 or 0
//@     if early > 0 then early = plan.ring[ring_of(mma.operand[2])].stages end
//@ include "blocks/wgmma_dot.cuh" mma = mma, tensors = plan.tensor, a_offset = offset(mma.operand[1]),
//@     b_offset = offset(mma.operand[2]), fresh = fresh and not apart, early = early, apart = apart

//@ end
