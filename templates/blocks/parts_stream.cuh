//@ -- Sums of items whose turns stand in one line that blocks share (blocks/items.cuh): of an item that is cut each
//@ -- block has a part. Who comes last adds up the parts of all, in the order of the blocks, so that results do not
//@ -- depend on who that is, and leaves zeros. Who finds all others there does not write its own part, which it has in
//@ -- registers. Each thread reads what those of its number wrote, so that it does not matter which elements they hold.
//@ -- threads: those that hold sums, from number `first` of the block on. barrier: hardware's, of them all.
//@ param model table
//@ param threads int
//@ param first int
//@ param barrier int
//@ local parts, own = model.parts, first > 0 and "(threadIdx.x - " .. first .. ")" or "threadIdx.x"
//@ local name_of = {} -- sums by their text, each once
//@ local blocks = model.launch.cluster[1]
//@ local clustered = blocks > 1
//@ local takers = clustered and "clusters" or "blocks"
// Records of 128 bytes, in which there is a counter, and one part of ${parts.bytes} bytes: each block has two parts at most,
// and there are at most twice as many items in the line as blocks share it.
__device__ __forceinline__ unsigned char *parts_record(const arguments &args, u32 record)
{
    return (unsigned char *)args.workspace + 128 + (u64)record * ${parts.record};
}

// Who has turns of the item whose turns from number `from` on, so many, are this block's.
struct item_parts {
    u32 item, first, last, own; // of the line; the ${takers} that have a part, and this one
};

__device__ __forceinline__ item_parts parts_of(const arguments &args, int from, int count)
{
    const turn_line line = line_of(args);
//@ if clustered then
    const u32 own = blockIdx.x / ${blocks};
//@ else
    const u32 own = blockIdx.x;
//@ end
    // Behind its first turn an item goes on where the share begins; else the share ends within it.
    const u32 turn = from > 0 ? line_begin(line, own) : line_begin(line, own + 1) - 1;
    const u32 item = turn / line.turns;
    item_parts parts = {item, line_taker(line, item * line.turns), line_taker(line, (item + 1) * line.turns - 1), own};
    return parts;
}

__device__ __forceinline__ u32 *parts_counter(const arguments &args, const item_parts &parts)
{
//@ if clustered then
    return (u32 *)parts_record(args, parts.item * ${blocks} + blockIdx.x % ${blocks});
//@ else
    return (u32 *)parts_record(args, parts.item);
//@ end
}

// Where one of them has its part: of the item's first turns beside that of the turns that its share begins with.
__device__ __forceinline__ unsigned char *parts_at(const arguments &args, const item_parts &parts, u32 taker)
{
//@ if clustered then
    const u32 block = taker * ${blocks} + blockIdx.x % ${blocks};
    return parts_record(args, block * 2 + (taker == parts.first)) + 128 + ${own} * 16;
//@ else
    return parts_record(args, taker * 2 + (taker == parts.first)) + 128 + ${own} * 16;
//@ end
}

// Whether all others have counted themselves: one thread knows.
__device__ __forceinline__ bool parts_seen(const arguments &args, const item_parts &parts)
{
    bool last = false;
    if (${own} == 0) {
        u32 *const counter = parts_counter(args, parts);
        u32 before;
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(before) : "l"(counter) : "memory");
        last = before == parts.last - parts.first;
        if (last)
            *counter = 0;
    }
    return last;
}

// Whether this block is the last to write its part: one thread knows, and what all of its block wrote is seen by who
// counts behind it.
__device__ __forceinline__ bool parts_count(const arguments &args, const item_parts &parts)
{
    bool last = false;
    if (${own} == 0) {
        u32 *const counter = parts_counter(args, parts);
        u32 before;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
        last = before == parts.last - parts.first;
        if (last)
            *counter = 0;
    }
    return last;
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
__device__ __forceinline__ void ${place}_put(const arguments &args, const item_parts &parts, const ${type} (&sum)[${heights}][${each}])
{
    unsigned char *const at = parts_at(args, parts, parts.own) + ${from};
    #pragma unroll
    for (int block = 0; block < ${heights}; ++block)
        #pragma unroll
        for (int i = 0; i < ${vectors}; ++i)
            *(${type}4 *)(at + (block * ${vectors} + i) * ${stride}) = make_${type}4(
                sum[block][i * 4], sum[block][i * 4 + 1], sum[block][i * 4 + 2], sum[block][i * 4 + 3]);
}

// Every thread: zeros in their place.
__device__ __forceinline__ void ${place}_clear(const arguments &args, const item_parts &parts)
{
    unsigned char *const at = parts_at(args, parts, parts.own) + ${from};
    #pragma unroll
    for (int i = 0; i < ${heights} * ${vectors}; ++i)
        *(${type}4 *)(at + i * ${stride}) = make_${type}4(0, 0, 0, 0);
}

//@             -- So many vectors of a part are read before they are added: registers for more there are not, two
//@             -- groups beside all sums and some 40 of addresses.
//@             local all, held = heights * vectors, 40
//@             for _, q in ipairs(model.place) do held = held + q.registers end
//@             local group, most = 8, model.role.consumer.registers
//@             while group > 1 and (all % group > 0 or held + group * 8 > most) do group = group // 2 end
//@             local groups = all // group
// Some vectors of a part, which leave zeros.
__device__ __forceinline__ void ${place}_read(unsigned char *at, ${type}4 (&part)[${group}])
{
    #pragma unroll
    for (int i = 0; i < ${group}; ++i) {
        ${type}4 *const vector = (${type}4 *)(at + i * ${stride});
        part[i] = *vector;
        *vector = make_${type}4(0, 0, 0, 0);
    }
}

// Every thread of the last block: what those before it found, its own, and what those behind it found.
__device__ __forceinline__ void ${place}_take(const arguments &args, const item_parts &parts, ${type} (&sum)[${heights}][${each}])
{
    #pragma unroll
    for (int group = 0; group < ${groups}; ++group) {
        const u32 offset = ${from} + group * ${group} * ${stride};
        ${type}4 part[${group}];
        if (parts.first < parts.own) {
            ${type}4 before[${group}];
            ${place}_read(parts_at(args, parts, parts.first) + offset, before);
            #pragma unroll 1
            for (u32 taker = parts.first + 1; taker < parts.own; ++taker) {
                ${place}_read(parts_at(args, parts, taker) + offset, part);
                #pragma unroll
                for (int i = 0; i < ${group}; ++i)
                    before[i] = make_${type}4(before[i].x + part[i].x, before[i].y + part[i].y,
                                            before[i].z + part[i].z, before[i].w + part[i].w);
            }
            #pragma unroll
            for (int i = 0; i < ${group}; ++i) {
                ${type} *const to = &sum[(group * ${group} + i) / ${vectors}][(group * ${group} + i) % ${vectors} * 4];
                to[0] = before[i].x + to[0];
                to[1] = before[i].y + to[1];
                to[2] = before[i].z + to[2];
                to[3] = before[i].w + to[3];
            }
        }
        #pragma unroll 1
        for (u32 taker = parts.own + 1; taker <= parts.last; ++taker) {
            ${place}_read(parts_at(args, parts, taker) + offset, part);
            #pragma unroll
            for (int i = 0; i < ${group}; ++i) {
                ${type} *const to = &sum[(group * ${group} + i) / ${vectors}][(group * ${group} + i) % ${vectors} * 4];
                to[0] += part[i].x;
                to[1] += part[i].y;
                to[2] += part[i].z;
                to[3] += part[i].w;
            }
        }
    }
}
//@         end
//@     end
//@ end
