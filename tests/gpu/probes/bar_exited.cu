// Do threads that have ended count at a barrier of their block?
// Cases: bar.sync of all threads, a warp has ended; of all threads, half a warp has; of 96 threads, two warps are there
// and a third has ended, until a fourth arrives in its place.
// Outcomes: the others pass; they wait (until somebody arrives for the one that has ended).
extern "C" __global__ void __launch_bounds__(128) probe(const ask q)
{
    __shared__ volatile u32 passed;
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (!threadIdx.x)
        passed = 0;
    __syncthreads();
    if (warp == 2 && (q.which != 1 || lane >= 16))
        return;
    be_late(q.late);
    if (q.which < 2) {
        asm volatile("barrier.sync 0;" ::: "memory");
        if (lane == 0)
            outcome(q, 0);
    } else if (warp < 2) {
        asm volatile("barrier.sync 1, 96;" ::: "memory");
        if (!threadIdx.x) {
            const u32 rescued = passed;
            outcome(q, rescued ? 1 : 0);
            passed = 2;
        }
    } else {
        be_late(q.limit);
        if (lane == 0 && !passed)
            passed = 1;
        __syncwarp();
        if (passed == 1)
            asm volatile("barrier.arrive 1, 96;" ::: "memory");
    }
}
