// The transaction bytes of a phase in every order: may they come before they are expected, and which step ends it?
// Cases: bytes, expectation, arrival; bytes, arrival, expectation; the bytes of a copy, then arrive.expect_tx;
// expectation, arrival, bytes; more bytes than are expected.
// Outcomes: the phase ends with the last step; it ends before; it does not end.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    __shared__ u64 barrier;
    __shared__ __align__(128) u32 words[64];
    const u32 bar = at(&barrier);
    if (threadIdx.x)
        return;
    for (u32 round = 0; round < q.rounds; round++) {
        bar_init(bar, 1);
        bool early = false;
        switch (q.which) {
        case 0:
            bar_complete(bar, 64);
            bar_expect(bar, 64);
            early = bar_test(bar, 0);
            bar_arrive(bar);
            break;
        case 1:
            bar_complete(bar, 64);
            bar_arrive(bar);
            early = bar_test(bar, 0);
            bar_expect(bar, 64);
            break;
        case 2:
            proxy_fence();
            bulk_load(at(words), q.memory + blockIdx.x * ROOM + round % 64 * 256, 256, bar);
            be_late(q.late);
            early = bar_test(bar, 0);
            bar_arrive_expect(bar, 256);
            break;
        case 3:
            bar_expect(bar, 64);
            bar_arrive(bar);
            early = bar_test(bar, 0);
            bar_complete(bar, 64);
            break;
        default:
            bar_arrive_expect(bar, 64);
            early = bar_test(bar, 0);
            bar_complete(bar, 128);
            break;
        }
        outcome(q, early ? 1 : bar_comes(q, bar, 0) ? 0 : 2);
        bar_end(bar);
    }
}
