//@ -- wgmma: a warpgroup multiplies tiles in shared memory into accumulators in registers.
//@ param mma table
//@ param a table
//@ param b table
//@ param a_offset int
//@ param b_offset int
//@ param roles table
//@ local a_swizzle, b_swizzle = swizzle(a.swizzle).wgmma, swizzle(b.swizzle).wgmma
//@ local registers = mma.n // 2
//@ local input = mma.input == "bf16" and "bf16" or "f16"
//@ local shape = "m" .. mma.m .. "n" .. mma.n .. "k" .. mma.k
//@ local outputs, bindings = "", ""
//@ for i = 0, registers - 1 do
//@     local last, full, half = i == registers - 1, i % 16 == 15, i % 8 == 7
//@     outputs = outputs .. "%" .. i .. (last and "" or full and ', "\n"' or ", ")
//@     bindings = bindings .. '"+f"(d[' .. i .. "])" .. (last and "" or half and ",\n" or ", ")
//@ end
//@ local a_hole, b_hole, flag_hole = registers, registers + 1, registers + 2
//@ local a_trans, b_trans = mma.operand[1].mn_major and 1 or 0, mma.operand[2].mn_major and 1 or 0

//@ include "blocks/wgmma_descriptor.cuh"

// d = a b + (accumulate ? d : 0) for one ${mma.m} x ${mma.n} block and ${mma.k} steps along k.
//@ op part
__device__ __forceinline__ void ${mma.name}_issue(float (&d)[${registers}], u64 a, u64 b, int accumulate)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %${flag_hole}, 0;\n"
                 "wgmma.mma_async.sync.aligned.${shape}.f32.${input}.${input} {"
                 "${outputs}"
                 "}, %${a_hole}, %${b_hole}, p, 1, 1, ${a_trans}, ${b_trans};\n"
                 "}"
                 : ${bindings}
                 : "l"(a), "l"(b), "r"(accumulate));
}

//@ local blocks, steps = mma.blocks_m, mma.k_steps
//@ local A, B = mma.operand[1], mma.operand[2]
// One stage: ${blocks} x ${steps} instructions for this warpgroup's rows. They run on; see ${mma.name}_commit.
//@ op read tensor = a.name, count = 1
//@ op read tensor = b.name, count = 1
__device__ __forceinline__ void ${mma.name}(float (&d)[${blocks}][${registers}], u32 stage, u32 warpgroup, int accumulate)
{
    u32 a = shared_address(${a_offset} + stage * ${a.tile_bytes}) + warpgroup * ${blocks} * ${A.block_bytes};
    u32 b = shared_address(${b_offset} + stage * ${b.tile_bytes});
    u64 a_tile = matrix_descriptor(a, ${A.leading_bytes}, ${A.stride_bytes}, ${a_swizzle});
    u64 b_tile = matrix_descriptor(b, ${B.leading_bytes}, ${B.stride_bytes}, ${b_swizzle});
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
//@ for k = 0, steps - 1 do
//@     local function at(operand, tensor)
//@         local per_box = operand.mn_major and steps or tensor.box_bytes // tensor.tile[1] // operand.k_bytes
//@         if per_box < 1 then return k * tensor.box_bytes * 2 end
//@         return (k % per_box) * operand.k_bytes + (k // per_box) * tensor.box_bytes
//@     end
//@     local a_at, b_at = at(A, a) // 16, at(B, b) // 16
//@     for block = 0, blocks - 1 do
//@         local a_block = a_at + block * A.block_bytes // 16
//@         local flag = k == 0 and "accumulate" or "1"
    ${mma.name}_issue(d[${block}], a_tile + ${a_block}, b_tile + ${b_at}, ${flag});
//@     end
//@ end
}

// The sum over no elements.
__device__ __forceinline__ void ${mma.name}_clear(float (&d)[${blocks}][${registers}])
{
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (int i = 0; i < ${registers}; ++i)
            d[block][i] = 0.0f;
}

// Closes the group of instructions issued since the last commit.
//@ op mma_commit
__device__ __forceinline__ void ${mma.name}_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
//@ local seen = {}
//@ for _, role in ipairs(roles) do
//@     for _, step in ipairs(role.step) do
//@         if step.op == "mma_wait" and not has(seen, step.call) then
//@             seen[step.call] = true

// At most ${step.count} groups are still running after it.
//@ op mma_wait count = step.count
__device__ __forceinline__ void ${step.call}()
{
    asm volatile("wgmma.wait_group.sync.aligned ${step.count};" ::: "memory");
}
//@         end
//@     end
//@ end
