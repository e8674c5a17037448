// Are bulk stores and reductions of one thread to one place performed in the order in which it issued them?
// Cases: a store of 16 KB, then one of 16 bytes to its end, in one group; the same in two groups; a store of 16 KB,
// then an addition of 16 bytes to its end; an addition of 16 KB, then a store of 16 bytes to its end. Outcomes: as if
// in order; as if not.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    enum { WORDS = 4096 };
    extern __shared__ __align__(128) u32 held[];
    u32 *const far = (u32 *)(q.memory + blockIdx.x * ROOM);
    if (threadIdx.x)
        return;
    for (u32 i = 0; i < WORDS; i++)
        held[i] = 1, far[i] = 0;
    for (u32 i = 0; i < 4; i++)
        held[WORDS + i] = 2;
    proxy_fence();
    for (u32 round = 0; round < q.rounds; round++) {
        far[WORDS - 1] = 10;
        proxy_fence();
        be_late(dice(round, 64));
        if (q.which == 3)
            bulk_add(far, at(held), WORDS * 4);
        else
            bulk_store(far, at(held), WORDS * 4);
        if (q.which == 1)
            bulk_commit();
        if (q.which == 2)
            bulk_add(far + WORDS - 4, at(held + WORDS), 16);
        else
            bulk_store(far + WORDS - 4, at(held + WORDS), 16);
        bulk_commit();
        bulk_wait();
        outcome(q, ((volatile u32 *)far)[WORDS - 1] == (q.which == 2 ? 3 : 2) ? 0 : 1);
    }
}
