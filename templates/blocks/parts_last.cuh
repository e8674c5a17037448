//@ -- Sums of which several blocks have a part, that of their turns of a loop: each writes its part into the workspace
//@ -- and counts itself there; who is last adds up the parts of all, in their order, and leaves zeros. Each thread
//@ -- reads what those of its number wrote, so that it does not matter which elements they hold. Parts that a combine
//@ -- puts together come one by one. Where blocks have shares of the turns of all tiles, blocks/parts_stream.cuh.
//@ -- threads: those that hold sums, from number `first` of the block on. barrier: hardware's, of them all.
//@ param model table
//@ param threads int
//@ param first int
//@ param barrier int
//@ local parts, own = model.parts, first > 0 and "(threadIdx.x - " .. first .. ")" or "threadIdx.x"
//@ local name_of = {} -- sums by their text, each once
//@ if has(parts, "stream") then
//@ include "blocks/parts_stream.cuh" model = model, threads = threads, first = first, barrier = barrier
//@ else
// The record of a tile: its counter in the first 128 bytes, then the parts of ${parts.blocks} blocks, ${parts.bytes} bytes each.
__device__ __forceinline__ unsigned char *parts_record(const arguments &args, int tile)
{
    return (unsigned char *)args.workspace + 128 + (u64)tile * ${parts.record};
}

// Whether this block is the last of the tile's to write its part: one thread knows, and what all of its block wrote is
// seen by who counts behind it.
__device__ __forceinline__ bool parts_count(const arguments &args, int tile)
{
    u32 before = 0;
    if (${own} == 0) {
        unsigned char *const record = parts_record(args, tile);
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(record) : "memory");
        if (before + 1 == ${parts.blocks})
            *(u32 *)record = 0;
    }
    return before + 1 == ${parts.blocks};
}

//@ include "blocks/parts_meeting.cuh" threads = threads, barrier = barrier
//@ local words = { parts_put = "_put", parts_take = "_take", parts_first = "_get", parts_next = "_get" }
//@ for _, role in ipairs(model.role) do
//@     for _, step in ipairs(role.step) do
//@         local place = step.op == "global" and has(words, step.call) and step.place or ""
//@         local name = place ~= "" and place .. words[step.call] or ""
//@         if name ~= "" and not has(name_of, name) then
//@             name_of[name] = true
//@             local p, heights = model.place[place], model.mma[1].blocks_m
//@             local each = p.registers // heights
//@             -- A thread's two rows of a column, or two columns of both.
//@             local type, wide = ctype(p.dtype), p.kind == "rows" and 2 or 4
//@             local vector, bytes, vectors = type .. wide, wide * 4, each // wide
//@             local stride, from = threads * bytes, step.count
//@             local gated, zeros = has(step, "inside"), wide == 2 and "0, 0" or "0, 0, 0, 0"
//@             local rows = gated and ", const bool (&rows)[" .. heights .. "]" or ""
//@             if step.call == "parts_put" then
//@                 local held = {}
//@                 for k = 0, wide - 1 do held[#held + 1] = "sum[block][i * " .. wide .. " + " .. k .. "]" end
//@                 local list = csv(held)

// Every thread: its sums, as vectors that those of its neighbours lie beside.
//@                 if gated then
// rows: of which blocks of rows it has any that there are.
//@                 end
__device__ __forceinline__ void ${place}_put(const arguments &args, int tile, int part${rows}, const ${type} (&sum)[${heights}][${each}])
{
    unsigned char *const at = parts_record(args, tile) + 128 + (u64)part * ${parts.bytes} + ${from} + ${own} * ${bytes};
    #pragma unroll
    for (int block = 0; block < ${heights}; ++block)
//@                 if gated then
        if (rows[block])
//@                     deeper()
//@                 end
        #pragma unroll
        for (int i = 0; i < ${vectors}; ++i)
            *(${vector} *)(at + (block * ${vectors} + i) * ${stride}) = make_${vector}(
                ${list});
//@                 if gated then
//@                     shallower()
//@                 end
}

//@             elseif step.call == "parts_take" then
//@                 -- So many vectors of a part are read before they are added: a loop over the parts ends there, or
//@                 -- the compiler reads all, and has no registers for them.
//@                 local all = heights * vectors
//@                 local group = all <= 16 and all or 8
//@                 while all % group > 0 do group = group // 2 end
//@                 local groups = all // group
// Every thread of the last block: the sums of all, the first block's first.
__device__ __forceinline__ void ${place}_take(const arguments &args, int tile, ${type} (&sum)[${heights}][${each}])
{
    unsigned char *const first = parts_record(args, tile) + 128 + ${from} + ${own} * 16;
    #pragma unroll
    for (int group = 0; group < ${groups}; ++group) {
        unsigned char *at = first + group * ${group} * ${stride};
        #pragma unroll 1
        for (int part = 0; part < ${parts.blocks}; ++part, at += ${parts.bytes}) {
            #pragma unroll
            for (int i = 0; i < ${group}; ++i) {
                ${type}4 *const vector = (${type}4 *)(at + i * ${stride});
                const ${type}4 v = *vector;
                *vector = make_${type}4(0, 0, 0, 0);
                ${type} *const to = &sum[(group * ${group} + i) / ${vectors}][(group * ${group} + i) % ${vectors} * 4];
                to[0] = part ? to[0] + v.x : v.x;
                to[1] = part ? to[1] + v.y : v.y;
                to[2] = part ? to[2] + v.z : v.z;
                to[3] = part ? to[3] + v.w : v.w;
            }
        }
    }
}
//@             else

// Every thread of the last block: what a part's threads of its number wrote; zeros stay behind.
__device__ __forceinline__ void ${place}_get(const arguments &args, int tile, int part${rows}, ${type} (&sum)[${heights}][${each}])
{
    unsigned char *const at = parts_record(args, tile) + 128 + (u64)part * ${parts.bytes} + ${from} + ${own} * ${bytes};
    #pragma unroll
    for (int block = 0; block < ${heights}; ++block) {
//@                     if gated then
        if (!rows[block]) {
            #pragma unroll
            for (int i = 0; i < ${each}; ++i)
                sum[block][i] = 0;
            continue;
        }
//@                     end
        #pragma unroll
        for (int i = 0; i < ${vectors}; ++i) {
            ${vector} *const vector = (${vector} *)(at + (block * ${vectors} + i) * ${stride});
            const ${vector} v = *vector;
            *vector = make_${vector}(${zeros});
//@                     for k, word in ipairs { "x", "y", "z", "w" } do
//@                         if k <= wide then
//@                             local number = k - 1
            sum[block][i * ${wide} + ${number}] = v.${word};
//@                         end
//@                     end
        }
    }
}
//@             end
//@         end
//@     end
//@ end
//@ end
