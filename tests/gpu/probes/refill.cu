// Do ordinary reads of a stage see the copy that refills it, though its issuer has waited for the readers' arrivals?
// Cases: no fence; every reader executes fence.proxy.async before it arrives.
// Outcomes: words as the stage held them; words that the copy behind brings.
extern "C" __global__ void __launch_bounds__(256) probe(const ask q)
{
    enum { WORDS = 2048, EACH = WORDS / 256 };
    __shared__ __align__(128) u32 stage[WORDS];
    __shared__ u64 barriers[2];
    const u32 full = at(barriers), empty = at(barriers + 1);
    u32 *const far = (u32 *)(q.memory + blockIdx.x * ROOM);
    for (u32 i = threadIdx.x; i < 2 * WORDS; i += 256)
        far[i] = i / WORDS;
    if (!threadIdx.x) {
        bar_init(full, 1);
        bar_init(empty, 256);
    }
    proxy_fence();
    __syncthreads();
    u32 held = 0, brought = 0;
    bool come = true;
    for (u32 round = 0; round < q.rounds && come; round++) {
        if (!threadIdx.x) {
            if (round)
                bar_comes(q, empty, (round - 1) & 1);
            bar_arrive_expect(full, sizeof stage);
            bulk_load(at(stage), far + round % 2 * WORDS, sizeof stage, full);
        }
        __syncwarp();
        come = bar_comes(q, full, round & 1);
        u32 word[EACH];
        // Eight lanes read of one bank at a time.
        for (u32 i = 0; i < EACH; i++)
            asm volatile("ld.shared.u32 %0, [%1];"
                         : "=r"(word[i])
                         : "r"(at(stage + threadIdx.x * EACH + i))
                         : "memory");
        if (q.which == 1)
            proxy_fence();
        bar_arrive(empty);
        for (u32 i = 0; i < EACH; i++)
            held += word[i] == round % 2, brought += word[i] != round % 2;
    }
    outcome(q, 0, held);
    outcome(q, 1, brought);
    __syncthreads();
}
