//@ -- Debug builds: a wait that lasts too long leaves a record in memory that the host reads after the trap.
//@ -- ms: how long a wait may last. templates/host/debug.h reads what is written here.
//@ param ms int

// A warp that waited in vain, 128 bytes in memory of the host's.
struct debug_record {
    u32 magic; // 0x74616877 once the rest is there
    u32 kind;  // what was waited for: 1 full, 2 empty, 3 drained; 0 a barrier that belongs to no ring
    char ring[24];
    u32 stage, step;     // of the ring; stages that the warp had gone past before
    u32 parity, barrier; // of the phase; where the barrier lies in shared memory
    u64 word;            // the barrier as it was
    u64 waited;          // nanoseconds
    u32 block[3], blocks[3];
    u32 warp, warps;     // in the block, and of the block
    u32 lanes, rank;     // a bit a lane that waits; of the block in its cluster
    u32 line, limit;     // of this text; milliseconds that a wait may last
    u32 spare[4];
};

// NAME_load sets the first three. As long as record is NULL, a wait that lasts too long traps and leaves nothing.
extern "C" {
__device__ struct {
    debug_record *record;
    u64 room;     // records
    u64 hardware; // 1: barriers in use are kept beside shared memory, and written back when they are invalidated
    u64 deadline; // when the first warp that waited in vain traps; 0: none did
    u64 count;    // records begun
} tilewright_debug;
}

__device__ __forceinline__ u64 debug_time()
{
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}

// ${ms} ms; once a warp has waited so long, 1 ms: what goes on by itself does so sooner.
__device__ __forceinline__ bool debug_late(u64 began)
{
    const u64 waited = debug_time() - began;
    return waited > ${ms} * 1000000ull || (waited > 1000000 && *(volatile u64 *)&tilewright_debug.deadline != 0);
}

// One lane of those that wait here writes the record. All others have 50 ms to do the same before the trap. What the
// barrier holds can then be read, for nobody gets on any more.
__device__ __forceinline__ void debug_stop(u32 barrier, u32 parity, u64 began, const char *ring, u32 kind, u32 stage,
                                           u32 step, int line)
{
    const u32 lanes = __activemask();
    if (threadIdx.x % 32 == __ffs((int)lanes) - 1) {
        const u64 now = debug_time();
        atomicCAS(&tilewright_debug.deadline, 0, now + 50000000);
        const u64 slot = atomicAdd(&tilewright_debug.count, 1);
        if (tilewright_debug.record && slot < tilewright_debug.room) {
            volatile debug_record *r = tilewright_debug.record + slot;
            u64 word;
            u32 rank;
            if (tilewright_debug.hardware)
                asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
            asm volatile("ld.volatile.shared.b64 %0, [%1];" : "=l"(word) : "r"(barrier) : "memory");
            asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
            r->kind = kind;
            #pragma unroll 1
            for (int i = 0; i < 23 && ring[i]; ++i)
                r->ring[i] = ring[i];
            r->stage = stage;
            r->step = step;
            r->parity = parity;
            r->barrier = barrier;
            r->word = word;
            r->waited = now - began;
            r->block[0] = blockIdx.x;
            r->block[1] = blockIdx.y;
            r->block[2] = blockIdx.z;
            r->blocks[0] = gridDim.x;
            r->blocks[1] = gridDim.y;
            r->blocks[2] = gridDim.z;
            r->warp = threadIdx.x / 32;
            r->warps = (blockDim.x + 31) / 32;
            r->lanes = lanes;
            r->rank = rank;
            r->line = (u32)line;
            r->limit = ${ms};
            __threadfence_system();
            r->magic = 0x74616877;
            __threadfence_system();
        }
    }
    while (debug_time() < *(volatile u64 *)&tilewright_debug.deadline)
        __nanosleep(1000);
    asm volatile("trap;");
}

// After a look at a barrier that was in vain. began: 0, then when that was the case first.
__device__ __forceinline__ bool debug_again(u64 &began, u32 barrier, u32 parity, const char *ring, u32 kind, u32 stage,
                                            u32 step, int line)
{
    if (began == 0)
        began = debug_time();
    else if (debug_late(began))
        debug_stop(barrier, parity, began, ring, kind, stage, step, line);
    return true;
}
