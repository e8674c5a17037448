// tilewright 1: kernel gemm_bf16_bias_gelu, entry gemm_bf16_bias_gelu, arch sm_90a
// store tma, tile.m 128, tile.n 256, tile.k 64, cluster.m 2, cluster.n 1, schedule.order grouped, schedule.group 8,
// extent.m (i64)args.M, extent.n (i64)args.N, extent.k (i64)args.K
// 229440 bytes of shared memory, 384 threads, ring ab of 4 stages, ring d of 2 stages

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, 448 bytes, as the host packs it. Strides are in elements.
struct arguments {
    tensor_map A_map; // byte 0
    tensor_map B_map; // byte 128
    tensor_map D_map; // byte 256
    const unsigned short * bias; // byte 384
    const unsigned short * R; // byte 392
    i64 R_stride0; // byte 400
    int M; // byte 408
    int N; // byte 412
    int K; // byte 416
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
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Starts the copy of the box at (inner, outer) into shared memory; its bytes are counted on the barrier.
__device__ __forceinline__ void tma_load(u32 destination, const tensor_map *map, u32 barrier, int inner, int outer)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(inner), "r"(outer)
                 : "memory");
}

// The same into every block of the cluster whose bit is set in blocks, at the same address and barrier of each.
__device__ __forceinline__ void tma_load_multicast(u32 destination, const tensor_map *map, u32 barrier, int inner,
                                                   int outer, u16 blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(inner), "r"(outer), "h"(blocks)
                 : "memory");
}

// Starts the copy of a box out of shared memory; what lies outside of the tensor is not written.
__device__ __forceinline__ void tma_store(const tensor_map *map, u32 source, int inner, int outer)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(source),
                 "r"(inner), "r"(outer)
                 : "memory");
}

__device__ __forceinline__ void tma_prefetch(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Ring ab: 4 stages of 49152 bytes.
struct ab_position {
    u32 stage; // 0 .. 4 - 1
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
    return shared_address(229376 + 8 * stage);
}

__device__ __forceinline__ u32 ab_empty(u32 stage)
{
    return shared_address(229408 + 8 * stage);
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
    barrier_wait(ab_full(p.stage), p.phase ^ 0);
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

// The tile of A at (outer, inner).
__device__ __forceinline__ void A_load(const arguments &args, ab_position p, int outer, int inner)
{
    u32 stage = shared_address(0 + p.stage * 16384);
    tma_load(stage + 0, &args.A_map, ab_full(p.stage), inner + 0, outer);
}

// The tile of B at (outer, inner): this block's 128 of its 256 rows, for 2 blocks.
__device__ __forceinline__ void B_load(const arguments &args, ab_position p, int outer, int inner)
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    u32 share = rank % 2;
    u16 blocks = (u16)(0x3 << (rank - share * 1));
    u32 stage = shared_address(65536 + p.stage * 32768 + share * 16384);
    tma_load_multicast(stage + 0, &args.B_map, ab_full(p.stage), inner + 0, outer + (int)share * 128, blocks);
}

__device__ __forceinline__ u64 matrix_descriptor(u32 address, u32 leading_bytes, u32 stride_bytes, u32 swizzle)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading_bytes >> 4) << 16 | (u64)(stride_bytes >> 4) << 32 |
           (u64)swizzle << 62;
}

// d = a b + (accumulate ? d : 0) for one 64 x 256 block and 16 steps along k.
__device__ __forceinline__ void mma_issue(float (&d)[128], u64 a, u64 b, int accumulate)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, p, 1, 1, 0, 0;\n"
                 "}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                 "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                 "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
                 "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
                 "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
                 "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
                 "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
                 "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
                 "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
                 "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
                 "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
                 : "l"(a), "l"(b), "r"(accumulate));
}

// One stage: 1 x 4 instructions for this warpgroup's rows. They run on; see mma_commit.
__device__ __forceinline__ void mma(float (&d)[1][128], u32 stage, u32 warpgroup, int accumulate)
{
    u32 a = shared_address(0 + stage * 16384) + warpgroup * 1 * 8192;
    u32 b = shared_address(65536 + stage * 32768);
    u64 a_tile = matrix_descriptor(a, 16, 1024, 1);
    u64 b_tile = matrix_descriptor(b, 16, 1024, 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    mma_issue(d[0], a_tile + 0, b_tile + 0, accumulate);
    mma_issue(d[0], a_tile + 2, b_tile + 2, 1);
    mma_issue(d[0], a_tile + 4, b_tile + 4, 1);
    mma_issue(d[0], a_tile + 6, b_tile + 6, 1);
}

// The sum over no elements.
__device__ __forceinline__ void mma_clear(float (&d)[1][128])
{
    #pragma unroll
    for (int block = 0; block < 1; ++block)
        #pragma unroll
        for (int i = 0; i < 128; ++i)
            d[block][i] = 0.0f;
}

// Closes the group of instructions issued since the last commit.
__device__ __forceinline__ void mma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// At most 1 groups are still running after it.
__device__ __forceinline__ void mma_wait_1()
{
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}

// At most 0 groups are still running after it.
__device__ __forceinline__ void mma_wait_0()
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

struct tile_schedule {
    int across_m, across_n; // clusters of tiles along m and n
    int next, step, count;
    u32 rank;               // of this block in its cluster
};

__device__ __forceinline__ tile_schedule schedule_begin(const arguments &args)
{
    tile_schedule s;
    s.across_m = (int)(((i64)args.M + 256 - 1) / 256);
    s.across_n = (int)(((i64)args.N + 256 - 1) / 256);
    s.count = s.across_m * s.across_n;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(s.rank));
    s.next = (int)(blockIdx.x / 2);
    s.step = (int)(gridDim.x / 2);
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
    m = (at_m * 2 + (int)(s.rank % 2)) * 128;
    n = (at_n * 1 + (int)(s.rank / 2)) * 256;
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

// x times the normal distribution's integral up to x.
// A function of its own: erff is long, and an epilogue calls it for many elements.
__device__ __noinline__ float ew_gelu(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.707106781f));
}

__device__ __forceinline__ void bias_read(const arguments &args, int m, int n, float &x0, float &x1)
{
    const int column = min(n, (int)((i64)args.N) - 2); // both are even
    u32 both = 0;
    both = *(const u32 *)(args.bias + column);
    x0 = from_bf16((u16)both);
    x1 = from_bf16((u16)(both >> 16));
}

__device__ __forceinline__ void R_read(const arguments &args, int m, int n, float &x0, float &x1)
{
    const int row = min(m, (int)((i64)args.M) - 1);
    const int column = min(n, (int)((i64)args.N) - 2); // both are even
    u32 both = 0;
    both = *(const u32 *)(args.R + row * args.R_stride0 + column);
    x0 = from_bf16((u16)both);
    x1 = from_bf16((u16)(both >> 16));
}

__device__ __forceinline__ void D_epilogue(const arguments &args, float &v0, float &v1, int m, int n)
{
    float bias0, bias1;
    bias_read(args, m, n, bias0, bias1);
    float R0, R1;
    R_read(args, m, n, R0, R1);
    {
        float e_0 = v0 + bias0;
        float e_1 = ew_gelu(e_0);
        float e_2 = e_1 + R0;
        v0 = e_2;
    }
    {
        float e_0 = v1 + bias1;
        float e_1 = ew_gelu(e_0);
        float e_2 = e_1 + R1;
        v1 = e_2;
    }
}

__device__ __forceinline__ u32 d_buffer(u32 consumer, u32 buffer)
{
    return shared_address(196608 + consumer * 16384 + buffer * 8192);
}

__device__ __forceinline__ void d_barrier(u32 consumer)
{
    asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory");
}

// What this thread wrote to shared memory is seen by the bulk store that follows the next barrier.
__device__ __forceinline__ void d_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The storing thread: at most 1 stores still read their buffer.
__device__ __forceinline__ void d_wait()
{
    if (threadIdx.x % 128 == 0)
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}

// The storing thread: at most 0 stores still read their buffer.
__device__ __forceinline__ void d_wait_0()
{
    if (threadIdx.x % 128 == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Where byte `at` of a chunk lies: swizzle 128B.
__device__ __forceinline__ u32 D_place(u32 base, u32 at)
{
    return base + (at ^ (at >> 3 & 112));
}

// Chunk number `chunk` of a consumer's accumulators: 64 columns of one 64-row block. Where the loop over chunks is
// not unrolled, the choice costs a few moves, and the epilogue stands in the code once instead of once a chunk.
__device__ __forceinline__ void D_part(const float (&d)[1][128], int chunk, float (&part)[64 / 2])
{
    #pragma unroll
    for (int c = 0; c < 4; ++c)
        if (c == chunk) {
            #pragma unroll
            for (int i = 0; i < 64 / 2; ++i)
                part[i] = d[c / 4][c % 4 * (64 / 2) + i];
        }
}

// The part, whose row 0 and column 0 are m and n of D, into a buffer.
__device__ __forceinline__ void D_write(const arguments &args, const float (&d)[64 / 2], u32 consumer,
                                              u32 buffer, int m, int n)
{
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    const u32 base = d_buffer(consumer, buffer);
    const int row = m + (int)(warp * 16 + lane / 4), column = n + (int)(lane % 4 * 2);
    #pragma unroll
    for (int j = 0; j < 64 / 8; j += 2) {
        u32 word[4];
        #pragma unroll
        for (int q = 0; q < 4; ++q) {
            // Matrix q: rows 8 (q % 2), columns 8 (q / 2) of this step.
            const int i = (j + q / 2) * 4 + q % 2 * 2;
            float v0 = d[i], v1 = d[i + 1];
            D_epilogue(args, v0, v1, row + q % 2 * 8, column + (j + q / 2) * 8);
            word[q] = pack_bf16(v0, v1);
        }
        // Lane l gives the address of row l % 8 of matrix l / 8, 16 bytes.
        const u32 at = (warp * 16 + lane % 16) * 128 + (j + lane / 16) * 16;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(D_place(base, at)), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
    }
}

// One thread starts the store of the part at (m, n) and closes its group. Goes on to the next buffer.
__device__ __forceinline__ void D_store(const arguments &args, u32 consumer, u32 &buffer, int m, int n)
{
    if (threadIdx.x % 128 == 0) {
        const u32 base = d_buffer(consumer, buffer);
        tma_store(&args.D_map, base + 0, n + 0, m);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    buffer = buffer + 1 == 2 ? 0 : buffer + 1;
}

extern "C" __global__ void __launch_bounds__(384, 1) gemm_bf16_bias_gelu(const __grid_constant__ arguments args)
{
    const u32 warpgroup = threadIdx.x / 128;
    const int steps = (int)(((i64)args.K + 64 - 1) / 64);
    if (threadIdx.x == 0) {
        tma_prefetch(&args.A_map);
        tma_prefetch(&args.B_map);
        tma_prefetch(&args.D_map);
        ab_init();
        barrier_init_fence();
    }
    cluster_meet();

    tile_schedule tiles = schedule_begin(args);
    int m, n;
    if (threadIdx.x < 128) {
        producer_registers();
        if (threadIdx.x == 0) {
            ab_position fill = {0, 0};
            while (schedule_next(tiles, m, n)) {
                #pragma unroll 1
                for (int step = 0; step < steps; ++step) {
                    ab_wait_empty(fill);
                    ab_expect(fill);
                    A_load(args, fill, m, step * 64);
                    B_load(args, fill, n, step * 64);
                    ab_advance(fill);
                }
            }
            ab_drain(fill);
        }
    } else {
        consumer_registers();
        const u32 consumer = warpgroup - 1;
        float sum[1][128];
        mma_clear(sum); // stays so where K is 0
        ab_position read = {0, 0}, release = {0, 0};
        u32 buffer = 0;
        while (schedule_next(tiles, m, n)) {
            #pragma unroll 1
            for (int step = 0; step < steps; ++step) {
                ab_wait_full(read);
                mma(sum, read.stage, consumer, step > 0);
                mma_commit();
                ab_advance(read);
                mma_wait_1();
                if (step > 0) {
                    ab_release(release);
                }
            }
            mma_wait_0();
            if (steps > 0) {
                ab_release(release);
            }
            m += (int)consumer * 64;
            #pragma unroll 1
            for (int chunk = 0; chunk < 4; ++chunk) {
                const int at_m = m + chunk / 4 * 64, at_n = n + chunk % 4 * 64;
                float part[64 / 2];
                D_part(sum, chunk, part);
                d_wait();
                d_barrier(consumer);
                D_write(args, part, consumer, buffer, at_m, at_n);
                d_fence();
                d_barrier(consumer);
                D_store(args, consumer, buffer, at_m, at_n);
            }
        }
        d_wait_0();
    }
}
