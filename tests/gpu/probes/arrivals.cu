// What do waits and arrivals do that no phase has room for?
// Cases: test_wait with the state of the phase before the last one; an arrival of count 2 where one is pending.
// Outcomes: true; false. Of the arrival: whether the phase has ended. Or the launch fails.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    __shared__ u64 barrier;
    const u32 bar = at(&barrier);
    if (threadIdx.x)
        return;
    for (u32 round = 0; round < q.rounds; round++) {
        u32 done;
        bar_init(bar, 1);
        if (q.which == 0) {
            const u64 state = bar_arrive(bar);
            bar_arrive(bar);
            asm volatile(
                "{\n\t.reg .pred p;\n\tmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                : "=r"(done)
                : "r"(bar), "l"(state)
                : "memory");
        } else {
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(bar) : "memory");
            done = bar_test(bar, 0);
        }
        outcome(q, done ? 0 : 1);
        bar_end(bar);
    }
}
