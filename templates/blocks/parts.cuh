//@ -- Sums of which each block of a cluster has a part, that of its own turns of a loop: every block gets its columns
//@ -- from the others, and adds them to its own. `stride` ranks lie between two of the blocks. What a thread sends is
//@ -- for the thread of its number there, which has the same elements of the same rows, so that a warp's vectors lie
//@ -- side by side. st.async writes and counts its bytes on the other block's barrier: nobody arrives for it.
//@ param model table
//@ param ring table
//@ param stride int
//@ param full_offset int
//@ param empty_offset int
//@ param offset int
//@ local name, blocks, stages, sum, part, whole = ring.name, ring.peers, ring.stages, nil, nil, 0
//@ local full_phase, empty_phase = 0, 1
//@ for _, step in ipairs(model.role.consumer.step) do
//@     if step.op == "read" and step.ring == name then
//@         part, sum = model.place[step.place], model.place[step.place2]
//@     end
//@     if step.op == "expect" and step.ring == name then whole = step.count end
//@     if step.op == "wait_full" and step.ring == name then full_phase = step.phase end
//@     if step.op == "wait_empty" and step.ring == name then empty_phase = step.phase end
//@ end
//@ local type, heights = ctype(sum.dtype), model.mma[1].blocks_m
//@ local width, vectors = part.cols // 2, part.cols // 8 -- registers of a row of a block, vectors of four of them
//@ local held, others = width * blocks, blocks - 1
//@ local senders = others == 1 and "the other block" or others .. " other blocks"
//@ local one = whole // others                      -- bytes from one block to one instance of another
//@ local line, member, count = "", "", ""
//@ local function site(kind)
//@     return debug_ms() > 0 and ", \"" .. name .. "\", " .. kind .. ", p.stage, p.step, line" or ""
//@ end
//@ local at_full, at_empty, at_end = site(1), site(2), site(3) -- kind of debug_record
//@ if debug_ms() > 0 then
//@     line, member, count = ", int line = __builtin_LINE()", "\nu32 step;  // stages gone past", "\n    ++p.step;"
//@ end
// Ring ${name}: ${ring.tx_bytes} bytes a stage, from ${senders} of the cluster.
struct ${name}_position {
    u32 stage; // below ${stages}
    u32 phase; // flips when the ring wraps${member}
};

//@ op advance ring = name
__device__ __forceinline__ void ${name}_advance(${name}_position &p)
{${count}
    if (++p.stage == ${stages}) {
        p.stage = 0;
        p.phase ^= 1;
    }
}

__device__ __forceinline__ u32 ${name}_full(u32 stage)
{
    return shared_address(${full_offset} + 8 * stage);
}

__device__ __forceinline__ u32 ${name}_empty(u32 stage)
{
    return shared_address(${empty_offset} + 8 * stage);
}

// By one thread, before anybody waits.
__device__ __forceinline__ void ${name}_init()
{
    for (u32 stage = 0; stage < ${stages}; ++stage) {
        barrier_init(${name}_full(stage), ${ring.full_arrivals});
        barrier_init(${name}_empty(stage), ${ring.empty_arrivals});
    }
}

__device__ __forceinline__ u32 cluster_rank()
{
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Every thread: the others have added what this block sent before.
//@ op wait_empty ring = name, phase = empty_phase
__device__ __forceinline__ void ${name}_wait_empty(${name}_position p${line})
{
    barrier_wait(${name}_empty(p.stage), p.phase ^ ${empty_phase}${at_empty});
}

// One thread of an instance: announces what comes for it.
//@ op expect ring = name, count = whole
__device__ __forceinline__ void ${name}_expect(${name}_position p)
{
    if (threadIdx.x % 128 == 0)
        barrier_arrive_expect(${name}_full(p.stage), ${whole});
}

//@ -- A conversion to bits would stand before the wait for the sums: it reads no memory.
//@ local as = type == "int" and "r" or "f"
//@ op part
__device__ __forceinline__ void ${name}_put(u32 to, u32 barrier, ${type} a, ${type} b, ${type} c, ${type} d)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "${as}"(a), "${as}"(b), "${as}"(c), "${as}"(d), "r"(barrier)
                 : "memory");
}

// Where the block that comes so many behind this one has its vectors of this thread: `from` blocks send to it.
__device__ __forceinline__ u32 ${name}_at(u32 stage, u32 consumer, u32 from)
{
    return shared_address(${offset} + stage * ${ring.tx_bytes} + consumer * ${whole} + from * ${one} + threadIdx.x % 128 * 16);
}

__device__ __forceinline__ u32 ${name}_remote(u32 address, u32 rank)
{
    u32 remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
}

// Every thread: to each other block its columns.
//@ op fill ring = name
__device__ __forceinline__ void ${name}_send(${name}_position p, const ${type} (&sum)[${heights}][${held}], u32 consumer)
{
    const u32 rank = cluster_rank(), own = rank / ${stride} % ${blocks};
    #pragma unroll
    for (u32 to = 0; to < ${blocks}; ++to) {
        if (to == own)
            continue;
        const u32 other = rank + to * ${stride} - own * ${stride};
        const u32 barrier = ${name}_remote(${name}_full(p.stage), other);
        const u32 at = ${name}_remote(${name}_at(p.stage, consumer, (own - to - 1) % ${blocks}), other);
        #pragma unroll
        for (int block = 0; block < ${heights}; ++block)
            #pragma unroll
            for (int i = 0; i < ${vectors}; ++i) {
                const int first = to * ${width} + i * 4;
                ${name}_put(at + (block * ${vectors} + i) * 2048, barrier, sum[block][first], sum[block][first + 1],
                            sum[block][first + 2], sum[block][first + 3]);
            }
    }
}

// What the others send has come.
//@ op wait_full ring = name, phase = full_phase
__device__ __forceinline__ void ${name}_wait_full(${name}_position p${line})
{
    barrier_wait(${name}_full(p.stage), p.phase ^ ${full_phase}${at_full});
}

// Every thread: this block's columns, its own sums first, then those of the blocks behind it.
//@ op read ring = name
__device__ __forceinline__ void ${name}_add(${type} (&part)[${heights}][${width}], const ${type} (&sum)[${heights}][${held}], u32 stage, u32 consumer)
{
    const u32 own = cluster_rank() / ${stride} % ${blocks};
    #pragma unroll
    for (u32 to = 0; to < ${blocks}; ++to) {
        if (to != own)
            continue;
        asm volatile(""); // a branch, and not a choice for each register
        #pragma unroll
        for (int block = 0; block < ${heights}; ++block)
            #pragma unroll
            for (int i = 0; i < ${width}; ++i)
                part[block][i] = sum[block][to * ${width} + i];
    }
    #pragma unroll
    for (u32 from = 0; from < ${others}; ++from) {
        const u32 at = ${name}_at(stage, consumer, from);
        #pragma unroll
        for (int block = 0; block < ${heights}; ++block)
            #pragma unroll
            for (int i = 0; i < ${vectors}; ++i) {
                u32 word[4];
                asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                             : "r"(at + (block * ${vectors} + i) * 2048)
                             : "memory");
                #pragma unroll
                for (int k = 0; k < 4; ++k)
//@ if type == "int" then
                    part[block][i * 4 + k] += (int)word[k];
//@ else
                    part[block][i * 4 + k] += __uint_as_float(word[k]);
//@ end
            }
    }
}

// Every thread: what others send next does not overtake what this one has read.
//@ op fence_async
__device__ __forceinline__ void ${name}_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Every warp: it has added what came. Tells the others, and advances.
//@ op release ring = name
__device__ __forceinline__ void ${name}_release(${name}_position &p)
{
    const u32 rank = cluster_rank(), own = rank / ${stride} % ${blocks}, lane = threadIdx.x % 32;
    __syncwarp();
    if (lane < ${blocks} && lane != own)
        barrier_arrive_remote(${name}_empty(p.stage), rank + lane * ${stride} - own * ${stride});
    ${name}_advance(p);
}

// Every thread, at its end: no other block arrives here any more.
//@ op drain ring = name
__device__ __forceinline__ void ${name}_drain(${name}_position p${line})
{
    for (u32 i = 0; i < ${stages}; ++i) {
        barrier_wait(${name}_empty(p.stage), p.phase ^ ${empty_phase}${at_end});
        ${name}_advance(p);
    }
}
