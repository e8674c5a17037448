//@ -- Sums of which several blocks have a part, that of their turns of a loop: each writes its part into the workspace
//@ -- and counts itself there; who is last adds up the parts of all, in their order, and leaves zeros. Each thread
//@ -- reads what those of its number wrote, so that it does not matter which elements they hold. Where blocks have
//@ -- shares of the turns of all tiles, blocks/parts_stream.cuh.
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
//@ for _, role in ipairs(model.role) do
//@     for _, step in ipairs(role.step) do
//@         local place = step.op == "global" and step.call == "parts_put" and step.place or ""
//@         if place ~= "" and not has(name_of, place) then
//@             name_of[place] = true
//@             local p, heights = model.place[place], model.mma[1].blocks_m
//@             local each = p.registers // heights
//@             local type, vectors = ctype(p.dtype), each // 4
//@             local stride, from = threads * 16, step.count

// Every thread: its sums, as vectors that those of its neighbours lie beside.
__device__ __forceinline__ void ${place}_put(const arguments &args, int tile, int part, const ${type} (&sum)[${heights}][${each}])
{
    unsigned char *const at = parts_record(args, tile) + 128 + (u64)part * ${parts.bytes} + ${from} + ${own} * 16;
    #pragma unroll
    for (int block = 0; block < ${heights}; ++block)
        #pragma unroll
        for (int i = 0; i < ${vectors}; ++i)
            *(${type}4 *)(at + (block * ${vectors} + i) * ${stride}) = make_${type}4(
                sum[block][i * 4], sum[block][i * 4 + 1], sum[block][i * 4 + 2], sum[block][i * 4 + 3]);
}

//@             -- So many vectors of a part are read before they are added: a loop over the parts ends there, or the
//@             -- compiler reads all, and has no registers for them.
//@             local all = heights * vectors
//@             local group = all <= 16 and all or 8
//@             while all % group > 0 do group = group // 2 end
//@             local groups = all // group
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
//@         end
//@     end
//@ end
//@ end
