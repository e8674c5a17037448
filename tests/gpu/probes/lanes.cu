// In which order do the lanes of one instruction come to one word?
// Cases: a store to shared memory; to global memory; an atomic addition in shared memory; in global memory.
// Outcomes: ascending, so that of a store the highest lane's value stays; descending; another order.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    __shared__ u32 word;
    const u32 lane = threadIdx.x;
    u32 *const far = (u32 *)(q.memory + blockIdx.x * ROOM);
    for (u32 round = 0; round < q.rounds; round++) {
        u32 *const to = q.which % 2 ? far : &word;
        if (q.which == 0)
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(at(&word)), "r"(lane) : "memory");
        else if (q.which == 1)
            asm volatile("st.global.u32 [%0], %1;" ::"l"(far), "r"(lane) : "memory");
        if (q.which < 2) {
            __syncwarp();
            const u32 stays = *(volatile u32 *)to;
            if (!lane)
                outcome(q, stays == 31 ? 0 : stays == 0 ? 1 : 2);
            __syncwarp();
            continue;
        }
        u32 before;
        if (!lane)
            *to = 0;
        __syncwarp();
        if (q.which == 2)
            asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(at(&word)), "r"(lane + 1) : "memory");
        else
            asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(far), "r"(lane + 1) : "memory");
        const u32 up = lane * (lane + 1) / 2, down = 528 - (lane + 1) * (lane + 2) / 2;
        const bool ascending = __all_sync(0xffffffff, before == up),
                   descending = __all_sync(0xffffffff, before == down);
        if (!lane)
            outcome(q, ascending ? 0 : descending ? 1 : 2);
        __syncwarp();
    }
}
