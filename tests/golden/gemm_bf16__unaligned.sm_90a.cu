// tilewright 1: kernel gemm_bf16, entry gemm_bf16__unaligned, arch sm_90a
// share.A 1, share.B 1, turned.D 0, cluster.m 2, cluster.n 1, schedule.order grouped, schedule.group 8,
// store_columns 32
// 213568 bytes of shared memory, 384 threads, ring ab of 4 stages

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, 320 bytes, as the host packs it. Strides are in elements.
struct arguments {
    tensor_map A_map; // byte 0
    tensor_map B_map; // byte 128
    unsigned short *D; // byte 256
    i64 D_stride0; // byte 264
    int M; // byte 272
    int N; // byte 276
    int K; // byte 280
};

extern __shared__ __align__(1024) unsigned char shared_memory[];

__device__ __forceinline__ u32 shared_address(u32 offset)
{
    return (u32)__cvta_generic_to_shared(shared_memory) + offset;
}

__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Returns once the barrier has completed the phase of this parity.
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity)
{
    u32 done;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}

// Arrives on the barrier at the same place in another block of the cluster.
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

__device__ __forceinline__ void barrier_arrive_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// After the initialisation by one thread, before the block's (or cluster's) barrier.
__device__ __forceinline__ void barrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void cluster_meet()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Starts the copy of the box at these coordinates into shared memory; its bytes are counted on the barrier.
__device__ __forceinline__ void tma_load_2d(u32 destination, const tensor_map *map, u32 barrier, int i0, int i1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(i1), "r"(i0)
                 : "memory");
}

// The same into every block of the cluster whose bit is set in blocks, at the same address and barrier of each.
__device__ __forceinline__ void tma_multicast_2d(u32 destination, const tensor_map *map, u32 barrier, int i0, int i1,
                                                 u16 blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(i1), "r"(i0), "h"(blocks)
                 : "memory");
}

__device__ __forceinline__ void tma_prefetch(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ __forceinline__ bool elect_one()
{
    u32 one;
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "elect.sync _|p, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(one));
    return one;
}

// Ring ab: 4 stages of 49152 bytes.
struct ab_position {
    u32 stage; // below 4
    u32 phase; // flips when the ring wraps
};

__device__ __forceinline__ void ab_advance(ab_position &p)
{
    if (++p.stage == 4) {
        p.stage = 0;
        p.phase ^= 1;
    }
}

__device__ __forceinline__ u32 ab_full(u32 stage)
{
    return shared_address(213504 + 8 * stage);
}

__device__ __forceinline__ u32 ab_empty(u32 stage)
{
    return shared_address(213536 + 8 * stage);
}

// By one thread, before anybody waits.
__device__ __forceinline__ void ab_init()
{
    for (u32 stage = 0; stage < 4; ++stage) {
        barrier_init(ab_full(stage), 1);
        barrier_init(ab_empty(stage), 16);
    }
}

// Filler: the stage may be written.
__device__ __forceinline__ void ab_wait_empty(ab_position p)
{
    barrier_wait(ab_empty(p.stage), p.phase ^ 1);
}

// Filler: announces the bytes of the whole stage.
__device__ __forceinline__ void ab_expect(ab_position p)
{
    barrier_arrive_expect(ab_full(p.stage), 49152);
}

// Drainer: the stage has arrived.
__device__ __forceinline__ void ab_wait_full(ab_position p)
{
    barrier_wait(ab_full(p.stage), p.phase);
}

// Drainer, every warp: nobody here reads the stage any more. Tells every block that fills it, and advances.
__device__ __forceinline__ void ab_release(ab_position &p)
{
    const u32 lane = threadIdx.x % 32;
    if (lane < 2)
        barrier_arrive_remote(ab_empty(p.stage), lane);
    ab_advance(p);
}

// Filler, at its end: waits until every stage is released, so that no other block arrives here after this one's exit.
__device__ __forceinline__ void ab_drain(ab_position p)
{
    for (u32 i = 0; i < 4; ++i) {
        barrier_wait(ab_empty(p.stage), p.phase ^ 1);
        ab_advance(p);
    }
}

// The tile of A at these coordinates.
__device__ __forceinline__ void A_load(const arguments &args, ab_position p, int i0, int i1)
{
    u32 stage = shared_address(p.stage * 16384);
    tma_load_2d(stage, &args.A_map, ab_full(p.stage), i0, i1);
}

// The tile of B at these coordinates: this block's 128 rows of it, for 2 blocks.
__device__ __forceinline__ void B_load(const arguments &args, ab_position p, int i0, int i1)
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    u32 share = rank % 2;
    u16 blocks = (u16)(0x3 << (rank - share));
    u32 stage = shared_address(65536 + p.stage * 32768 + share * 16384);
    tma_multicast_2d(stage, &args.B_map, ab_full(p.stage), i0 + (int)share * 128, i1, blocks);
}

__device__ __forceinline__ u64 matrix_descriptor(u32 address, u32 leading_bytes, u32 stride_bytes, u32 swizzle)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading_bytes >> 4) << 16 | (u64)(stride_bytes >> 4) << 32 |
           (u64)swizzle << 62;
}

// What threads did to registers before is done for the matrix instructions that follow.
__device__ __forceinline__ void mma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes the group of instructions issued since the last commit.
__device__ __forceinline__ void mma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// At most one group is still running after it.
__device__ __forceinline__ void mma_wait_1()
{
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}

// No group is still running after it.
__device__ __forceinline__ void mma_wait_0()
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// The registers of d in the statement below, by 64 rows.
#define mma_dot_d0 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"

// d = a b + (accumulate ? d : 0) for this warpgroup's rows: 1 x 4 instructions of 64 x 256 x 16.
// They run on; see mma_commit. One statement: the compiler looks at every register of d once.
__device__ __forceinline__ void mma_dot(float (&d)[1][128], u32 a_stage, u32 b_stage, u32 warpgroup, int accumulate)
{
    u32 a = shared_address(a_stage * 16384) + warpgroup * 8192;
    u64 a_tile = matrix_descriptor(a, 16, 1024, 1);
    u32 b = shared_address(65536 + b_stage * 32768);
    u64 b_tile = matrix_descriptor(b, 16, 1024, 1);
    asm volatile("{\n"
                 ".reg .pred sum, all;\n"
                 ".reg .b64 a, b;\n"
                 "setp.ne.b32 sum, %130, 0;\n"
                 "setp.eq.b32 all, 0, 0;\n"
                 "add.s64 b, %129, 0;\n"
                 "add.s64 a, %128, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " mma_dot_d0
                 ", a, b, sum, 1, 1, 0, 0;\n"
                 "add.s64 b, %129, 2;\n"
                 "add.s64 a, %128, 2;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " mma_dot_d0
                 ", a, b, all, 1, 1, 0, 0;\n"
                 "add.s64 b, %129, 4;\n"
                 "add.s64 a, %128, 4;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " mma_dot_d0
                 ", a, b, all, 1, 1, 0, 0;\n"
                 "add.s64 b, %129, 6;\n"
                 "add.s64 a, %128, 6;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " mma_dot_d0
                 ", a, b, all, 1, 1, 0, 0;\n"
                 "}"
                 : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[0][4]), "+f"(d[0][5]),
                 "+f"(d[0][6]), "+f"(d[0][7]), "+f"(d[0][8]), "+f"(d[0][9]), "+f"(d[0][10]), "+f"(d[0][11]),
                 "+f"(d[0][12]), "+f"(d[0][13]), "+f"(d[0][14]), "+f"(d[0][15]), "+f"(d[0][16]), "+f"(d[0][17]),
                 "+f"(d[0][18]), "+f"(d[0][19]), "+f"(d[0][20]), "+f"(d[0][21]), "+f"(d[0][22]), "+f"(d[0][23]),
                 "+f"(d[0][24]), "+f"(d[0][25]), "+f"(d[0][26]), "+f"(d[0][27]), "+f"(d[0][28]), "+f"(d[0][29]),
                 "+f"(d[0][30]), "+f"(d[0][31]), "+f"(d[0][32]), "+f"(d[0][33]), "+f"(d[0][34]), "+f"(d[0][35]),
                 "+f"(d[0][36]), "+f"(d[0][37]), "+f"(d[0][38]), "+f"(d[0][39]), "+f"(d[0][40]), "+f"(d[0][41]),
                 "+f"(d[0][42]), "+f"(d[0][43]), "+f"(d[0][44]), "+f"(d[0][45]), "+f"(d[0][46]), "+f"(d[0][47]),
                 "+f"(d[0][48]), "+f"(d[0][49]), "+f"(d[0][50]), "+f"(d[0][51]), "+f"(d[0][52]), "+f"(d[0][53]),
                 "+f"(d[0][54]), "+f"(d[0][55]), "+f"(d[0][56]), "+f"(d[0][57]), "+f"(d[0][58]), "+f"(d[0][59]),
                 "+f"(d[0][60]), "+f"(d[0][61]), "+f"(d[0][62]), "+f"(d[0][63]), "+f"(d[0][64]), "+f"(d[0][65]),
                 "+f"(d[0][66]), "+f"(d[0][67]), "+f"(d[0][68]), "+f"(d[0][69]), "+f"(d[0][70]), "+f"(d[0][71]),
                 "+f"(d[0][72]), "+f"(d[0][73]), "+f"(d[0][74]), "+f"(d[0][75]), "+f"(d[0][76]), "+f"(d[0][77]),
                 "+f"(d[0][78]), "+f"(d[0][79]), "+f"(d[0][80]), "+f"(d[0][81]), "+f"(d[0][82]), "+f"(d[0][83]),
                 "+f"(d[0][84]), "+f"(d[0][85]), "+f"(d[0][86]), "+f"(d[0][87]), "+f"(d[0][88]), "+f"(d[0][89]),
                 "+f"(d[0][90]), "+f"(d[0][91]), "+f"(d[0][92]), "+f"(d[0][93]), "+f"(d[0][94]), "+f"(d[0][95]),
                 "+f"(d[0][96]), "+f"(d[0][97]), "+f"(d[0][98]), "+f"(d[0][99]), "+f"(d[0][100]), "+f"(d[0][101]),
                 "+f"(d[0][102]), "+f"(d[0][103]), "+f"(d[0][104]), "+f"(d[0][105]), "+f"(d[0][106]), "+f"(d[0][107]),
                 "+f"(d[0][108]), "+f"(d[0][109]), "+f"(d[0][110]), "+f"(d[0][111]), "+f"(d[0][112]), "+f"(d[0][113]),
                 "+f"(d[0][114]), "+f"(d[0][115]), "+f"(d[0][116]), "+f"(d[0][117]), "+f"(d[0][118]), "+f"(d[0][119]),
                 "+f"(d[0][120]), "+f"(d[0][121]), "+f"(d[0][122]), "+f"(d[0][123]), "+f"(d[0][124]), "+f"(d[0][125]),
                 "+f"(d[0][126]), "+f"(d[0][127])
                 : "l"(a_tile), "l"(b_tile), "r"(accumulate));
}

struct item_order {
    int next; // what else there is to know is computed again for each item: registers are dear in between
};

// a / b. Few rows or columns of items need none of the 40 instructions that divide.
__device__ __forceinline__ u32 items_quotient(u32 a, u32 b)
{
    if (a < b)
        return 0;
    return b == 1 ? a : a / b;
}

__device__ __forceinline__ item_order items_begin(const arguments &args)
{
    item_order s = {(int)(blockIdx.x / 2)};
    return s;
}

// The next item of this block: false when there is none. at_AXIS is where it begins.
__device__ __forceinline__ bool items_next(const arguments &args, item_order &s, int &at_m, int &at_n)
{
    const u32 across_m = ((u32)args.M + 255) / 256;
    const u32 across_n = ((u32)args.N + 255) / 256;
    const u32 number = (u32)s.next;
    if (number >= across_m * across_n)
        return false;
    const u32 band = items_quotient(number, 8 * across_n);
    const u32 height = min(8u, across_m - band * 8);
    const u32 within = number - band * 8 * across_n;
    const u32 along = items_quotient(within, height), across = within - along * height;
    at_m = (int)((band * 8 + across) * 128);
    at_n = (int)(along * 256);
    s.next += (int)(gridDim.x / 2);
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    at_m = at_m * 2 + (int)(rank % 2) * 128;
    return true;
}

// Registers a thread of role producer, by all of its warps.
__device__ __forceinline__ void producer_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
}

// Registers a thread of role consumer, by all of its warps.
__device__ __forceinline__ void consumer_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}

__device__ __forceinline__ u16 to_bf16(float x)
{
    u16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}

extern "C" __global__ void __launch_bounds__(384, 1) gemm_bf16__unaligned(const __grid_constant__ arguments args)
{
    const u32 warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0); // one for the warp, as the compiler now knows
    if (threadIdx.x == 32) { // the first warp finds the block's first item meanwhile
        tma_prefetch(&args.A_map);
        tma_prefetch(&args.B_map);
        ab_init();
        barrier_init_fence();
    }
    item_order items = items_begin(args);
    int at_m = 0, at_n = 0;
    bool more = items_next(args, items, at_m, at_n);
    asm volatile("" : "+r"(at_m), "+r"(at_n)); // found now, beside what the barriers wait for
    cluster_meet();

    if (warpgroup == 0) {
        producer_registers();
        if (threadIdx.x < 32 && elect_one()) {
            ab_position ab_fill = {0, 0};
            const int t2_0 = args.K + 63;
            const int t2_1 = t2_0 / 64;
            const int k_turns = (int)t2_1;
            for (; more; more = items_next(args, items, at_m, at_n)) {
                [[maybe_unused]] int at_k = 0;
                int at_k_turn = 0;
                #pragma unroll 1
                for (; at_k_turn < k_turns; ++at_k_turn) {
                    at_k = at_k_turn * 64;
                    ab_wait_empty(ab_fill);
                    ab_expect(ab_fill);
                    A_load(args, ab_fill, at_m, at_k);
                    B_load(args, ab_fill, at_n, at_k);
                    ab_advance(ab_fill);
                }
                at_k = at_k_turn * 64;
            }
            ab_drain(ab_fill);
        }
    } else {
        consumer_registers();
        const u32 consumer = warpgroup - 1;
        const int first_column = threadIdx.x % 4 * 2;
        float dot_sum[1][128];
        ab_position ab_next = {0, 0}, ab_oldest = {0, 0};
        u32 ab_stage = 0;
        #pragma unroll
        for (int half = 0; half < 2; ++half) {
            #pragma unroll
            for (int i = 0; i < 64; ++i) {
                const int pair = i / 2, lane = i % 2;
                dot_sum[0][pair * 4 + half * 2 + lane] = 0.0f;
            }
        }
        const int t3_0 = args.K + 63;
        const int t3_1 = t3_0 / 64;
        const int k_turns = (int)t3_1;
        while (more) {
            [[maybe_unused]] int at_k = 0;
            int at_k_turn = 0;
            #pragma unroll 1
            for (; at_k_turn < k_turns; ++at_k_turn) {
                at_k = at_k_turn * 64;
                ab_wait_full(ab_next);
                ab_stage = ab_next.stage;
                ab_advance(ab_next);
                mma_fence();
                mma_dot(dot_sum, ab_stage, ab_stage, consumer, at_k_turn > 0);
                mma_commit();
                mma_wait_1();
                if (at_k_turn > 0)
                    ab_release(ab_oldest);
            }
            at_k = at_k_turn * 64;
            int next_m = 0, next_n = 0;
            more = items_next(args, items, next_m, next_n);
            asm volatile("" : "+r"(next_m), "+r"(next_n)); // found now, while the last products run
            mma_wait_0();
            if (at_k_turn > 0)
                ab_release(ab_oldest);
            {
                const u32 warp_of = threadIdx.x / 32 - 4;
                float *staged = (float *)(shared_memory + 196608 + warp_of * 2112);
                const int warp_row = (int)consumer * 64 + threadIdx.x % 128 / 32 * 16;
                #pragma unroll
                for (int part = 0; part < 8; ++part) {
                    const int block = part / 8, first_pair = part % 8 * 4;
                    #pragma unroll
                    for (int i = 0; i < 4; ++i)
                        #pragma unroll
                        for (int e = 0; e < 4; ++e)
                            staged[(threadIdx.x % 32 / 4 + e / 2 * 8) * 33 + i * 8 + first_column + e % 2] =
                                dot_sum[block][(first_pair + i) * 4 + e];
                    __syncwarp();
                    #pragma unroll 1
                    for (int i = threadIdx.x % 32; i < 512; i += 32) {
                        const int row = warp_row + block * 64 + i / 32, column = first_pair * 8 + i % 32;
                        const int p0 = at_m + row;
                        const bool p2 = p0 < args.M;
                        const int p1 = at_n + column;
                        const bool p3 = p1 < args.N;
                        const bool p4 = p2 && p3;
                        if (p4) {
                            const float held = staged[(i / 32) * 33 + i % 32];
                            args.D[(i64)p0 * args.D_stride0 + (i64)p1] = to_bf16(held);
                        }
                    }
                    __syncwarp();
                }
            }
            at_m = next_m;
            at_n = next_n;
        }
    }
}
