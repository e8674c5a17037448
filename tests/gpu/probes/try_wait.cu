// Does mbarrier.try_wait come back, and with what, and does it say no of a phase that is over?
// Cases: the phase is over; it never ends, without a hint, with one of 5, 50 and 500 us; another warp ends it while a
// wait with a hint of 10 ms is suspended.
// Outcomes: true; false. Beside them the nanoseconds from before the wait to behind it.
WORD u32 try_wait(u32 bar, u32 parity)
{
    u32 done;
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
    return done;
}

WORD u32 try_wait_for(u32 bar, u32 parity, u32 hint)
{
    u32 done;
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(bar), "r"(parity), "r"(hint)
        : "memory");
    return done;
}

extern "C" __global__ void __launch_bounds__(64) probe(const ask q)
{
    __shared__ u64 barrier;
    const u32 bar = at(&barrier), hints[6] = {0, 0, 5000, 50000, 500000, 10000000};
    for (u32 round = 0; round < q.rounds; round++) {
        if (!threadIdx.x)
            bar_init(bar, 1);
        __syncthreads();
        if (threadIdx.x == 32 && q.which == 5) {
            be_late(q.late);
            bar_arrive(bar);
        } else if (!threadIdx.x) {
            if (q.which == 0)
                bar_arrive(bar);
            const u64 begin = nanoseconds();
            const u32 done = hints[q.which] ? try_wait_for(bar, 0, hints[q.which]) : try_wait(bar, 0);
            const u32 took = (u32)(nanoseconds() - begin);
            outcome(q, done ? 0 : 1);
            atomicMin(q.counts + LEAST, took);
            atomicMax(q.counts + MOST, took);
        }
        __syncthreads();
        if (!threadIdx.x)
            bar_end(bar);
        __syncthreads();
    }
}
