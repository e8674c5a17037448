// What sm_90 brought, by asm: mbarriers, bulk copies, clusters, wgmma.
#include <cuda_fp16.h>
typedef unsigned long long u64;

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ void barrier_init(u64 *b, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(count) : "memory");
}

__device__ void barrier_wait(u64 *b, int parity)
{
    asm volatile(
        "{\n\t.reg .pred p;\nAGAIN:\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@p bra DONE;\n\t"
        "bra AGAIN;\nDONE:\n\t}" ::"r"(shared_address(b)),
        "r"(parity)
        : "memory");
}

__device__ void barrier_arrive(u64 *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}

// Bulk copies in, work, a bulk copy out.
extern "C" __global__ void bulk(const int *in, int *out, int tiles)
{
    __shared__ __align__(128) int s[2][256];
    __shared__ __align__(128) int o[256];
    __shared__ u64 full[2];
    int t = threadIdx.x;
    if (t == 0) {
        barrier_init(&full[0], 1);
        barrier_init(&full[1], 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    auto load = [&](int i) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full[i & 1])),
                     "r"(1024)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(s[i & 1])),
                     "l"(in + i * 256), "r"(1024), "r"(shared_address(&full[i & 1]))
                     : "memory");
    };
    if (t == 0)
        load(0);
    for (int i = 0; i < tiles; i++) {
        if (t == 0 && i + 1 < tiles)
            load(i + 1);
        barrier_wait(&full[i & 1], i >> 1 & 1);
        for (int k = t; k < 256; k += blockDim.x)
            o[k] = s[i & 1][255 - k] * 3 + i;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + i * 256),
                         "r"(shared_address(o)), "r"(1024)
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
        __syncthreads();
    }
}

// Warps with roles and a ring of barriers, no bulk copy.
extern "C" __global__ void roles(const int *in, int *out, int tiles)
{
    __shared__ int ring[2][32];
    __shared__ u64 full[2], empty[2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) {
            barrier_init(&full[i], 32);
            barrier_init(&empty[i], 64);
        }
    }
    __syncthreads();
    if (warp == 0) {
        for (int i = 0; i < tiles; i++) {
            barrier_wait(&empty[i & 1], (i >> 1 & 1) ^ 1);
            ring[i & 1][lane] = in[i * 32 + lane] + 1;
            barrier_arrive(&full[i & 1]);
        }
    } else {
        int sum = 0;
        for (int i = 0; i < tiles; i++) {
            barrier_wait(&full[i & 1], i >> 1 & 1);
            sum = sum * 3 + ring[i & 1][(lane + warp * 7) % 32];
            barrier_arrive(&empty[i & 1]);
        }
        out[(warp - 1) * 32 + lane] = sum;
    }
}

// The blocks of a cluster read each other's shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int *in, int *out)
{
    __shared__ int mine[64];
    __shared__ int votes;
    unsigned rank, size;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %cluster_nctarank;" : "=r"(size));
    int t = threadIdx.x, sum = 0;
    mine[t] = in[blockIdx.x * 64 + t];
    if (t == 0)
        votes = 0;
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    for (unsigned r = 0; r < size; r++) {
        unsigned remote;
        int v;
        asm("mapa.shared::cluster.u32 %0, %1, %2;"
            : "=r"(remote)
            : "r"(shared_address(&mine[t])), "r"((rank + r) % size));
        asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(remote) : "memory");
        sum += v * (r + 1);
    }
    unsigned counter;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counter) : "r"(shared_address(&votes)), "r"((rank + 1) % size));
    asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], %1;" ::"r"(counter), "r"(sum & 3) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    out[blockIdx.x * 64 + t] = sum * 1000 + votes;
}

// One product of a warpgroup, operands in shared memory without a swizzle: D (64 x 8) = A (64 x 16) B (16 x 8).
extern "C" __global__ void wgmma(const __half *a, const __half *b, float *out)
{
    __shared__ __align__(128) __half as[64 * 16], bs[8 * 16];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    for (int i = t; i < 64 * 16; i += 128) {
        int row = i / 16, k = i % 16; // core matrices of 8 rows of 16 bytes; along k first
        as[row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8] = a[i];
    }
    if (t < 128) {
        int row = t / 16, k = t % 16;
        bs[k / 8 * 64 + row * 8 + k % 8] = b[t];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    auto descriptor = [](const void *p) {
        return (u64)(shared_address(p) >> 4 & 0x3fff) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32;
    };
    float d[4] = {1, 2, 3, 4};
    asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory"); // they are there before the fence
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %6, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n\t}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(descriptor(as)), "l"(descriptor(bs)), "r"(1));
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    for (int i = 0; i < 4; i++)
        out[(warp * 16 + lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

extern "C" __global__ void dependent(const int *in, int *out)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    out[threadIdx.x] = in[threadIdx.x] * 2;
    asm volatile("griddepcontrol.launch_dependents;");
}

extern "C" __global__ void elected(int *out)
{
    int t = threadIdx.x;
    unsigned leader, chosen;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync %0|p, 0xffffffff;\n\tselp.u32 %1, 1, 0, p;\n\t}"
                 : "=r"(leader), "=r"(chosen));
    out[t] = __reduce_add_sync(0xffffffffu, chosen) * 10 + (__shfl_sync(0xffffffffu, chosen, leader) == 1);
}
