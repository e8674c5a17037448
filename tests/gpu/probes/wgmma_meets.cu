// Can a warp be through wgmma before another warp of its warpgroup has come to it? One warp in turn is late, raises a
// flag and goes on; the others look at the flag behind their wait_group.
// Cases: late before wgmma.fence, before mma_async, before commit_group, before wait_group.
// Outcomes: they have waited for it; they went on without it.
extern "C" __global__ void __launch_bounds__(128) probe(const ask q)
{
    __shared__ __align__(128) u32 operands[1024];
    __shared__ volatile u32 raised;
    const u32 warp = threadIdx.x / 32;
    for (u32 i = threadIdx.x; i < 1024; i += 128)
        operands[i] = 0;
    proxy_fence();
    // Core matrices of 128 bytes, no swizzle: the next one along k 128 bytes behind, along rows 256.
    const u64 a = (u64)(at(operands) >> 4 & 0x3fff) | (u64)8 << 16 | (u64)16 << 32;
    float d[4] = {0, 0, 0, 0};
    for (u32 round = 0; round < q.rounds; round++) {
        if (!threadIdx.x)
            raised = 0;
        __syncthreads();
        const bool late = warp == round % 4;
#define LATE(point)                                                                                                    \
    if (q.which == point && late) {                                                                                    \
        be_late(q.late);                                                                                               \
        if (threadIdx.x % 32 == 0)                                                                                     \
            raised = 1;                                                                                                \
    }                                                                                                                  \
    __syncwarp()
        LATE(0);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        LATE(1);
        asm volatile("{\n\t.reg .pred p;\n\tsetp.eq.u32 p, 0, 1;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, p, 1, 1, 0, 0;\n\t}"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "l"(a)
                     : "memory");
        LATE(2);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        LATE(3);
        asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
        const u32 seen = raised;
        if (!late && threadIdx.x % 32 == 0)
            outcome(q, seen ? 0 : 1);
        __syncthreads();
    }
    if (d[0] + d[1] + d[2] + d[3] != 0)
        outcome(q, 2);
}
