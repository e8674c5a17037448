//@ -- What tiles are multiplied by on data-centre Blackwell: tensor memory, the order of products, each dot. model: the
//@ -- Plan.
//@ param model table
//@ local plan = model
//@ local loaded = {}
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
//@ include "blocks/tensor_memory.cuh" model = plan

//@ include "blocks/tensor_order.cuh" roles = plan.role, groups = plan.memory.groups,
//@     barrier = plan.barrier.group_barrier

//@ if plan.barrier.turn then
//@ include "blocks/turns.cuh" barrier = plan.barrier.turn, consumers = plan.role.consumer.instances

//@ end
//@ include "blocks/tensor_descriptor.cuh"

//@ for _, mma in ipairs(plan.mma) do
//@     -- Where the dot's operand lies: in the ring of the read before the instruction.
//@     local function offset(operand)
//@         local name, ring, steps = operand.tensor, nil, plan.role.consumer.step
//@         for i = 1, #steps do
//@             local op = steps[i].op
//@             if op == "read" and steps[i].tensor == name then ring = steps[i].ring end
//@             if op == "mma" and steps[i].call == mma.name then break end
//@         end
//@         return name and plan.shared[ring .. "." .. name].offset or 0
//@     end
//@ include "blocks/tensor_dot.cuh" mma = mma, tensors = plan.tensor, a_offset = offset(mma.operand[1]),
//@     b_offset = offset(mma.operand[2])

//@ end
