//@ -- A dot as mma.sync: mma_NAME multiplies one stage's tiles, or a computed operand in registers and a stage's tile,
//@ -- into an accumulator in registers, each warp its own part. It is done when the function returns.
//@ -- a, b: the operands' tensors; a is nil where the operand lies in registers. a_offset, b_offset: of stage 0.
//@ -- sliced: B's rows are those from b_row on, a multiple of 8, of a tile that has more.
//@ -- by_pairs: of B two blocks at a time are read ahead, else all of the next step's.
//@ --
//@ -- Fragments of one m16n8k16 (PTX ISA, "Matrix fragments for mma.m16n8k16"), lane l = 4 g + t:
//@ --
//@ --     A  a[0], a[2]  row g,      columns 2 t, 2 t + 1  and  2 t + 8, 2 t + 9
//@ --        a[1], a[3]  row g + 8,  the same columns
//@ --     B  b[0], b[1]  column g,   rows 2 t, 2 t + 1     and  2 t + 8, 2 t + 9
//@ --     D  d[0], d[1]  row g,      columns 2 t, 2 t + 1
//@ --        d[2], d[3]  row g + 8,  the same columns
//@ --
//@ -- ldmatrix reads four 8 x 8 matrices: lane l gives the address of row l % 8 of matrix l / 8, and its register j
//@ -- receives row g, columns 2 t and 2 t + 1 of matrix j; with .trans of the transposed matrix. Rows of a K-major tile
//@ -- run along k, of an MN-major tile along m or n.
//@ param mma table
//@ param tensors table
//@ param a_offset int
//@ param b_offset int
//@ param warps_m int
//@ param warps int
//@ param by_pairs bool
//@ param sliced bool
//@ local blocks_m, blocks_n, steps, name = mma.blocks_m, mma.blocks_n, mma.k_steps, "mma_" .. mma.name
//@ local pairs, single = blocks_n // 2, blocks_n % 2 == 1
//@ local inputs = ptx_type(mma.operand[1].dtype) .. "." .. ptx_type(mma.operand[2].dtype)
//@ local whole, sums = mma.accumulator == "int32", ctype(mma.accumulator)
//@ local sum, bound, zero = ptx_type(mma.accumulator), whole and "+r" or "+f", whole and "0" or "0.0f"
//@ local shape = "m" .. mma.m .. "n" .. mma.n .. "k" .. mma.k
//@ local a_across, b_across = mma.operand[1].mn_major, mma.operand[2].mn_major
//@ local a_trans, b_trans = a_across and ".trans" or "", b_across and ".trans" or ""
//@ local a, b = mma.operand[1].tensor and tensors[mma.operand[1].tensor], tensors[mma.operand[2].tensor]
//@ local B = b.name
//@ local rows, columns, registers = blocks_m * mma.m, blocks_n * mma.n, blocks_n * 4
//@ local a_width, b_width, k_width = rows // 8, columns // 8, mma.k * bytes(mma.operand[2].dtype) // 16
//@ local last = blocks_n - 1
//@ if a then

__device__ __forceinline__ void ${name}_read_a(u32 (&r)[4], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4${a_trans}.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
//@ end
//@ if pairs > 0 then

// Two neighbours along n.
__device__ __forceinline__ void ${name}_read_b(u32 (&first)[2], u32 (&second)[2], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4${b_trans}.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(first[0]), "=r"(first[1]), "=r"(second[0]), "=r"(second[1])
                 : "r"(address)
                 : "memory");
}
//@ end
//@ if single then

// The last one along n; lanes 16 to 31 give no address.
__device__ __forceinline__ void ${name}_read_last_b(u32 (&r)[2], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2${b_trans}.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
}
//@ end

// d += a b for one ${mma.m} x ${mma.n} block and ${mma.k} elements along k.
__device__ __forceinline__ void ${name}_issue(${sums} *d, const u32 *a, const u32 (&b)[2])
{
    asm volatile("mma.sync.aligned.${shape}.row.col.${sum}.${inputs}.${sum} "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "${bound}"(d[0]), "${bound}"(d[1]), "${bound}"(d[2]), "${bound}"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

//@ -- A chunk of 16 bytes of a tile: rows that are multiples of 8 apart lie at a distance, and chunks apart by a
//@ -- constant whose bits are none of the lane's are an exclusive or. So a lane's address is computed once a tile, and
//@ -- what differs from read to read is a constant.
//@ local function shape_of(t)
//@     local height = 1
//@     for d = 1, t.rank - 1 do height = height * t.tile[d] end
//@     local span = t.box_bytes // height
//@     return span, span // 16
//@ end
//@ local warps_n = warps // warps_m
//@ local function splits(width, count, chunks)
//@     return count == 1 or width % chunks == 0 or width & (width - 1) == 0
//@ end
//@ -- The address of the matrices `rows` rows and `chunk` chunks on, both CUDA text of constants.
//@ local function on(lane, tensor, rows, chunk)
//@     local span, chunks = shape_of(tensor)
//@     local box, text = tensor.box_bytes, lane
//@     if chunk ~= "0" and chunks > 2 then text = "(" .. lane .. " ^ " .. chunk .. " % " .. chunks .. " * 16)" end
//@     if chunk ~= "0" and tensor.boxes > 1 then text = text .. " + " .. chunk .. " / " .. chunks .. " * " .. box end
//@     return rows == "0" and text or text .. " + " .. rows .. " * " .. span
//@ end
//@ local b_span, b_chunks = shape_of(b)
//@ local b_splits = not b_across or splits(b_width, warps_n, b_chunks)
//@ local a_splits = not a_across
//@ if a and a_across then
//@     local a_span, a_chunks = shape_of(a)
//@     a_splits = splits(a_width, warps_m, a_chunks)
//@ end
//@ if a then
//@     local A = a.name
// This warp's ${rows} rows of step `step` along k.
__device__ __forceinline__ void ${name}_rows(u32 (&r)[${blocks_m}][4], u32 a_tile, u32 warp, u32 step)
{
    #pragma unroll
    for (u32 i = 0; i < ${blocks_m}; ++i) {
//@     if a_across and a_splits then
//@         local at = on("a_tile", a, "step * " .. mma.k, "i * 2")
        ${name}_read_a(r[i], ${at});
//@     elseif a_splits then
//@         local at = on("a_tile", a, "i * " .. mma.m, "step * " .. k_width)
        ${name}_read_a(r[i], ${at});
//@     else
        const u32 lane = threadIdx.x % 32, warp_m = warp % ${warps_m};
        const u32 row = step * ${mma.k} + lane / 16 * 8 + lane % 8, chunk = warp_m * ${a_width} + i * 2 + lane / 8 % 2;
        ${name}_read_a(r[i], a_tile + ${A}_chunk(row, chunk));
//@     end
    }
}

//@ end
//@ if pairs > 0 then
// Two neighbours of this warp's ${columns} columns, the pair j.
__device__ __forceinline__ void ${name}_pair(u32 (&first)[2], u32 (&second)[2], u32 b_tile, u32 warp, u32 step, u32 j)
{
//@     if b_across and b_splits then
//@         local at = on("b_tile", b, "step * " .. mma.k, "j * 2")
    ${name}_read_b(first, second, ${at});
//@     elseif b_splits then
//@         local at = on("b_tile", b, "j * 16", "step * " .. k_width)
    ${name}_read_b(first, second, ${at});
//@     else
    const u32 lane = threadIdx.x % 32, warp_n = warp / ${warps_m};
    const u32 row = step * ${mma.k} + lane % 16, chunk = warp_n * ${b_width} + j * 2 + lane / 16;
    ${name}_read_b(first, second, b_tile + ${B}_chunk(row, chunk));
//@     end
}

//@ end
//@ if not by_pairs then
// What a warp reads of the operands for one step along k.
struct ${name}_fragments {
//@ if a then
    u32 a[${blocks_m}][4], b[${blocks_n}][2];
//@ else
    u32 b[${blocks_n}][2];
//@ end
};

//@ local tiles = a and "u32 a_tile, u32 b_tile" or "u32 b_tile"
// Step `step` along k of the stage.
__device__ __forceinline__ void ${name}_read(${name}_fragments &f, ${tiles}, u32 warp, u32 step)
{
//@     if a then
    ${name}_rows(f.a, a_tile, warp, step);
//@     end
//@     if pairs > 0 then
    #pragma unroll
    for (u32 j = 0; j < ${pairs}; ++j)
        ${name}_pair(f.b[2 * j], f.b[2 * j + 1], b_tile, warp, step, j);
//@     end
//@     if single then
//@         if b_across and b_splits then
//@             local at = on("last", b, "step * " .. mma.k, "(u32)" .. last)
    const u32 lane = threadIdx.x % 32, warp_n = warp / ${warps_m};
    const u32 first = warp_n * ${b_width}, row = lane % 16;
    const u32 last = b_tile - ${B}_chunk(row, first + lane / 16) + ${B}_chunk(row, first);
    ${name}_read_last_b(f.b[${last}], ${at});
//@         elseif b_splits then
//@             local at = on("b_tile - lane / 16 * 8 * " .. b_span, b, "(u32)" .. last .. " * 8", "step * " .. k_width)
    const u32 lane = threadIdx.x % 32;
    ${name}_read_last_b(f.b[${last}], ${at});
//@         else
    const u32 lane = threadIdx.x % 32, warp_n = warp / ${warps_m};
    const u32 row = step * ${mma.k} + lane % 16, chunk = warp_n * ${b_width} + ${last};
    ${name}_read_last_b(f.b[${last}], b_tile + ${B}_chunk(row, chunk));
//@         end
//@     end
}

//@ end
//@ local first = a and "u32 a_stage" or "const u32 (&a)[" .. blocks_m .. "][" .. steps * 4 .. "]"
//@ local given, from = a and "a_tile, b_tile" or "b_tile", a and "f[step % 2].a[i]" or "a[i] + step * 4"
//@ local row_given, row_at = sliced and ", u32 b_row" or "", sliced and " + b_row * " .. b_span or ""
//@ local ahead = by_pairs and "two columns of blocks" or "each"
// d = a b + (accumulate ? d : 0): ${steps} steps along k, ${ahead} read while what was read before is multiplied.
__device__ __forceinline__ void ${name}(${sums} (&d)[${blocks_m}][${registers}], ${first}, u32 b_stage, u32 warp,
                                        bool accumulate${row_given})
{
    [[maybe_unused]] const u32 lane = threadIdx.x % 32;
//@ if a then
    [[maybe_unused]] const u32 warp_m = warp % ${warps_m};
//@     local A, at = a.name, ""
//@     if a_across and a_splits then
//@         at = " + " .. A .. "_chunk(lane / 16 * 8 + lane % 8, warp_m * " .. a_width .. " + lane / 8 % 2)"
//@     elseif a_splits then
//@         at = " + " .. A .. "_chunk(warp_m * " .. rows .. " + lane % 16, lane / 16)"
//@     end
    const u32 a_tile = shared_address(${a_offset} + a_stage * ${a.tile_bytes})${at};
//@ end
    [[maybe_unused]] const u32 warp_n = warp / ${warps_m};
//@ local b_at = ""
//@ if b_across and b_splits then
//@     b_at = " + " .. B .. "_chunk(lane % 16, warp_n * " .. b_width .. " + lane / 16)"
//@ elseif b_splits then
//@     b_at = " + " .. B .. "_chunk(warp_n * " .. columns .. " + lane / 16 * 8 + lane % 8, lane / 8 % 2)"
//@ end
    const u32 b_tile = shared_address(${b_offset} + b_stage * ${b.tile_bytes}${row_at})${b_at};
    if (!accumulate)
        #pragma unroll
        for (u32 i = 0; i < ${blocks_m}; ++i)
            #pragma unroll
            for (u32 j = 0; j < ${registers}; ++j)
                d[i][j] = ${zero};
//@ if by_pairs then
//@     local rows_of = a and "r[step % 2][i]" or "a[i] + step * 4"
//@     if a then
    u32 r[2][${blocks_m}][4];
    ${name}_rows(r[0], a_tile, warp, 0);
//@     end
    u32 b[2][2][2];
    ${name}_pair(b[0][0], b[0][1], b_tile, warp, 0, 0);
    #pragma unroll
    for (u32 x = 0; x < ${steps} * ${pairs}; ++x) {
        const u32 step = x / ${pairs}, j = x % ${pairs};
        if (x + 1 < ${steps} * ${pairs})
            ${name}_pair(b[(x + 1) % 2][0], b[(x + 1) % 2][1], b_tile, warp, (x + 1) / ${pairs}, (x + 1) % ${pairs});
//@     if a then
        if (j == 0 && step + 1 < ${steps})
            ${name}_rows(r[(step + 1) % 2], a_tile, warp, step + 1);
//@     end
        #pragma unroll
        for (u32 i = 0; i < ${blocks_m}; ++i) {
            ${name}_issue(d[i] + j * 8, ${rows_of}, b[x % 2][0]);
            ${name}_issue(d[i] + j * 8 + 4, ${rows_of}, b[x % 2][1]);
        }
    }
//@ else
    ${name}_fragments f[2];
    ${name}_read(f[0], ${given}, warp, 0);
    #pragma unroll
    for (u32 step = 0; step < ${steps}; ++step) {
        if (step + 1 < ${steps})
            ${name}_read(f[(step + 1) % 2], ${given}, warp, step + 1);
        #pragma unroll
        for (u32 i = 0; i < ${blocks_m}; ++i)
            #pragma unroll
            for (u32 j = 0; j < ${blocks_n}; ++j)
                ${name}_issue(d[i] + j * 4, ${from}, f[step % 2].b[j]);
    }
//@ end
}
