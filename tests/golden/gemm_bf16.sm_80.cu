// tilewright 1: kernel gemm_bf16, entry gemm_bf16, arch sm_80
// by_pairs.dot 0, turned.D 0, pipeline.warps_m 2, pipeline.warps_n 4, cluster.m 1, cluster.n 1,
// schedule.order grouped, schedule.group 8, extent.A.d0 0, extent.A.d1 4, extent.B.d0 1, extent.B.d1 4
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
    const unsigned short *A; // byte 0
    const unsigned short *B; // byte 8
    unsigned short *D; // byte 16
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
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(bytes));
}

// Closes the group of this thread's copies since the last commit.
__device__ __forceinline__ void copies_commit()
{
    asm volatile("cp.async.commit_group;");
}

// At most one group of this thread is still under way.
__device__ __forceinline__ void copies_wait_1()
{
    asm volatile("cp.async.wait_group 1;" ::: "memory");
}

// What all threads have filled and waited for can be read, and all reads before are over.
__device__ __forceinline__ void block_meet()
{
    __syncthreads();
}

// Ring ab: 3 stages. The next stage after this one.
__device__ __forceinline__ void ab_advance(u32 &stage)
{
    stage = stage + 1 == 3 ? 0 : stage + 1;
}

// Byte in A's tile of 16-byte chunk `chunk` of row `row`: swizzle 128B.
__device__ __forceinline__ u32 A_chunk(u32 row, u32 chunk)
{
    return row * 128 + (chunk ^ row % 8) * 16;
}

// Byte in B's tile of 16-byte chunk `chunk` of row `row`: swizzle 128B.
__device__ __forceinline__ u32 B_chunk(u32 row, u32 chunk)
{
    return row * 128 + (chunk ^ row % 8) * 16;
}

// The 128 x 64 tile of A at these coordinates into the stage: 8 chunks a row.
__device__ __forceinline__ void ab_A_load(const arguments &args, u32 stage, int i0, int i1)
{
    const u32 tile = shared_address(stage * 16384);
    const u32 rows = (u32)max((int)min((i64)args.M - i0, (i64)128), 0);
    const u32 columns = (u32)max((int)min((i64)args.K - i1, (i64)64), 0);
    const i64 stride0 = args.M == 1 ? 0 : args.A_stride0;
    #pragma unroll
    for (u32 pass = 0; pass < 4; ++pass) {
        const u32 row = pass * 32 + threadIdx.x / 8, chunk = threadIdx.x % 8;
        const u32 column = chunk * 8;
        const u32 count = row < rows && column < columns ? min(columns - column, 8) : 0;
        const unsigned short *source = args.A + (i0 + (i64)row) * stride0 + (i64)i1 + column;
        copy_async(tile + A_chunk(row, chunk), source, count * 2);
    }
}

// The 128 x 64 tile of B at these coordinates into the stage: 8 chunks a row.
__device__ __forceinline__ void ab_B_load(const arguments &args, u32 stage, int i0, int i1)
{
    const u32 tile = shared_address(49152 + stage * 16384);
    const u32 rows = (u32)max((int)min((i64)args.N - i0, (i64)128), 0);
    const u32 columns = (u32)max((int)min((i64)args.K - i1, (i64)64), 0);
    const i64 stride0 = args.N == 1 ? 0 : args.B_stride0;
    #pragma unroll
    for (u32 pass = 0; pass < 4; ++pass) {
        const u32 row = pass * 32 + threadIdx.x / 8, chunk = threadIdx.x % 8;
        const u32 column = chunk * 8;
        const u32 count = row < rows && column < columns ? min(columns - column, 8) : 0;
        const unsigned short *source = args.B + (i0 + (i64)row) * stride0 + (i64)i1 + column;
        copy_async(tile + B_chunk(row, chunk), source, count * 2);
    }
}

__device__ __forceinline__ void mma_dot_read_a(u32 (&r)[4], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// Two neighbours along n.
__device__ __forceinline__ void mma_dot_read_b(u32 (&first)[2], u32 (&second)[2], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(first[0]), "=r"(first[1]), "=r"(second[0]), "=r"(second[1])
                 : "r"(address)
                 : "memory");
}

// d += a b for one 16 x 8 block and 16 elements along k.
__device__ __forceinline__ void mma_dot_issue(float *d, const u32 *a, const u32 (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// This warp's 64 rows of step `step` along k.
__device__ __forceinline__ void mma_dot_rows(u32 (&r)[4][4], u32 a_tile, u32 warp, u32 step)
{
    #pragma unroll
    for (u32 i = 0; i < 4; ++i) {
        mma_dot_read_a(r[i], (a_tile ^ step * 2 % 8 * 16) + i * 2048);
    }
}

// Two neighbours of this warp's 32 columns, the pair j.
__device__ __forceinline__ void mma_dot_pair(u32 (&first)[2], u32 (&second)[2], u32 b_tile, u32 warp, u32 step, u32 j)
{
    mma_dot_read_b(first, second, (b_tile ^ step * 2 % 8 * 16) + j * 2048);
}

// What a warp reads of the operands for one step along k.
struct mma_dot_fragments {
    u32 a[4][4], b[4][2];
};

// Step `step` along k of the stage.
__device__ __forceinline__ void mma_dot_read(mma_dot_fragments &f, u32 a_tile, u32 b_tile, u32 warp, u32 step)
{
    mma_dot_rows(f.a, a_tile, warp, step);
    #pragma unroll
    for (u32 j = 0; j < 2; ++j)
        mma_dot_pair(f.b[2 * j], f.b[2 * j + 1], b_tile, warp, step, j);
}

// d = a b + (accumulate ? d : 0): 4 steps along k, each read while what was read before is multiplied.
__device__ __forceinline__ void mma_dot(float (&d)[4][16], u32 a_stage, u32 b_stage, u32 warp,
                                        bool accumulate)
{
    const u32 lane = threadIdx.x % 32;
    const u32 warp_m = warp % 2;
    const u32 a_tile = shared_address(a_stage * 16384) + A_chunk(warp_m * 64 + lane % 16, lane / 16);
    const u32 warp_n = warp / 2;
    const u32 b_tile = shared_address(49152 + b_stage * 16384) +
        B_chunk(warp_n * 32 + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    if (!accumulate)
        #pragma unroll
        for (u32 i = 0; i < 4; ++i)
            #pragma unroll
            for (u32 j = 0; j < 16; ++j)
                d[i][j] = 0.0f;
    mma_dot_fragments f[2];
    mma_dot_read(f[0], a_tile, b_tile, warp, 0);
    #pragma unroll
    for (u32 step = 0; step < 4; ++step) {
        if (step + 1 < 4)
            mma_dot_read(f[(step + 1) % 2], a_tile, b_tile, warp, step + 1);
        #pragma unroll
        for (u32 i = 0; i < 4; ++i)
            #pragma unroll
            for (u32 j = 0; j < 4; ++j)
                mma_dot_issue(d[i] + j * 4, f[step % 2].a[i], f[step % 2].b[j]);
    }
}

struct item_order {
    int next; // what else there is to know is computed again for each item: registers are dear in between
};

__device__ __forceinline__ item_order items_begin(const arguments &args)
{
    item_order s = {(int)blockIdx.x};
    return s;
}

// The next item of this block: false when there is none. at_AXIS is where it begins.
__device__ __forceinline__ bool items_next(const arguments &args, item_order &s, int &at_m, int &at_n)
{
    const int across_m = (int)(((i64)args.M + 127) / 128);
    const int across_n = (int)(((i64)args.N + 127) / 128);
    const int number = s.next;
    int band = number / (8 * across_n);
    int height = min(8, across_m - band * 8);
    int within = number - band * 8 * across_n;
    at_m = (band * 8 + within % height) * 128;
    at_n = within / height * 128;
    s.next += (int)gridDim.x;
    return true;
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

extern "C" __global__ void __launch_bounds__(256, 1)
gemm_bf16(const __grid_constant__ arguments args)
{
    const u32 warp = threadIdx.x / 32, warp_m = warp % 2;
    const int first_row = (int)warp_m * 64 + threadIdx.x % 32 / 4;
    const int first_column = (int)(warp / 2) * 32 + threadIdx.x % 4 * 2;
    item_order items = items_begin(args);
    int at_m, at_n;
    float dot_sum[4][16];
    u32 ab_fill = 0, ab_stage = 2;
    const int first_at_k_turns = 2;
    const int t8_0 = args.K + 63;
    const int t8_1 = t8_0 / 64;
    const int k_turns = (int)t8_1;
    items_next(args, items, at_m, at_n);
    {
        [[maybe_unused]] int first_at_k = 0;
        int first_at_k_turn = 0;
        [[maybe_unused]] int at_k = 0;
        int at_k_turn = 0;
        #pragma unroll
        for (int block = 0; block < 4; ++block)
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                #pragma unroll
                for (int i = 0; i < 8; ++i) {
                    const int pair = i / 2, lane = i % 2;
                    dot_sum[block][pair * 4 + half * 2 + lane] = 0.0f;
                }
            }
        #pragma unroll 1
        for (; first_at_k_turn < first_at_k_turns; ++first_at_k_turn) {
            first_at_k = first_at_k_turn * 64;
            if (first_at_k_turn < k_turns) {
                ab_A_load(args, ab_fill, at_m, first_at_k);
                ab_B_load(args, ab_fill, at_n, first_at_k);
                ab_advance(ab_fill);
            }
            copies_commit();
        }
        first_at_k = first_at_k_turn * 64;
        #pragma unroll 1
        for (; at_k_turn < k_turns; ++at_k_turn) {
            at_k = at_k_turn * 64;
            copies_wait_1();
            block_meet();
            if (at_k_turn + 2 < k_turns) {
                const int c11_0 = at_k + 128;
                ab_A_load(args, ab_fill, at_m, c11_0);
                const int c12_0 = at_k + 128;
                ab_B_load(args, ab_fill, at_n, c12_0);
                ab_advance(ab_fill);
            }
            copies_commit();
            ab_advance(ab_stage);
            mma_dot(dot_sum, ab_stage, ab_stage, warp, 1);
        }
        at_k = at_k_turn * 64;
        {
            // Rows 8 apart: one copy of the code serves all, for the choice of registers costs a few moves.
            #pragma unroll 1
            for (int slab = 0; slab < 8; ++slab) {
                float dot_sum_part[8];
                #pragma unroll
                for (int c = 0; c < 8; ++c)
                    if (c == slab) {
                        #pragma unroll
                        for (int i = 0; i < 4; ++i) {
                            dot_sum_part[i * 2] = dot_sum[c / 2][i * 4 + c % 2 * 2];
                            dot_sum_part[i * 2 + 1] = dot_sum[c / 2][i * 4 + c % 2 * 2 + 1];
                        }
                    }
                const int row = first_row + slab * 8;
                const int p0 = at_m + row;
                const bool p2 = p0 < args.M;
                #pragma unroll
                for (int pair = 0; pair < 4; ++pair) {
                    unsigned short *at[2];
                    bool inside[2];
                    float value[2];
                    #pragma unroll
                    for (int lane = 0; lane < 2; ++lane) {
                        const int column = pair * 8 + first_column + lane;
                        const int p1 = at_n + column;
                        const bool p3 = p1 < args.N;
                        const bool p4 = p2 && p3;
                        inside[lane] = p4;
                        at[lane] = args.D + ((i64)p0 * args.D_stride0 + (i64)p1);
                    }
                    if (!inside[0] && !inside[1])
                        continue;
                    #pragma unroll
                    for (int lane = 0; lane < 2; ++lane) {
                        value[lane] = dot_sum_part[pair * 2 + lane];
                    }
                    if (inside[0] && inside[1] && (u64)at[0] % 4 == 0) {
                        *(u32 *)at[0] = pack_bf16(value[0], value[1]);
                        continue;
                    }
                    if (inside[0])
                        *at[0] = to_bf16(value[0]);
                    if (inside[1])
                        *at[1] = to_bf16(value[1]);
                }
            }
        }
    }
}
