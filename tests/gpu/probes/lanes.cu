// In which order do the lanes of one instruction come to one word?
// Cases: stores of all lanes to one word of shared memory, of global memory; of lanes to some of eight words there; the
// same of 16 bytes each; atomic additions to one word of shared memory, of global memory.
// Outcomes: ascending, so that of a store the highest lane's value stays; descending; another order.
WORD void tally(const ask &q, bool ascending, bool descending)
{
    ascending = __all_sync(0xffffffff, ascending);
    descending = __all_sync(0xffffffff, descending);
    if (threadIdx.x == 0)
        outcome(q, ascending ? 0 : descending ? 1 : 2);
    __syncwarp();
}

extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    __shared__ __align__(16) u32 words[32];
    const u32 lane = threadIdx.x;
    u32 *const far = (u32 *)(q.memory + blockIdx.x * ROOM);
    const bool global = q.which % 2, wide = q.which == 4 || q.which == 5;
    for (u32 round = 0; round < q.rounds; round++) {
        const u32 place = q.which < 2 || q.which > 5 ? 0 : dice(round * 32 + lane, 8);
        const u32 alike = __match_any_sync(0xffffffff, place), step = wide ? 4 : 1;
        u32 *const to = (global ? far : words) + place * step;
        const u32 near = at(words + place * step);
        u32 before = 0;
        if (q.which > 5) {
            if (!lane)
                *to = 0;
            __syncwarp();
            if (global)
                asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(to), "r"(lane + 1) : "memory");
            else
                asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(near), "r"(lane + 1) : "memory");
            tally(q, before == lane * (lane + 1) / 2, before == 528 - (lane + 1) * (lane + 2) / 2);
            continue;
        }
        if (wide && global)
            asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(lane) : "memory");
        else if (wide)
            asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(near), "r"(lane) : "memory");
        else if (global)
            asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(lane) : "memory");
        else
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(near), "r"(lane) : "memory");
        __syncwarp();
        const u32 stays = *(volatile u32 *)to;
        __syncwarp();
        tally(q, stays == 31 - __clz(alike), stays == __ffs(alike) - 1);
    }
}
