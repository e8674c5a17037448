// Do the copies of one thread complete in the order in which it issued them?
// Cases: 32 KB, then 16 bytes; 16 bytes twice; within shared memory, 16 KB, then 16 bytes.
// Outcomes: the first was seen complete with the second open; the second with the first open; both at one look.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    extern __shared__ __align__(128) unsigned char held[];
    __shared__ u64 barriers[2];
    const u32 first = at(barriers), second = at(barriers + 1), bytes = q.which == 1 ? 16 : q.which == 2 ? 16384 : 32768;
    if (threadIdx.x)
        return;
    for (u32 i = 0; i < 32768; i += 4)
        *(u32 *)(held + i) = i;
    for (u32 round = 0; round < q.rounds; round++) {
        bar_init(first, 1);
        bar_init(second, 1);
        proxy_fence();
        const unsigned char *from = q.memory + blockIdx.x * ROOM;
        bar_arrive_expect(first, bytes);
        bar_arrive_expect(second, 16);
        be_late(dice(round, 64));
        if (q.which == 2) {
            bulk_move(at(held) + 16384, at(held), bytes, first);
            bulk_move(at(held) + 32768, at(held), 16, second);
        } else {
            bulk_load(at(held), from + dice(round, 2) * 16384, bytes, first);
            bulk_load(at(held) + 32768, from + 49152 + dice(round, 1024) * 16, 16, second);
        }
        const long long begin = clock64();
        bool open = true;
        while (open && clock64() - begin <= q.limit) {
            const bool before = bar_test(first, 0), other = bar_test(second, 0), behind = bar_test(first, 0);
            if (!before && !behind && !other)
                continue;
            outcome(q, before && !other ? 0 : other && !behind ? 1 : 2);
            open = false;
        }
        bar_comes(q, first, 0);
        bar_comes(q, second, 0);
        bar_end(first);
        bar_end(second);
    }
}
