// What the probes have in common; tests/gpu/probes/probes.c puts this before each of them.
typedef unsigned u32;
typedef unsigned long long u64;

struct ask {
    u32 which;             // case of the question, by its row in questions.def
    u32 rounds;            // how often a block asks
    u32 late;              // clocks by which somebody is late
    u32 limit;             // clocks after which what has not come is said not to come
    u32 *counts;           // of the outcomes, in the order of questions.def; then the least and the most nanoseconds
    unsigned char *memory; // ROOM bytes for each block
};
enum { OUTCOMES = 8, LEAST = OUTCOMES, MOST = OUTCOMES + 1, ROOM = 65536 };

#define WORD static __device__ __forceinline__

WORD u32 at(const void *shared)
{
    return (u32)__cvta_generic_to_shared(shared);
}

WORD void outcome(const ask &q, u32 which, u32 times = 1)
{
    if (times)
        atomicAdd(q.counts + which, times);
}

WORD u64 nanoseconds()
{
    u64 t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
    return t;
}

WORD void be_late(u32 clocks)
{
    const long long begin = clock64();
    while (clock64() - begin < clocks)
        ;
}

// Differs from block to block and round to round.
WORD u32 dice(u32 round, u32 below)
{
    u32 x = (blockIdx.x * 7919 + round) * 2654435761u;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    return x % below;
}

/* ---- mbarriers ------------------------------------------------------------------------------------------------- */

WORD void bar_init(u32 bar, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(bar),
                 "r"(count)
                 : "memory");
}

WORD void bar_end(u32 bar)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}

WORD u64 bar_arrive(u32 bar)
{
    u64 state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
    return state;
}

WORD void bar_arrive_expect(u32 bar, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

WORD void bar_expect(u32 bar, u32 bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

WORD void bar_complete(u32 bar, u32 bytes)
{
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

WORD bool bar_test(u32 bar, u32 parity)
{
    u32 done;
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
    return done;
}

// Whether the phase completes within the limit.
WORD bool bar_comes(const ask &q, u32 bar, u32 parity)
{
    const long long begin = clock64();
    while (!bar_test(bar, parity))
        if (clock64() - begin > q.limit)
            return false;
    return true;
}

/* ---- bulk copies ----------------------------------------------------------------------------------------------- */

WORD void bulk_load(u32 to, const void *from, u32 bytes, u32 bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(bar)
                 : "memory");
}

// Within shared memory of the cluster.
WORD void bulk_move(u32 to, u32 from, u32 bytes, u32 bar)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "r"(from), "r"(bytes), "r"(bar)
        : "memory");
}

WORD void bulk_store(void *to, u32 from, u32 bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
                 : "memory");
}

WORD void bulk_add(void *to, u32 from, u32 bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}

WORD void bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
WORD void bulk_wait()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
WORD void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
WORD void proxy_fence()
{
    asm volatile("fence.proxy.async;" ::: "memory");
}

/* ---- clusters -------------------------------------------------------------------------------------------------- */

WORD u32 cluster_rank()
{
    u32 rank;
    asm volatile("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    return rank;
}

WORD void cluster_meet()
{
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same place in the shared memory of another block of the cluster.
WORD u32 in_block(u32 address, u32 rank)
{
    u32 there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}
