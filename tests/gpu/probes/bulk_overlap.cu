// What does a bulk copy leave whose source and destination overlap, which only those of one block can, and what do two
// loads to one place?
// Cases: the destination 16 bytes behind the source; 16 bytes before it; two loads to one place at once.
// Outcomes: what lay in the source before (of two loads: the second's bytes); anything else (the first's); some of
// each.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    enum { BYTES = 16384, WORDS = BYTES / 4 };
    extern __shared__ __align__(128) u32 held[];
    __shared__ u64 barrier;
    const u32 bar = at(&barrier), lane = threadIdx.x, from = q.which == 1 ? 4 : 0, to = q.which == 0 ? 4 : 0;
    u32 *const far = (u32 *)(q.memory + blockIdx.x * ROOM);
    if (q.which == 2) {
        for (u32 i = lane; i < 2 * WORDS; i += 32)
            far[i] = i / WORDS * 0x10000 + i % WORDS;
        proxy_fence();
    }
    for (u32 round = 0; round < q.rounds; round++) {
        for (u32 i = lane; i < WORDS + 4; i += 32)
            held[i] = i;
        if (!lane)
            bar_init(bar, 1);
        proxy_fence();
        __syncwarp();
        if (!lane) {
            bar_arrive_expect(bar, q.which == 2 ? 2 * BYTES : BYTES);
            if (q.which == 2) {
                bulk_load(at(held), far, BYTES, bar);
                bulk_load(at(held), far + WORDS, BYTES, bar);
            } else {
                bulk_move(at(held + to), at(held + from), BYTES, bar);
            }
        }
        __syncwarp();
        const bool came = bar_comes(q, bar, 0);
        u32 right = 0;
        for (u32 i = lane; i < WORDS; i += 32)
            right += q.which == 2 ? held[i] == 0x10000 + i : held[to + i] == from + i;
        right = __reduce_add_sync(0xffffffff, right);
        if (!lane) {
            if (came)
                outcome(q, right == WORDS ? 0 : q.which == 2 && right ? 2 : 1);
            bar_end(bar);
        }
        __syncwarp();
    }
}
