//@ -- A dot as wgmma: mma_NAME multiplies one stage's tiles, or a computed operand in registers and a stage's tile,
//@ -- into an accumulator in registers.
//@ -- a, b: the operands' tensors; a is nil where the operand is computed. a_offset, b_offset: of stage 0.
//@ -- fresh: it always begins from zero, and the accumulator is an output alone: the compiler would carry along what it
//@ -- held, and where it did so in other registers, copy it into these behind wgmma.fence.
//@ param mma table
//@ param tensors table
//@ param a_offset int
//@ param b_offset int
//@ -- early: stages of the ring of both operands, where these are found before their stage is full; 0: they are not.
//@ param fresh bool
//@ param early int
//@ -- apart: each block of rows, or of columns where there are several, is multiplied by itself, which the caller
//@ -- names. All go into the same registers: as outputs alone each would have its own, and the compiler add one's
//@ -- beside the products of the next.
//@ param apart bool
//@ local A, B = mma.operand[1], mma.operand[2]
//@ local a, b = A.tensor and tensors[A.tensor], tensors[B.tensor]
//@ local name, registers, steps = "mma_" .. mma.name, mma.n // 2, mma.k_steps
//@ local all, blocks = mma.blocks_m, apart and 1 or mma.blocks_m -- of a warpgroup, of one statement
//@ local across = mma.blocks_n > 1 -- blocks are of columns
//@ local inputs = ptx_type(A.dtype) .. "." .. ptx_type(B.dtype)
//@ local whole, sums = mma.accumulator == "int32", ctype(mma.accumulator)
//@ local sum, bound = ptx_type(mma.accumulator), whole and "r" or "f"
//@ local shape = "m" .. mma.m .. "n" .. mma.n .. "k" .. mma.k
//@ -- Holes of the statement: the accumulators, then a's words or its descriptor, b's descriptor, the flag.
//@ local a_hole = blocks * registers
//@ local b_hole = a_hole + (a and 1 or blocks * steps * 4)
//@ local flag_hole = b_hole + 1
//@ -- `count` texts, `each` to a line.
//@ local function lines(count, each, text, between)
//@     local all = {}
//@     for i = 0, count - 1 do
//@         all[i + 1] = text(i) .. (i == count - 1 and "" or i % each == each - 1 and between or ", ")
//@     end
//@     return table.concat(all)
//@ end
//@ local function holes(first, count)
//@     return lines(count, 16, function(i) return "%" .. first + i end, ', " \\\n"')
//@ end
//@ local bindings = lines(blocks * registers, 6, function(i)
//@     return '"' .. (fresh and "=" or "+") .. bound .. '"(d[' .. i // registers .. "][" .. i % registers .. "])"
//@ end, ",\n")
//@ local a_bindings = '"l"(a_tile)'
//@ if not a then
//@     a_bindings = lines(blocks * steps * 4, 6, function(i)
//@         return '"r"(a[' .. i // (steps * 4) .. "][" .. i % (steps * 4) .. "])"
//@     end, ",\n")
//@ end
//@ local function at(k, operand, tensor)
//@     local rows = 1
//@     for i = 1, tensor.rank - 1 do rows = rows * tensor.tile[i] end
//@     local per_box = operand.mn_major and steps or tensor.box_bytes // rows // operand.k_bytes
//@     if per_box < 1 then return k * tensor.box_bytes * 2 end
//@     return (k % per_box) * operand.k_bytes + (k // per_box) * tensor.box_bytes
//@ end
//@ -- Signs of the operands, where they are floats, and of 16-bit ones whether they lie with m or n innermost.
//@ local modifiers = whole and "" or ", 1, 1"
//@ if A.dtype == "bf16" or A.dtype == "fp16" then
//@     modifiers = modifiers .. (a and ", " .. (A.mn_major and 1 or 0) or "") .. ", " .. (B.mn_major and 1 or 0)
//@ end
//@ local first = a and "u32 a_stage" or "const u32 (&a)[" .. blocks .. "][" .. steps * 4 .. "]"
//@ if early > 0 then first = "u32 a" end
//@ local last = (a and early == 0 and ", u32 warpgroup" or "") .. (apart and ", u32 block" or "")
//@ local of = across and "one block of columns, of this warpgroup's rows" or
//@     apart and "one block of this warpgroup's rows" or "this warpgroup's rows"
//@ local second = early > 0 and "b" or "b_stage"

// The registers of d in the statement below, by 64 rows.
//@ for block = 0, blocks - 1 do
//@     local list = holes(block * registers, registers)
#define ${name}_d${block} \
    "{${list}}"
//@ end

//@ if early > 0 then
//@     local a_apart, b_apart = a.tile_bytes // 16, b.tile_bytes // 16
//@     local a_back, b_back = (early - 1) * a_apart, (early - 1) * b_apart
// Operands in the ring's first stage: the low halves of their descriptors.
__device__ __forceinline__ void ${name}_begin(u32 &a, u32 &b, u32 warpgroup)
{
    const u32 first = shared_address(${a_offset}) + warpgroup * ${all} * ${A.block_bytes};
    a = matrix_descriptor_low(first, ${A.leading_bytes});
    b = matrix_descriptor_low(shared_address(${b_offset}), ${B.leading_bytes});
}

// In the stage behind it, which is the first again where the ring wraps. Found in the turn before, and not, where the
// compiler would compute it, between the wait for a stage and the instruction that takes it.
__device__ __forceinline__ void ${name}_advance(u32 &a, u32 &b, bool wraps)
{
    a += wraps ? -${a_back} : ${a_apart};
    b += wraps ? -${b_back} : ${b_apart};
    asm volatile("" : "+r"(a), "+r"(b));
}

//@ end
// d = a b + (accumulate ? d : 0) for ${of}: ${blocks} x ${steps} instructions of ${mma.m} x ${mma.n} x ${mma.k}.
// They run on; see mma_commit. One statement: the compiler looks at every register of d once.
__device__ __forceinline__ void ${name}(${sums} (&d)[${blocks}][${registers}], ${first}, u32 ${second}${last}, int accumulate)
{
//@ if early > 0 then
//@     local a_code, b_code = swizzle(a.swizzle).wgmma, swizzle(b.swizzle).wgmma
//@     local tile = apart and not across and "a + block * " .. A.block_bytes // 16 or "a"
//@     local second_tile = across and "b + block * " .. B.block_bytes // 16 or "b"
    const u64 a_tile = matrix_descriptor_from(${tile}, ${A.stride_bytes}, ${a_code});
    const u64 b_tile = matrix_descriptor_from(${second_tile}, ${B.stride_bytes}, ${b_code});
//@ else
//@ if a then
//@     local code = swizzle(a.swizzle).wgmma
//@     local below = apart and not across and "(warpgroup * " .. all .. " + block)" or "warpgroup * " .. all
    u32 a = shared_address(${a_offset} + a_stage * ${a.tile_bytes}) + ${below} * ${A.block_bytes};
    u64 a_tile = matrix_descriptor(a, ${A.leading_bytes}, ${A.stride_bytes}, ${code});
//@ end
//@ local code = swizzle(b.swizzle).wgmma
//@ local beside = across and " + block * " .. B.block_bytes or ""
    u32 b = shared_address(${b_offset} + b_stage * ${b.tile_bytes})${beside};
    u64 b_tile = matrix_descriptor(b, ${B.leading_bytes}, ${B.stride_bytes}, ${code});
//@ end
    asm volatile("{\n"
                 ".reg .pred sum, all;\n"
                 ".reg .b64 a, b;\n"
                 "setp.ne.b32 sum, %${flag_hole}, 0;\n"
                 "setp.eq.b32 all, 0, 0;\n"
//@ for k = 0, steps - 1 do
//@     local b_at, flag = at(k, B, b) // 16, k == 0 and "sum" or "all"
                 "add.s64 b, %${b_hole}, ${b_at};\n"
//@     for block = 0, blocks - 1 do
//@         local operand = "a"
//@         if a then
//@             local a_at = (at(k, A, a) + block * A.block_bytes) // 16
                 "add.s64 a, %${a_hole}, ${a_at};\n"
//@         else
//@             operand = "{" .. holes(a_hole + (block * steps + k) * 4, 4) .. "}"
//@         end
                 "wgmma.mma_async.sync.aligned.${shape}.${sum}.${inputs} " ${name}_d${block}
                 ", ${operand}, b, ${flag}${modifiers};\n"
//@     end
//@ end
                 "}"
                 : ${bindings}
                 : ${a_bindings}, "l"(b_tile), "r"(accumulate));
}
