// Can a bulk copy from shared memory go to shared memory of the same block, in a cluster of two?
// Cases: to the other block; to an address as the block has it; to the one that mapa gives for the block itself; the
// same where the destination begins 16 bytes behind the source, and 16 bytes before it.
// Outcomes: the bytes come; they do not.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    __shared__ u64 barrier;
    __shared__ __align__(128) u32 words[256];
    const u32 bar = at(&barrier), lane = threadIdx.x, rank = cluster_rank() ^ (q.which == 0);
    const u32 from = 128, to = q.which < 3 ? 0 : q.which == 3 ? from + 4 : from - 4;
    for (u32 round = 0; round < q.rounds; round++) {
        for (u32 i = lane; i < 256; i += 32)
            words[i] = i;
        if (!lane) {
            bar_init(bar, 1);
            bar_arrive_expect(bar, 256);
        }
        proxy_fence();
        cluster_meet();
        if (!lane && q.which == 1)
            bulk_move(at(words + to), at(words + from), 256, bar);
        else if (!lane)
            bulk_move(in_block(at(words + to), rank), at(words + from), 256, in_block(bar, rank));
        __syncwarp();
        const bool came = bar_comes(q, bar, 0);
        const u32 *const there = words + to + lane;
        const bool right = __all_sync(0xffffffff, there[0] == from + lane && there[32] == from + 32 + lane);
        if (!lane)
            outcome(q, came && right ? 0 : 1);
        cluster_meet();
        if (!lane)
            bar_end(bar);
        __syncwarp();
    }
}
