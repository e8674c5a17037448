// Are st.async and red.async of one thread to one block performed in the order in which it issued them?
// Cases: two st.async to one word; red.async.add 10, then red.async.min 5, on 0; st.async 7, then red.async.add 1;
// st.async of data, then of a flag: who sees the flag reads the data, with no barrier between.
// Outcomes: as if in order; as if not; the phase did not end, or the flag did not come.
WORD void store_async(u32 to, u32 value, u32 bar)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to), "r"(value),
                 "r"(bar)
                 : "memory");
}

#define REDUCE(op, to, value, bar)                                                                                     \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op                          \
                 ".u32 [%0], %1, [%2];" ::"r"(to),                                                                     \
                 "r"(value), "r"(bar)                                                                                  \
                 : "memory")

extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    __shared__ u64 barrier;
    __shared__ u32 data[32 * 32], flag[32];
    const u32 lane = threadIdx.x, bar = at(&barrier), there = in_block(bar, 1), spread = 1 + lane % 31;
    for (u32 round = 0; round < q.rounds; round++) {
        // Words of a column lie in one bank, those of a diagonal in all.
        u32 *const word = data + (lane * 32 + (round % 2 ? spread : 0));
        *word = 0;
        flag[lane] = 0;
        proxy_fence();
        if (!lane)
            bar_init(bar, 1);
        cluster_meet();
        if (cluster_rank() == 0) {
            const u32 to = in_block(at(word), 1), to_flag = in_block(at(flag + lane), 1);
            be_late(dice(round, 256));
            if (q.which == 0) {
                store_async(to, 1, there);
                store_async(to, 2, there);
            } else if (q.which == 1) {
                REDUCE("add", to, 10, there);
                REDUCE("min", to, 5, there);
            } else if (q.which == 2) {
                store_async(to, 7, there);
                REDUCE("add", to, 1, there);
            } else {
                store_async(to, 1, there);
                store_async(to_flag, 1, there);
            }
        } else {
            const u32 expected = q.which == 0 ? 2 : q.which == 1 ? 5 : q.which == 2 ? 8 : 1;
            bool came = true;
            if (!lane)
                bar_arrive_expect(bar, 32 * 8);
            __syncwarp();
            if (q.which == 3) {
                const long long begin = clock64();
                while (*(volatile u32 *)(flag + lane) == 0 && came)
                    came = clock64() - begin <= q.limit;
                const u32 value = *(volatile u32 *)word;
                outcome(q, !came ? 2 : value == expected ? 0 : 1);
            }
            came = bar_comes(q, bar, 0);
            if (q.which != 3)
                outcome(q, !came ? 2 : *word == expected ? 0 : 1);
            while (!came) // nothing may come behind the end of the barrier
                came = bar_comes(q, bar, 0);
        }
        cluster_meet();
        if (!lane)
            bar_end(bar);
        __syncwarp();
    }
}
