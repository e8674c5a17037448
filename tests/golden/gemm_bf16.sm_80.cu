// tilewright 1: kernel gemm_bf16, entry gemm_bf16, arch sm_80
// pipeline.stages 3, pipeline.warps_m 2, pipeline.warps_n 4, tile.m 128, tile.n 128, tile.k 64, cluster.m 1,
// cluster.n 1, schedule.order grouped, schedule.group 8, extent.m (i64)args.M, extent.n (i64)args.N,
// extent.k (i64)args.K
// 98304 bytes of shared memory, 256 threads, ring ab of 3 stages

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, 64 bytes, as the host packs it. Strides are in elements.
struct arguments {
    const unsigned short * A; // byte 0
    const unsigned short * B; // byte 8
    unsigned short * D; // byte 16
    i64 A_stride0; // byte 24
    i64 B_stride0; // byte 32
    i64 D_stride0; // byte 40
    int M; // byte 48
    int N; // byte 52
    int K; // byte 56
};

extern __shared__ __align__(1024) unsigned char shared_memory[];

__device__ __forceinline__ u32 shared_address(u32 offset)
{
    return (u32)__cvta_generic_to_shared(shared_memory) + offset;
}

// Starts the copy of the first `bytes` of 16 bytes; the rest of them becomes zero.
__device__ __forceinline__ void copy_async(u32 destination, const void *source, u32 bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(bytes)
                 : "memory");
}

// Byte in A's tile of 16-byte chunk `chunk` of row `row`: swizzle 128B.
__device__ __forceinline__ u32 A_chunk(u32 row, u32 chunk)
{
    return row * 128 + (chunk ^ row % 8) * 16;
}

// The 128 x 64 tile of A at (outer, inner) into the stage: 8 chunks a row.
__device__ __forceinline__ void A_load(const arguments &args, u32 stage, int outer, int inner)
{
    const u32 tile = shared_address(0 + stage * 16384);
    const u32 rows = (u32)min((i64)args.M - outer, (i64)128);
    const u32 columns = (u32)min((i64)args.K - inner, (i64)64);
    #pragma unroll
    for (u32 pass = 0; pass < 4; ++pass) {
        const u32 row = pass * 32 + threadIdx.x / 8, chunk = threadIdx.x % 8;
        const u32 column = chunk * 8;
        const u32 count = row < rows && column < columns ? min(columns - column, 8) : 0;
        const unsigned short *source = args.A + (outer + (i64)row) * args.A_stride0 + inner + column;
        copy_async(tile + A_chunk(row, chunk), source, count * 2);
    }
}

// Byte in B's tile of 16-byte chunk `chunk` of row `row`: swizzle 128B.
__device__ __forceinline__ u32 B_chunk(u32 row, u32 chunk)
{
    return row * 128 + (chunk ^ row % 8) * 16;
}

// The 128 x 64 tile of B at (outer, inner) into the stage: 8 chunks a row.
__device__ __forceinline__ void B_load(const arguments &args, u32 stage, int outer, int inner)
{
    const u32 tile = shared_address(49152 + stage * 16384);
    const u32 rows = (u32)min((i64)args.N - outer, (i64)128);
    const u32 columns = (u32)min((i64)args.K - inner, (i64)64);
    #pragma unroll
    for (u32 pass = 0; pass < 4; ++pass) {
        const u32 row = pass * 32 + threadIdx.x / 8, chunk = threadIdx.x % 8;
        const u32 column = chunk * 8;
        const u32 count = row < rows && column < columns ? min(columns - column, 8) : 0;
        const unsigned short *source = args.B + (outer + (i64)row) * args.B_stride0 + inner + column;
        copy_async(tile + B_chunk(row, chunk), source, count * 2);
    }
}

// Ring ab: 3 stages. The next stage after this one.
__device__ __forceinline__ void ab_advance(u32 &stage)
{
    stage = stage + 1 == 3 ? 0 : stage + 1;
}

// Closes the group of this thread's copies since the last commit.
__device__ __forceinline__ void ab_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// At most 1 of this thread's groups are still on their way.
__device__ __forceinline__ void ab_wait()
{
    asm volatile("cp.async.wait_group 1;" ::: "memory");
}

// What all threads have filled and waited for can be read, and all reads before are over.
__device__ __forceinline__ void ab_meet()
{
    __syncthreads();
}

__device__ __forceinline__ void mma_read_a(u32 (&r)[4], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// Two neighbours along n.
__device__ __forceinline__ void mma_read_b(u32 (&first)[2], u32 (&second)[2], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(first[0]), "=r"(first[1]), "=r"(second[0]), "=r"(second[1])
                 : "r"(address)
                 : "memory");
}

// d += a b for one 16 x 8 block and 16 elements along k.
__device__ __forceinline__ void mma_issue(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// What a warp holds of both operands for one step along k.
struct mma_fragments {
    u32 a[4][4], b[4][2];
};

// Step `step` along k of the stage: this warp's 64 rows and 32 columns.
__device__ __forceinline__ void mma_read(mma_fragments &f, u32 stage, u32 warp, u32 step)
{
    const u32 lane = threadIdx.x % 32, warp_m = warp % 2, warp_n = warp / 2;
    const u32 a_tile = shared_address(0 + stage * 16384);
    const u32 b_tile = shared_address(49152 + stage * 16384);
    #pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        const u32 row = warp_m * 64 + i * 16 + lane % 16, chunk = step * 2 + lane / 16;
        mma_read_a(f.a[i], a_tile + A_chunk(row, chunk));
    }
    #pragma unroll
    for (u32 j = 0; j < 2; ++j) {
        const u32 row = warp_n * 32 + j * 16 + lane / 16 * 8 + lane % 8;
        const u32 chunk = step * 2 + lane / 8 % 2;
        mma_read_b(f.b[2 * j], f.b[2 * j + 1], b_tile + B_chunk(row, chunk));
    }
}

// The sum over no elements.
__device__ __forceinline__ void mma_clear(float (&d)[4][4][4])
{
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            d[i][j][0] = d[i][j][1] = d[i][j][2] = d[i][j][3] = 0.0f;
}

// One stage: 4 steps along k, each read while the one before is multiplied.
__device__ __forceinline__ void mma(float (&d)[4][4][4], u32 stage, u32 warp)
{
    mma_fragments f[2];
    mma_read(f[0], stage, warp, 0);
    #pragma unroll
    for (u32 step = 0; step < 4; ++step) {
        if (step + 1 < 4)
            mma_read(f[(step + 1) % 2], stage, warp, step + 1);
        #pragma unroll
        for (u32 i = 0; i < 4; ++i)
            #pragma unroll
            for (u32 j = 0; j < 4; ++j)
                mma_issue(d[i][j], f[step % 2].a[i], f[step % 2].b[j]);
    }
}

struct tile_schedule {
    int across_m, across_n; // clusters of tiles along m and n
    int next, step, count;
    u32 rank;               // of this block in its cluster
};

__device__ __forceinline__ tile_schedule schedule_begin(const arguments &args)
{
    tile_schedule s;
    s.across_m = (int)(((i64)args.M + 128 - 1) / 128);
    s.across_n = (int)(((i64)args.N + 128 - 1) / 128);
    s.count = s.across_m * s.across_n;
    s.rank = 0;
    s.next = (int)blockIdx.x;
    s.step = (int)gridDim.x;
    return s;
}

// The next tile of this block: false when there is none. m and n are its first row and column.
__device__ __forceinline__ bool schedule_next(tile_schedule &s, int &m, int &n)
{
    if (s.next >= s.count)
        return false;
    int band = s.next / (8 * s.across_n);
    int height = min(8, s.across_m - band * 8);
    int within = s.next - band * 8 * s.across_n;
    int at_m = band * 8 + within % height;
    int at_n = within / height;
    s.next += s.step;
    m = at_m * 128;
    n = at_n * 128;
    return true;
}

__device__ __forceinline__ float from_bf16(u16 x)
{
    return __uint_as_float((u32)x << 16);
}

__device__ __forceinline__ u16 to_bf16(float x)
{
    u16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}

// Two neighbours in one word, the first in the low half.
__device__ __forceinline__ u32 pack_bf16(float first, float second)
{
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}

__device__ __forceinline__ void D_epilogue(const arguments &args, float &v0, float &v1, int m, int n)
{
}

// This warp's part of the tile of D at (first_m, first_n).
__device__ __forceinline__ void D_store_global(const arguments &args,
                                                     const float (&d)[4][4][4], u32 warp,
                                                     int first_m, int first_n)
{
    const u32 lane = threadIdx.x % 32, warp_m = warp % 2, warp_n = warp / 2;
    // Rows 8 i .. of this warp: one copy of the code serves all, for the choice of registers costs a few moves.
    #pragma unroll 1
    for (int i = 0; i < 2 * 4; ++i) {
        float part[4][2];
        #pragma unroll
        for (int c = 0; c < 2 * 4; ++c)
            if (c == i) {
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    part[j][0] = d[c / 2][j][c % 2 * 2];
                    part[j][1] = d[c / 2][j][c % 2 * 2 + 1];
                }
            }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int m = first_m + (int)(warp_m * 64 + lane / 4) + i * 8;
            const int n = first_n + (int)(warp_n * 32 + lane % 4 * 2) + j * 8;
            if (m >= (i64)args.M || n >= (i64)args.N)
                continue;
            float v0 = part[j][0], v1 = part[j][1];
            D_epilogue(args, v0, v1, m, n);
            unsigned short *at = args.D + (m * args.D_stride0 + n);
            if (n + 1 < (i64)args.N && (u64)at % 4 == 0) {
                *(u32 *)at = pack_bf16(v0, v1);
                continue;
            }
            at[0] = to_bf16(v0);
            if (n + 1 < (i64)args.N)
                at[1] = to_bf16(v1);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 1)
gemm_bf16(const __grid_constant__ arguments args)
{
    const u32 warp = threadIdx.x / 32;
    const int steps = (int)(((i64)args.K + 64 - 1) / 64);
    tile_schedule tiles = schedule_begin(args);
    float sum[4][4][4];
    u32 fill = 0, read = 0;
    int m, n;
    while (schedule_next(tiles, m, n)) {
        mma_clear(sum);
        #pragma unroll 1
        for (int step = 0; step < 2; ++step) {
            if (step < steps) {
                const int k = step * 64;
                A_load(args, fill, m, k);
                B_load(args, fill, n, k);
                ab_advance(fill);
            }
            ab_commit();
        }
        #pragma unroll 1
        for (int step = 0; step < steps; ++step) {
            ab_wait();
            ab_meet();
            if (step + 2 < steps) {
                const int k = (step + 2) * 64;
                A_load(args, fill, m, k);
                B_load(args, fill, n, k);
                ab_advance(fill);
            }
            ab_commit();
            mma(sum, read, warp);
            ab_advance(read);
        }
        D_store_global(args, sum, warp, m, n);
    }
}
