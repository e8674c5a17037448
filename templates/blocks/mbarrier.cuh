//@ -- mbarrier: an arrival count, a byte count and a phase bit in 8 bytes of shared memory.
//@ -- remote: blocks of a cluster arrive on each other's barriers.
//@ -- Waits of a debug build look at a clock: debug.cuh. Its additions to the text stand in holes, not in lines of
//@ -- their own, so that other builds' lines follow each other as they do here.
//@ param remote bool
//@ local ms, site, began, or_late = debug_ms(), "", "", ""
//@ if ms > 0 then
//@     site = ", const char *ring = \"\", u32 kind = 0,\n" .. (" "):rep(45) ..
//@         "u32 stage = 0, u32 step = 0, int line = __builtin_LINE()"
//@     began = "\nu64 began = 0;"
//@     or_late = " && debug_again(began, barrier, parity, ring, kind, stage, step, line)"
//@ include "blocks/debug.cuh" ms = ms

//@ end
__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Returns once the barrier has completed the phase of this parity.
//@ op part
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity${site})
{
    u32 done;${began}
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done${or_late});
}

//@ if not remote then
//@ op part
__device__ __forceinline__ void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
//@ else
// Arrives on the barrier at the same place in another block of the cluster.
//@ op part
__device__ __forceinline__ void barrier_arrive_remote(u32 barrier, u32 rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}
//@ end

//@ op part
__device__ __forceinline__ void barrier_arrive_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// After the initialisation by one thread, before the block's (or cluster's) barrier.
__device__ __forceinline__ void barrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
