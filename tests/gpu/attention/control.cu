// Attention forward on Hopper, by hand: O = softmax(Q K^T scale) V and LSE, bf16, head size 128. It is the control that
// a derived kernel is compared with, so every line of its order could come from a list of steps. compare.py beside it
// checks it and times it beside cuDNN's.
//
// Tensors are [batch, sequence, heads, 128] with any strides that a tensor map takes; LSE is fp32, [batch, heads,
// sequence], of the natural logarithm. CAUSAL 1: a row sees no column behind its own. TURNS 1: the two consumers hand
// the tensor cores to each other.
//
// One block a multiprocessor, 384 threads: a producer warpgroup, of which one thread fills the rings, and two consumer
// warpgroups of 64 rows each. An item is 128 rows of one head; items are taken from a counter. Within an item tiles of
// K and V are taken from the last one down, so that the first turn is the only one with something to mask: tiles of Q
// and of K are as long as each other, so the diagonal, and the end of the sequence, lie in it.
//
//     ring   stages  filled by       a stage is released
//     item   2       producer        with Q
//     Q      1       2 bulk copies   behind the first S of the item: Q stays in registers from then on
//     K      2       2 bulk copies   behind the wait that covers its S
//     V      2       2 bulk copies   behind the wait that covers its O
//
// A consumer's order, S(j) the scores of turn j: the softmax of a turn runs under the O of the turn before.
//
//     S(0); wait; mask; softmax(0); P
//     turn j = 1 ..   issue S(j), issue O += P V(j-1); wait for S(j); softmax(j); wait for O; O *= r; P
//     behind them     O += P V(last); wait; O / sum to shared memory and to memory, under the next item
//
// Registers of a consumer thread: S 64, O 64, Q 32, P 32, of 240.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifndef CAUSAL
#define CAUSAL 0
#endif
#ifndef TURNS
#define TURNS 0
#endif

// A CUtensorMap: the driver's 128 opaque bytes.
struct alignas(64) tensor_map {
    u64 word[16];
};

// The kernel's parameter, 576 bytes. The maps have the dims 128, heads, sequence, batch and the 128-byte swizzle.
struct arguments {
    tensor_map Q_map;  // box 64, 1, 128, 1
    tensor_map K_map;  // box 64, 1, 128, 1
    tensor_map V_map;  // box 64, 1, 128, 1
    tensor_map O_map;  // box 64, 1, 16, 1
    float *LSE;
    u32 *counter;      // 2 words, 0 at the launch and again behind it: items taken, blocks that are done
    int batch, sequence, heads;
    int shared_by;     // heads of Q that share one of K and V
    int group;         // heads whose items are mixed: their K and V should fit into the L2 together
    float scale;       // of the scores, times log2(e)
};

// Shared memory: 64 columns of 128 rows are 16384 bytes, two of them a tile.
//
//     0       Q, 32768     32768   K, 2 x 32768     98304  V, 2 x 32768    163840  O, 8 warps x 4096
//     196608  barriers     196752  items, 2 x 16
static constexpr u32 HALF = 16384, TILE = 32768;
static constexpr u32 Q_AT = 0, K_AT = 32768, V_AT = 98304, O_AT = 163840, ITEM_AT = 196720;
static constexpr u32 Q_FULL = 196608, Q_EMPTY = 196616, K_FULL = 196624, K_EMPTY = 196640, V_FULL = 196656,
                     V_EMPTY = 196672, ITEM_FULL = 196688, ITEM_EMPTY = 196704;

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

__device__ __forceinline__ void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_arrive_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// What this thread did to shared memory, reads as well, is done before a bulk copy that is ordered behind it.
__device__ __forceinline__ void proxy_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void tma_load(u32 destination, const tensor_map *map, u32 barrier, int column, int head,
                                         int row, int batch)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(destination),
                 "l"(map), "r"(barrier), "r"(column), "r"(head), "r"(row), "r"(batch)
                 : "memory");
}

// Starts the copy of a box out of shared memory; what lies outside of the tensor is not written.
__device__ __forceinline__ void tma_store(const tensor_map *map, u32 source, int column, int head, int row, int batch)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
                 "r"(source), "r"(column), "r"(head), "r"(row), "r"(batch)
                 : "memory");
}

// Where a role stands in a ring.
struct position {
    u32 stage, phase; // the phase flips when the ring wraps
};

__device__ __forceinline__ void advance(position &p, u32 stages)
{
    if (++p.stage == stages) {
        p.stage = 0;
        p.phase ^= 1;
    }
}

// A ring's filler: the stage may be written. empty and full are the ring's first barriers of the kind.
__device__ __forceinline__ void wait_empty(u32 empty, position p)
{
    barrier_wait(shared_address(empty + 8 * p.stage), p.phase ^ 1);
}

// A ring's drainer: the stage has arrived.
__device__ __forceinline__ void wait_full(u32 full, position p)
{
    barrier_wait(shared_address(full + 8 * p.stage), p.phase);
}

// A ring's drainer, every warp: nobody in it reads the stage any more.
__device__ __forceinline__ void release(u32 empty, position p)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(shared_address(empty + 8 * p.stage));
}

// A ring's filler: a tile of 128 rows, from `row` on, into its stage. Goes on to the next stage.
__device__ __forceinline__ void fill(const tensor_map *map, u32 at, u32 full, u32 empty, position &p, u32 stages,
                                     int head, int row, int batch)
{
    wait_empty(empty, p);
    const u32 barrier = shared_address(full + 8 * p.stage), tile = shared_address(at + TILE * p.stage);
    barrier_arrive_expect(barrier, TILE);
    tma_load(tile, map, barrier, 0, head, row, batch);
    tma_load(tile + HALF, map, barrier, 64, head, row, batch);
    advance(p, stages);
}

// Matrix descriptor of a tile with the 128-byte swizzle: bits 62..63 the swizzle (1), 32..45 the bytes from 8 rows to
// the next, 16..29 those from 64 columns to the next 64 (read where V's columns are the instruction's n), 0..13 the
// address; lengths and address in units of 16 bytes.
__device__ __forceinline__ u64 matrix_descriptor(u32 address, u32 leading_bytes)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading_bytes >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// d = a b^T + (accumulate ? d : 0), 16 columns of Q from registers, b 128 rows of K.
__device__ __forceinline__ void s_mma(float (&d)[64], const u32 *a, u64 b, int accumulate)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 0;\n"
                 "}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                   "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                   "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                   "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                   "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
                   "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),
                   "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
                   "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}

// d = a b + (accumulate ? d : 0), 16 columns of P from registers, b as many rows of V.
__device__ __forceinline__ void o_mma(float (&d)[64], const u32 *a, u64 b, int accumulate)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.b32 p, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n"
                 "}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                   "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                   "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                   "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                   "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
                   "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),
                   "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
                   "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));
}

// Registers that the next wgmma uses and that were written by other instructions are ready for it.
__device__ __forceinline__ void mma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void mma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// The compiler must not move uses of d above the wait before it: it knows of no other tie between the two.
__device__ __forceinline__ void pin(float (&d)[64])
{
    asm volatile(""
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                   "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                   "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                   "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                   "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
                   "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),
                   "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
                   "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 :
                 : "memory");
}

__device__ __forceinline__ void mma_wait_0(float (&d)[64])
{
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    pin(d);
}

// All groups but the last are complete; d is the accumulator of one of them.
__device__ __forceinline__ void mma_wait_1(float (&d)[64])
{
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    pin(d);
}

// This consumer's 64 rows of Q as operands: q[4 i] .. q[4 i + 3] are columns 16 i .. 16 i + 15.
__device__ __forceinline__ void q_read(u32 (&q)[32], u32 consumer)
{
    const u32 lane = threadIdx.x % 32, row = consumer * 64 + threadIdx.x / 32 % 4 * 16 + lane % 16;
    #pragma unroll
    for (u32 i = 0; i < 8; ++i) {
        const u32 at = i / 4 * HALF + row * 128 + ((i % 4 * 32 + lane / 16 * 16) ^ (row % 8 * 16));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(q[4 * i]), "=r"(q[4 * i + 1]), "=r"(q[4 * i + 2]), "=r"(q[4 * i + 3])
                     : "r"(shared_address(Q_AT) + at)
                     : "memory");
    }
}

// S = Q K^T, a group.
__device__ __forceinline__ void s_issue(float (&s)[64], const u32 (&q)[32], u32 stage)
{
    const u64 k = matrix_descriptor(shared_address(K_AT + TILE * stage), 16);
    mma_fence();
    #pragma unroll
    for (int i = 0; i < 8; ++i)
        s_mma(s, q + 4 * i, k + i / 4 * (HALF / 16) + i % 4 * 2, i > 0);
    mma_commit();
}

// O = P V + (accumulate ? O : 0), a group.
__device__ __forceinline__ void o_issue(float (&o)[64], const u32 (&p)[32], u32 stage, int accumulate)
{
    const u64 v = matrix_descriptor(shared_address(V_AT + TILE * stage), HALF);
    mma_fence();
    #pragma unroll
    for (int i = 0; i < 8; ++i)
        o_mma(o, p + 4 * i, v + i * (16 * 128 / 16), i > 0 ? 1 : accumulate);
    mma_commit();
}

__device__ __forceinline__ float exp2_approx(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

__device__ __forceinline__ float log2_approx(float x)
{
    float r;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

__device__ __forceinline__ float reciprocal_approx(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

// Two neighbours in one word, the first in the low half.
__device__ __forceinline__ u32 pack_bf16(float first, float second)
{
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}

// Fragments of S and O, a warpgroup's 64 rows: warp w holds rows 16 w .. 16 w + 15; of 8 columns j
//     d[4 j + 0], d[4 j + 1]   row lane / 4,     columns 8 j + 2 (lane % 4), + 1
//     d[4 j + 2], d[4 j + 3]   row lane / 4 + 8, the same columns
// so a thread has two rows, and the four lanes of a quad have them together.

// Columns from end[h] on of the thread's row h are not seen.
__device__ __forceinline__ void mask(float (&s)[64], const int (&end)[2])
{
    const int column = (int)(threadIdx.x % 4 * 2);
    #pragma unroll
    for (int i = 0; i < 64; ++i)
        if (column + i / 4 * 8 + i % 2 >= end[i / 2 % 2])
            s[i] = -__int_as_float(0x7f800000);
}

struct row_state {
    float most[2]; // of the scores so far, not scaled
    float sum[2];  // of this thread's columns alone
};

// s becomes exp2((s - most) scale), and r what earlier sums and O are multiplied with. The scale and the maximum are
// one fused multiply-add an element. Every row has a column that it sees in the first turn, so most is finite.
__device__ __forceinline__ void softmax(float (&s)[64], row_state &row, float (&r)[2], float scale, bool first)
{
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        float even = s[2 * h], odd = s[2 * h + 1];
        #pragma unroll
        for (int j = 1; j < 16; ++j) {
            even = fmaxf(even, s[4 * j + 2 * h]);
            odd = fmaxf(odd, s[4 * j + 2 * h + 1]);
        }
        float most = fmaxf(even, odd);
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
        if (!first) {
            most = fmaxf(most, row.most[h]);
            r[h] = exp2_approx((row.most[h] - most) * scale);
        }
        row.most[h] = most;
        const float offset = most * scale;
        #pragma unroll
        for (int j = 0; j < 16; ++j) {
            s[4 * j + 2 * h] = exp2_approx(__fmaf_rn(s[4 * j + 2 * h], scale, -offset));
            s[4 * j + 2 * h + 1] = exp2_approx(__fmaf_rn(s[4 * j + 2 * h + 1], scale, -offset));
        }
        even = s[2 * h], odd = s[2 * h + 1];
        #pragma unroll
        for (int j = 1; j < 16; ++j) {
            even += s[4 * j + 2 * h];
            odd += s[4 * j + 2 * h + 1];
        }
        row.sum[h] = first ? even + odd : __fmaf_rn(row.sum[h], r[h], even + odd);
    }
}

// The fragment of S is the operand of 16 columns a step, two by two.
__device__ __forceinline__ void convert(u32 (&p)[32], const float (&s)[64])
{
    #pragma unroll
    for (int i = 0; i < 32; ++i)
        p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
}

__device__ __forceinline__ void rescale(float (&o)[64], const float (&r)[2])
{
    #pragma unroll
    for (int i = 0; i < 64; ++i)
        o[i] *= r[i / 2 % 2];
}

struct item {
    int row, head, batch; // of Q, its first row
    int turns;            // tiles of K and V; 0: there are no more items
};

// Items in the order in which they are taken: `group` heads after each other, in a group the longest first and a head
// after the other. Few heads at a time are read, so K and V come from the L2, and what ends last is short.
__device__ __forceinline__ item item_decode(const arguments &args, int number)
{
    const int tiles = (args.sequence + 127) / 128, heads = args.batch * args.heads;
    if (number >= tiles * heads)
        return {0, 0, 0, 0};
    const int first = number / (tiles * args.group) * args.group, across = min(args.group, heads - first);
    const int within = number - first * tiles, tile = within / across, head = first + within % across;
    item w;
    w.row = (CAUSAL ? tiles - 1 - tile : tile) * 128;
    w.batch = head / args.heads;
    w.head = head % args.heads;
    w.turns = CAUSAL ? w.row / 128 + 1 : tiles;
    return w;
}

// The producer's side of ring item.
__device__ __forceinline__ void item_put(item w, position &p)
{
    wait_empty(ITEM_EMPTY, p);
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(ITEM_AT + 16 * p.stage)), "r"(w.row),
                 "r"(w.head), "r"(w.batch), "r"(w.turns)
                 : "memory");
    barrier_arrive(shared_address(ITEM_FULL + 8 * p.stage));
    advance(p, 2);
}

// A consumer's.
__device__ __forceinline__ item item_get(position p)
{
    wait_full(ITEM_FULL, p);
    item w;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.row), "=r"(w.head), "=r"(w.batch), "=r"(w.turns)
                 : "r"(shared_address(ITEM_AT + 16 * p.stage))
                 : "memory");
    return w;
}

#if TURNS
// A consumer issues its S and O behind the other's: while one has the tensor cores, the other has its softmax.
__device__ __forceinline__ void turn_take(u32 consumer)
{
    asm volatile("bar.sync %0, 256;" ::"r"(1 + consumer) : "memory");
}

__device__ __forceinline__ void turn_pass(u32 consumer)
{
    asm volatile("bar.arrive %0, 256;" ::"r"(2 - consumer) : "memory");
}
#else
__device__ __forceinline__ void turn_take(u32) {}
__device__ __forceinline__ void turn_pass(u32) {}
#endif

// O / sum and LSE to memory. A warp stages its own 16 rows and sends them off itself; they leave under the next item.
__device__ __forceinline__ void finish(const arguments &args, const float (&o)[64], const row_state &row, const item &w,
                                       u32 consumer)
{
    const u32 lane = threadIdx.x % 32, warp = consumer * 4 + threadIdx.x / 32 % 4;
    const int first = w.row + (int)warp * 16;
    float inverse[2];
    #pragma unroll
    for (int h = 0; h < 2; ++h) {
        float sum = row.sum[h];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        inverse[h] = reciprocal_approx(sum);
        const int at = first + (int)(lane / 4) + 8 * h;
        if (lane % 4 == 0 && at < args.sequence)
            args.LSE[((i64)w.batch * args.heads + w.head) * args.sequence + at] =
                (row.most[h] * args.scale + log2_approx(sum)) * 0.693147181f;
    }
    if (lane == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncwarp();
    const u32 base = shared_address(O_AT) + warp * 4096;
    #pragma unroll
    for (u32 j = 0; j < 16; j += 2) {
        u32 word[4];
        #pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            // Matrix i: rows 8 (i % 2), columns 8 (i / 2) of this step.
            const u32 d = (j + i / 2) * 4 + i % 2 * 2;
            word[i] = pack_bf16(o[d] * inverse[i % 2], o[d + 1] * inverse[i % 2]);
        }
        const u32 at = j / 8 * 2048 + lane % 16 * 128 + ((j % 8 * 16 + lane / 16 * 16) ^ (lane % 8 * 16));
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(base + at), "r"(word[0]),
                     "r"(word[1]), "r"(word[2]), "r"(word[3])
                     : "memory");
    }
    proxy_fence();
    __syncwarp();
    if (lane == 0) {
        tma_store(&args.O_map, base, 0, w.head, first, w.batch);
        tma_store(&args.O_map, base + 2048, 64, w.head, first, w.batch);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

// One thread: items, and tiles in the order in which consumers wait for them: Q K(0), K(1) V(0), K(2) V(1) .. V(last).
__device__ __forceinline__ void produce(const arguments &args)
{
    position q = {0, 0}, k = {0, 0}, v = {0, 0}, items = {0, 0};
    int number = (int)blockIdx.x;
    for (;;) {
        const item w = item_decode(args, number);
        item_put(w, items);
        if (w.turns == 0)
            break;
        const int head = w.head / args.shared_by;
        fill(&args.Q_map, Q_AT, Q_FULL, Q_EMPTY, q, 1, w.head, w.row, w.batch);
        number = (int)(gridDim.x + atomicAdd(args.counter, 1u));
        #pragma unroll 1
        for (int turn = w.turns; turn >= 0; --turn) {
            if (turn > 0)
                fill(&args.K_map, K_AT, K_FULL, K_EMPTY, k, 2, head, (turn - 1) * 128, w.batch);
            if (turn < w.turns)
                fill(&args.V_map, V_AT, V_FULL, V_EMPTY, v, 2, head, turn * 128, w.batch);
        }
    }
    // Whoever is last leaves the counter as it was found: each block has taken its last number, and says so in order.
    u32 done;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(done) : "l"(args.counter + 1) : "memory");
    if (done + 1 == gridDim.x) {
        args.counter[0] = 0;
        args.counter[1] = 0;
    }
}

__device__ __forceinline__ void consume(const arguments &args, u32 consumer)
{
    position q_at = {0, 0}, k = {0, 0}, v = {0, 0}, items = {0, 0};
    float s[64], o[64], r[2];
    u32 q[32], p[32];
    row_state row;
    #pragma unroll
    for (int i = 0; i < 64; ++i)
        o[i] = 0.0f;
    if (consumer == 1)
        turn_pass(consumer);
    for (;;) {
        const item w = item_get(items);
        if (w.turns == 0)
            break;
        wait_full(Q_FULL, q_at);
        q_read(q, consumer);
        wait_full(K_FULL, k);
        turn_take(consumer);
        s_issue(s, q, k.stage);
        turn_pass(consumer);
        mma_wait_0(s);
        release(K_EMPTY, k);
        advance(k, 2);
        // Not before this wait, and with a fence: an arrival overtakes an ldmatrix that has not returned, and the next
        // rows of Q would come in under it.
        proxy_fence();
        __syncwarp();
        release(Q_EMPTY, q_at);
        advance(q_at, 1);
        release(ITEM_EMPTY, items);
        advance(items, 2);
        const int seen = args.sequence - (w.turns - 1) * 128; // columns of this tile
        const int own = (int)(consumer * 64 + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4) + 1;
        const int end[2] = {CAUSAL ? min(seen, own) : seen, CAUSAL ? min(seen, own + 8) : seen};
        mask(s, end);
        softmax(s, row, r, args.scale, true);
        convert(p, s);
        #pragma unroll 1
        for (int turn = 1; turn < w.turns; ++turn) {
            wait_full(K_FULL, k);
            turn_take(consumer);
            s_issue(s, q, k.stage);
            wait_full(V_FULL, v);
            o_issue(o, p, v.stage, turn > 1);
            turn_pass(consumer);
            mma_wait_1(s);
            release(K_EMPTY, k);
            advance(k, 2);
            softmax(s, row, r, args.scale, false);
            mma_wait_0(o);
            release(V_EMPTY, v);
            advance(v, 2);
            rescale(o, r);
            convert(p, s);
        }
        wait_full(V_FULL, v);
        turn_take(consumer);
        o_issue(o, p, v.stage, w.turns > 1);
        turn_pass(consumer);
        mma_wait_0(o);
        release(V_EMPTY, v);
        advance(v, 2);
        finish(args, o, row, w, consumer);
    }
    if (consumer == 0)
        turn_take(consumer); // the last pass of the other
    if (threadIdx.x % 32 == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

extern "C" __global__ void __launch_bounds__(384, 1) attention(const __grid_constant__ arguments args)
{
    if (threadIdx.x == 0) {
        barrier_init(shared_address(Q_FULL), 1);
        barrier_init(shared_address(Q_EMPTY), 8);
        for (u32 stage = 0; stage < 2; ++stage) {
            barrier_init(shared_address(K_FULL + 8 * stage), 1);
            barrier_init(shared_address(K_EMPTY + 8 * stage), 8);
            barrier_init(shared_address(V_FULL + 8 * stage), 1);
            barrier_init(shared_address(V_EMPTY + 8 * stage), 8);
            barrier_init(shared_address(ITEM_FULL + 8 * stage), 1);
            barrier_init(shared_address(ITEM_EMPTY + 8 * stage), 8);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0)
            produce(args);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        consume(args, threadIdx.x / 128 - 1);
    }
}
