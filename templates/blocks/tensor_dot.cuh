//@ -- A dot as tcgen05: mma_NAME multiplies one stage's tiles, or a computed operand in tensor memory and a stage's
//@ -- tile, into columns of tensor memory.
//@ -- a, b: the operands' tensors; a is nil where the operand is computed.
//@ -- a_offset, b_offset: of stage 0.
//@ --
//@ -- Instruction descriptor (PTX ISA, tcgen05 instruction descriptor), 32 bits:
//@ --
//@ --   31..29 | 28..24 | 23 | 22..17 | 16      15     | 14 13  | 12..10 | 9..7 | 6 | 5 4  | 3..0
//@ --     0    |  M/16  | 0  |  N/8   | B, A MN-major  | signs  |   B    |  A   | 0 |  D   |  0
//@ --
//@ -- D: 1 fp32, 2 int32. A, B: kind::f16 0 fp16, 1 bf16; tf32 2; f8f6f4 0 e4m3, 1 e5m2; i8 0 unsigned, 1 signed.
//@ param mma table
//@ param tensors table
//@ param a_offset int
//@ param b_offset int
//@ local A, B = mma.operand[1], mma.operand[2]
//@ local a, b = A.tensor and tensors[A.tensor], tensors[B.tensor]
//@ local name, blocks, steps = "mma_" .. mma.name, mma.blocks_m, mma.k_steps
//@ local kinds = { bf16 = "f16", fp16 = "f16", tf32 = "tf32", fp8_e4m3 = "f8f6f4", fp8_e5m2 = "f8f6f4", int8 = "i8",
//@     uint8 = "i8" }
//@ local formats = { bf16 = 1, fp16 = 0, tf32 = 2, fp8_e4m3 = 0, fp8_e5m2 = 1, int8 = 1, uint8 = 0 }
//@ local kind = kinds[A.dtype]
//@ local sums = mma.accumulator == "int32" and 2 or 1
//@ local descriptor = sums << 4 | formats[A.dtype] << 7 | formats[B.dtype] << 10 | (A.mn_major and 1 or 0) << 15
//@     | (B.mn_major and 1 or 0) << 16 | mma.n // 8 << 17 | mma.m // 16 << 24
//@ local first = a and "u32 a_stage" or "u32 a"
//@ local word, signed, operand, bound = "b64", "s64", "a", '"l"(a_tile)'
//@ if not a then word, signed, operand, bound = "b32", "s32", "[a]", '"r"(a)' end
//@ local last = a and ", u32 warpgroup" or ""
//@ local function at(k, operand, tensor)
//@     local rows = 1
//@     for i = 1, tensor.rank - 1 do rows = rows * tensor.tile[i] end
//@     local per_box = operand.mn_major and steps or tensor.box_bytes // rows // operand.k_bytes
//@     if per_box < 1 then return k * tensor.box_bytes * 2 end
//@     return (k % per_box) * operand.k_bytes + (k // per_box) * tensor.box_bytes
//@ end

// d = a b + (accumulate ? d : 0) for this warpgroup's rows: ${blocks} x ${steps} instructions of ${mma.m} x ${mma.n} x ${mma.k},
// which one thread issues. They run on; see mma_commit.
__device__ __forceinline__ void ${name}(u32 columns, ${first}, u32 b_stage${last}, int accumulate)
{
    if (threadIdx.x % 128 < 32 && elect_one()) {
//@ if a then
//@     local code = swizzle(a.swizzle).wgmma
        u32 a = shared_address(${a_offset} + a_stage * ${a.tile_bytes}) + warpgroup * ${blocks} * ${A.block_bytes};
        u64 a_tile = matrix_descriptor(a, ${A.leading_bytes}, ${A.stride_bytes}, ${code});
//@ end
//@ local code = swizzle(b.swizzle).wgmma
        u32 b = shared_address(${b_offset} + b_stage * ${b.tile_bytes});
        u64 b_tile = matrix_descriptor(b, ${B.leading_bytes}, ${B.stride_bytes}, ${code});
        asm volatile("{\n"
                     ".reg .pred sum, all;\n"
                     ".reg .b64 b;\n"
                     ".reg .${word} a;\n"
                     ".reg .b32 d;\n"
                     "setp.ne.b32 sum, %3, 0;\n"
                     "setp.eq.b32 all, 0, 0;\n"
//@ for k = 0, steps - 1 do
//@     local b_at, flag = at(k, B, b) // 16, k == 0 and "sum" or "all"
                     "add.s64 b, %2, ${b_at};\n"
//@     for block = 0, blocks - 1 do
//@         local a_at, column = (block * steps + k) * 8, block * mma.n -- 32 bytes are 8 columns
//@         if a then a_at = (at(k, A, a) + block * A.block_bytes) // 16 end
                     "add.${signed} a, %1, ${a_at};\n"
                     "add.s32 d, %0, ${column};\n"
                     "tcgen05.mma.cta_group::1.kind::${kind} [d], ${operand}, b, ${descriptor}, ${flag};\n"
//@     end
//@ end
                     "}" ::"r"(columns),
                     ${bound}, "l"(b_tile), "r"(accumulate)
                     : "memory");
    }
}
