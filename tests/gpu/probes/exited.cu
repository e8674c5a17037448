// What becomes of an access to the shared memory of a block of the cluster that has ended? Block 1 ends at once, block
// 0 is late.
// Cases: a bulk copy by multicast to both; one from shared to shared memory; st.async; a remote arrival; a remote load.
// Outcomes: block 0 goes on (its own part of the multicast came); its own part did not come. Or the launch fails.
extern "C" __global__ void __launch_bounds__(32) probe(const ask q)
{
    __shared__ u64 barrier;
    __shared__ __align__(128) u32 words[256];
    const u32 bar = at(&barrier);
    for (u32 i = threadIdx.x; i < 256; i += 32)
        words[i] = i;
    if (threadIdx.x == 0)
        bar_init(bar, 1);
    proxy_fence();
    cluster_meet();
    if (cluster_rank() == 1)
        return;
    be_late(q.late);
    if (threadIdx.x)
        return;
    const u32 there = in_block(bar, 1), data = in_block(at(words), 1);
    bool came = true;
    proxy_fence();
    switch (q.which) {
    case 0:
        bar_arrive_expect(bar, 1024);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], 1024, [%2], %3;" ::"r"(at(words)),
                     "l"(q.memory + blockIdx.x * ROOM), "r"(bar), "h"((unsigned short)3)
                     : "memory");
        came = bar_comes(q, bar, 0);
        break;
    case 1:
        bulk_move(data, at(words), 1024, there);
        break;
    case 2:
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(data), "r"(1),
                     "r"(there)
                     : "memory");
        break;
    case 3:
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
        break;
    default: {
        u32 value;
        asm volatile("ld.volatile.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(data) : "memory");
        *(volatile u32 *)words = value;
    }
    }
    be_late(q.late);
    outcome(q, came ? 0 : 1);
}
