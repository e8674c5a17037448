// y = a * x, in chunks that travel through shared memory by bulk copies: the next two are on their way in while one is
// computed and the ones before it are on their way out. Launched with 256 threads and any number of blocks; x and y are
// multiples of 4 KiB.
using u32 = unsigned int;

constexpr int CHUNK = 1024; // floats
constexpr u32 BYTES = CHUNK * sizeof(float);
constexpr int STAGES = 2;

__device__ u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

__device__ void barrier_init(u32 barrier, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Until the phase of this parity is over.
__device__ void barrier_wait(u32 barrier, u32 parity)
{
    u32 done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

// One thread begins the copy of a chunk into shared memory; the barrier's phase ends when all of it is there.
__device__ void load(float *to, const float *from, u32 barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(BYTES) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(BYTES), "r"(barrier)
                 : "memory");
}

// One thread begins the copy of a chunk out of shared memory.
__device__ void store(float *to, const float *from)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(BYTES)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(256) scale(const float *x, float *y, float a, int chunks)
{
    __shared__ alignas(128) float in[STAGES][CHUNK], out[STAGES][CHUNK];
    __shared__ alignas(8) unsigned long long full[STAGES];
    const int first = (int)blockIdx.x, step = (int)gridDim.x;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s)
            barrier_init(shared_address(&full[s]), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int s = 0; s < STAGES && first + s * step < chunks; ++s)
            load(in[s], x + (size_t)(first + s * step) * CHUNK, shared_address(&full[s]));
    }
    __syncthreads();
    int stage = 0;
    u32 parity = 0;
    for (int chunk = first; chunk < chunks; chunk += step) {
        barrier_wait(shared_address(&full[stage]), parity);
        for (int i = (int)threadIdx.x; i < CHUNK; i += (int)blockDim.x)
            out[stage][i] = a * in[stage][i];
        __syncthreads();
        if (threadIdx.x == 0) {
            store(y + (size_t)chunk * CHUNK, out[stage]);
            const int next = chunk + STAGES * step;
            if (next < chunks)
                load(in[stage], x + (size_t)next * CHUNK, shared_address(&full[stage]));
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        parity ^= stage == 0;
    }
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); // shared memory goes with the block
}
