//@ -- A dot as wgmma: mma_NAME multiplies one stage's tiles, or a computed operand in registers and a stage's tile, into
//@ -- an accumulator in registers.
//@ -- a, b: the operands' tensors; a is nil where the operand is computed. a_offset, b_offset: of stage 0.
//@ -- fresh: it always begins from zero. What the accumulator held is then taken from it before: the compiler would carry
//@ -- that along, and where it did so in other registers, copy it into these behind wgmma.fence.
//@ param mma table
//@ param tensors table
//@ param a_offset int
//@ param b_offset int
//@ param fresh bool
//@ local A, B = mma.operand[1], mma.operand[2]
//@ local a, b = A.tensor and tensors[A.tensor], tensors[B.tensor]
//@ local name, registers, blocks, steps = "mma_" .. mma.name, mma.n // 2, mma.blocks_m, mma.k_steps
//@ local input = mma.input == "bf16" and "bf16" or "f16"
//@ local shape = "m" .. mma.m .. "n" .. mma.n .. "k" .. mma.k
//@ local outputs, bindings = "", ""
//@ for i = 0, registers - 1 do
//@     local last, full, half = i == registers - 1, i % 16 == 15, i % 8 == 7
//@     outputs = outputs .. "%" .. i .. (last and "" or full and ', "\n"' or ", ")
//@     bindings = bindings .. '"+f"(d[' .. i .. "])" .. (last and "" or half and ",\n" or ", ")
//@ end
//@ local hole = registers
//@ local a_type, a_text, a_binding, modifiers = "u64 a", "%" .. hole, '"l"(a)', ""
//@ if not a then
//@     a_type = "const u32 *a"
//@     a_text = "{%" .. hole .. ", %" .. hole + 1 .. ", %" .. hole + 2 .. ", %" .. hole + 3 .. "}"
//@     a_binding = '"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])'
//@     hole = hole + 3
//@ else
//@     modifiers = ", " .. (A.mn_major and 1 or 0)
//@ end
//@ modifiers = modifiers .. ", " .. (B.mn_major and 1 or 0)
//@ local b_hole, flag_hole = hole + 1, hole + 2

// d = a b + (accumulate ? d : 0) for one ${mma.m} x ${mma.n} block and ${mma.k} steps along k.
__device__ __forceinline__ void ${name}_issue(float (&d)[${registers}], ${a_type}, u64 b, int accumulate)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %${flag_hole}, 0;\n"
                 "wgmma.mma_async.sync.aligned.${shape}.f32.${input}.${input} {"
                 "${outputs}"
                 "}, ${a_text}, %${b_hole}, p, 1, 1${modifiers};\n"
                 "}"
                 : ${bindings}
                 : ${a_binding}, "l"(b), "r"(accumulate));
}

//@ local function at(k, operand, tensor)
//@     local rows = 1
//@     for i = 1, tensor.rank - 1 do rows = rows * tensor.tile[i] end
//@     local per_box = operand.mn_major and steps or tensor.box_bytes // rows // operand.k_bytes
//@     if per_box < 1 then return k * tensor.box_bytes * 2 end
//@     return (k % per_box) * operand.k_bytes + (k // per_box) * tensor.box_bytes
//@ end
//@ local first = a and "u32 a_stage" or "const u32 (&a)[" .. blocks .. "][" .. steps * 4 .. "]"
//@ local last = a and ", u32 warpgroup" or ""
// ${blocks} x ${steps} instructions for this warpgroup's rows. They run on; see mma_commit.
__device__ __forceinline__ void ${name}(float (&d)[${blocks}][${registers}], ${first}, u32 b_stage${last}, int accumulate)
{
//@ if fresh then
    #pragma unroll
    for (int block = 0; block < ${blocks}; ++block)
        #pragma unroll
        for (int i = 0; i < ${registers}; ++i)
            asm volatile("" : "=f"(d[block][i]));
//@ end
//@ if a then
//@     local code = swizzle(a.swizzle).wgmma
    u32 a = shared_address(${a_offset} + a_stage * ${a.tile_bytes}) + warpgroup * ${blocks} * ${A.block_bytes};
    u64 a_tile = matrix_descriptor(a, ${A.leading_bytes}, ${A.stride_bytes}, ${code});
//@ end
//@ local code = swizzle(b.swizzle).wgmma
    u32 b = shared_address(${b_offset} + b_stage * ${b.tile_bytes});
    u64 b_tile = matrix_descriptor(b, ${B.leading_bytes}, ${B.stride_bytes}, ${code});
//@ for k = 0, steps - 1 do
//@     local b_at, flag = at(k, B, b) // 16, k == 0 and "accumulate" or "1"
//@     for block = 0, blocks - 1 do
//@         if a then
//@             local a_block = (at(k, A, a) + block * A.block_bytes) // 16
    ${name}_issue(d[${block}], a_tile + ${a_block}, b_tile + ${b_at}, ${flag});
//@         else
//@             local word = k * 4
    ${name}_issue(d[${block}], a[${block}] + ${word}, b_tile + ${b_at}, ${flag});
//@         end
//@     end
//@ end
}
