// Do the copies of one thread complete in the order in which it issued them?
// Cases: 16 KB, then 16 bytes; 16 bytes twice; 16 bytes, then 16 KB.
// Outcomes: the first was seen complete with the second open; the second with the first open; both at one look.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    extern __shared__ __align__(128) unsigned char held[];
    __shared__ u64 barriers[2];
    const u32 first = at(barriers), second = at(barriers + 1), large = 16384;
    const u32 bytes = q.which == 0 ? large : 16, other_bytes = q.which == 2 ? large : 16;
    if (threadIdx.x)
        return;
    for (u32 round = 0; round < q.rounds; round++) {
        bar_init(first, 1);
        bar_init(second, 1);
        proxy_fence();
        const unsigned char *const from = q.memory + blockIdx.x * ROOM;
        bar_arrive_expect(first, bytes);
        bar_arrive_expect(second, other_bytes);
        be_late(dice(round, 64));
        bulk_load(at(held), from + dice(round, 2) * 16384, bytes, first);
        bulk_load(at(held) + large, from + (q.which == 2 ? 32768 : 49152 + dice(round, 1024) * 16), other_bytes,
                  second);
        // In turn: who waits for one looks at the other then.
        const u32 which = round % 2, one = which ? second : first, other = which ? first : second;
        if (bar_comes(q, one, 0))
            outcome(q, bar_test(other, 0) ? 2 : which);
        bar_comes(q, first, 0);
        bar_comes(q, second, 0);
        bar_end(first);
        bar_end(second);
    }
}
