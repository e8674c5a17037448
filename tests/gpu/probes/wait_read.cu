// Does the thread see in global memory what its bulk store writes, behind which wait?
// Cases: cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0.
// Outcomes: the last word is new; it is the one before.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    enum { WORDS = 4096 };
    extern __shared__ __align__(128) u32 held[];
    u32 *const far = (u32 *)(q.memory + blockIdx.x * ROOM);
    if (threadIdx.x)
        return;
    for (u32 i = 0; i < WORDS; i++)
        held[i] = 0, far[i] = 0;
    for (u32 round = 1; round <= q.rounds; round++) {
        held[WORDS - 1] = round;
        proxy_fence();
        bulk_store(far, at(held), WORDS * 4);
        bulk_commit();
        if (q.which == 0)
            bulk_wait_read();
        else
            bulk_wait();
        outcome(q, ((volatile u32 *)far)[WORDS - 1] == round ? 0 : 1);
        bulk_wait();
    }
}
