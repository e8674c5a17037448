/* What the kernels of test_tcgen05.c share: tcgen05 as it is written by hand, operands in shared memory in each layout,
   and a product of M x N x K. Defined before this: M N K, BYTES of an element, SPAN_A SPAN_B of the swizzles (0: none),
   TRANS_A TRANS_B (MN-major), KIND, IDESC, and BUG. A statement that a bug takes out stands in IF_NOT(its number). */
#define F __device__ __forceinline__
#define IF_NOT(bug) if (BUG != (bug))
#define COLUMNS (N <= 32 ? 32 : N <= 64 ? 64 : N <= 128 ? 128 : 256)
extern __shared__ __align__(1024) unsigned char tile[];

F unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
F unsigned at(unsigned byte) { return (shared_address(tile) + 1023) / 1024 * 1024 + byte; }

/* ---- Barriers and fences ---- */
F void barrier_init(unsigned bar, unsigned n)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
F void wait(unsigned bar, unsigned parity)
{
    unsigned done;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    while (!done);
}
F void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
F void fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
F void fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

/* ---- Tensor memory ---- */
F void alloc_to(unsigned *to, unsigned columns)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(to)),
                 "r"(columns) : "memory");
}
F void relinquish() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory"); }
/* Warp 0 allocates for all: the block meets. */
F unsigned alloc(unsigned columns)
{
    __shared__ unsigned place;
    if (threadIdx.x < 32) {
        alloc_to(&place, columns);
        relinquish();
    }
    fence_before();
    __syncthreads();
    fence_after();
    return place;
}
F void dealloc_here(unsigned tensor, unsigned columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(tensor), "r"(columns) : "memory");
}
F void dealloc(unsigned tensor, unsigned columns)
{
    if (threadIdx.x < 32)
        dealloc_here(tensor, columns);
}
F unsigned lanes(unsigned tensor) { return tensor + (threadIdx.x / 32 % 4 << 21); }
F void ld1(unsigned from, unsigned (&r)[1])
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 %0, [%1];" : "=r"(r[0]) : "r"(from) : "memory");
}
F void ld8(unsigned from, unsigned (&r)[8])
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(from) : "memory");
}
/* 16 lanes of 8 columns, in each shape that has them. */
F void ld_16x64(unsigned from, unsigned (&r)[4])
{
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
F void ld_16x128(unsigned from, unsigned (&r)[4])
{
    asm volatile("tcgen05.ld.sync.aligned.16x128b.x2.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
F void ld_16x256(unsigned from, unsigned (&r)[4])
{
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
F void ld_packed(unsigned from, unsigned (&r)[4])
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
F void st_packed(unsigned to, const unsigned (&r)[4])
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%4], {%0, %1, %2, %3};" ::"r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3]), "r"(to) : "memory");
}
F void st_16x256(unsigned to, const unsigned (&r)[4])
{
    asm volatile("tcgen05.st.sync.aligned.16x256b.x1.b32 [%4], {%0, %1, %2, %3};" ::"r"(r[0]), "r"(r[1]), "r"(r[2]),
                 "r"(r[3]), "r"(to) : "memory");
}
F void st1(unsigned to, unsigned value)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
}
F void st8(unsigned to, const unsigned (&r)[8])
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7};" ::"r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]), "r"(to) : "memory");
}
F void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
F void wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
F void commit(unsigned bar)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
F void mma_as(unsigned d, unsigned long long a, unsigned long long b, unsigned descriptor, unsigned accumulate)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1." KIND " [%0], %1, %2, %3, p; }" ::"r"(d),
                 "l"(a), "l"(b), "r"(descriptor), "r"(accumulate) : "memory");
}
F void mma(unsigned d, unsigned long long a, unsigned long long b, unsigned accumulate)
{
    mma_as(d, a, b, IDESC, accumulate);
}
F void mma_tensor(unsigned d, unsigned a, unsigned long long b, unsigned accumulate)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1." KIND
                 " [%0], [%1], %2, %3, p; }" ::"r"(d), "r"(a), "l"(b), "r"(IDESC), "r"(accumulate) : "memory");
}
F void mma_masked(unsigned d, unsigned long long a, unsigned long long b, unsigned accumulate, const unsigned (&m)[4])
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1." KIND
                 " [%0], %1, %2, %3, {%5, %6, %7, %8}, p; }" ::"r"(d), "l"(a), "l"(b), "r"(IDESC), "r"(accumulate),
                 "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]) : "memory");
}

/* ---- Operands in shared memory: `rows` of M or N, K elements each ---- */
F unsigned swizzled(unsigned address, unsigned span)
{
    return address ^ (span ? address >> 3 & (span - 16) : 0);
}
/* Bytes from the operand's start to an element, before the swizzle. */
F unsigned offset_of(unsigned row, unsigned k, unsigned rows, unsigned span, bool transposed)
{
    if (!transposed) {
        unsigned x = k * BYTES;
        return span ? x / span * (rows * span) + row / 8 * (8 * span) + row % 8 * span + x % span
                    : row / 8 * 128 + x / 16 * (rows * 16) + row % 8 * 16 + x % 16;
    }
    unsigned x = row * BYTES;
    return span ? x / span * (K * span) + k / 8 * (8 * span) + k % 8 * span + x % span
                : x / 16 * (K * 16) + k / 8 * 128 + k % 8 * 16 + x % 16;
}
F unsigned long long matrix(unsigned start, unsigned k, unsigned rows, unsigned span, bool transposed)
{
    const unsigned stride = span ? 8 * span : transposed ? K * 16 : 128;
    const unsigned leading = span ? transposed ? K * span : 16 : transposed ? 128 : rows * 16;
    const unsigned long long mode = span == 128 ? 2 : span == 64 ? 4 : span == 32 ? 6 : 0;
    const unsigned first = start + offset_of(0, k, rows, span, transposed);
    return (first & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16 |
           (unsigned long long)(stride >> 4) << 32 | 1ull << 46 | mode << 61;
}
F void write_element(unsigned address, const unsigned char *from)
{
    if (BYTES == 1)
        asm volatile("st.shared.b8 [%0], %1;" ::"r"(address), "r"((unsigned)*from) : "memory");
    else if (BYTES == 2)
        asm volatile("st.shared.b16 [%0], %1;" ::"r"(address), "h"(*(const unsigned short *)from) : "memory");
    else
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(*(const unsigned *)from) : "memory");
}
F void write_operand(unsigned start, const unsigned char *from, unsigned rows, unsigned span, bool transposed)
{
    for (unsigned i = threadIdx.x; i < rows * K; i += blockDim.x)
        write_element(swizzled(start + offset_of(i / K, i % K, rows, span, transposed), span), from + i * BYTES);
}

#define A_BYTES ((M * BYTES + 127) / 128 * 128 * K + M * K * BYTES)
#define A_AT at(1024)
#define B_AT at(1024 + (A_BYTES + 1023) / 1024 * 1024)
#define STEP (32 / BYTES)
#define A_STEP(k) matrix(A_AT, k, M, SPAN_A, TRANS_A)
#define B_STEP(k) matrix(B_AT, k, N, SPAN_B, TRANS_B)

/* The lane of D's row, and the other way round: with M 64 the first 16 of each 32, from lane LANE on. */
#ifndef LANE
#define LANE 0
#endif

extern "C" __global__ void gemm(const unsigned char *a, const unsigned char *b, unsigned *d)
{
    const unsigned bar = at(0), t = threadIdx.x;
#ifdef A_IN_TENSOR
    const unsigned used = 2 * COLUMNS;
#else
    const unsigned used = COLUMNS;
#endif
    if (t == 0)
        barrier_init(bar, 1);
    write_operand(A_AT, a, M, SPAN_A, TRANS_A);
    write_operand(B_AT, b, N, SPAN_B, TRANS_B);
    proxy_fence();
    const unsigned tensor = alloc(used), to = tensor + (LANE << 16);
#ifdef BIAS
    for (unsigned n = 0; n < N; n += 8) {
        unsigned r[8];
        for (unsigned i = 0; i < 8; i++)
            r[i] = __float_as_uint((float)((t + n + i) % 5));
        st8(lanes(tensor) + n, r);
    }
    wait_st();
#endif
#ifdef A_IN_TENSOR
    /* Row t of A, packed, in the columns behind D. */
    for (unsigned k = 0; k < K * BYTES / 4; k += 8) {
        unsigned r[8];
        for (unsigned i = 0; i < 8; i++)
            r[i] = ((const unsigned *)a)[t * (K * BYTES / 4) + k + i];
        st8(lanes(tensor) + COLUMNS + k, r);
    }
    wait_st();
#endif
    fence_before();
    __syncthreads();
    fence_after();
    if (t == 0) {
        for (unsigned k = 0; k < K; k += STEP) {
#ifdef BIAS
            const unsigned accumulate = 1;
#else
            const unsigned accumulate = k != 0;
#endif
#ifdef A_IN_TENSOR
            mma_tensor(to, tensor + COLUMNS + k * BYTES / 4, B_STEP(k), accumulate);
#else
            mma_as(to, A_STEP(k), B_STEP(k),
#ifdef NEGATE
                   IDESC | NEGATE,
#else
                   IDESC,
#endif
                   accumulate);
#endif
        }
        commit(bar);
    }
    wait(bar, 0);
    fence_after();
    for (unsigned n = 0; n < N; n += 8) {
#if M == 128
        unsigned r[8];
        ld8(lanes(tensor) + n, r);
        wait_ld();
        for (unsigned i = 0; i < 8; i++)
            d[t * N + n + i] = r[i];
#else
        unsigned r[4], l = t % 32;
#if SPAN_A == 128
        ld_16x256(lanes(to) + n, r);
#elif SPAN_A == 64
        ld_16x128(lanes(to) + n, r);
#else
        ld_16x64(lanes(to) + n, r);
#endif
        wait_ld();
        for (unsigned i = 0; i < 4; i++) {
#if SPAN_A == 128
            const unsigned row = l / 4 + 8 * (i / 2), column = 2 * (l % 4) + i % 2;
#elif SPAN_A == 64
            const unsigned row = l / 4 + 8 * (i % 2), column = l % 4 + 4 * (i / 2);
#else
            const unsigned row = l / 4 + 8 * (l % 2), column = l / 2 % 2 + 2 * i;
#endif
            d[(t / 32 * 16 + row) * N + n + column] = r[i];
        }
#endif
    }
    __syncthreads();
    dealloc(tensor, used);
}

/* Comes behind what `warps` others have done before this, in time alone: relaxed atomics order nothing. */
F void after(const unsigned char *a, unsigned warps, bool waits)
{
    unsigned *count = (unsigned *)(a + 60000);
    if (!waits && threadIdx.x % 32 == 0)
        atomicAdd(count, 1);
    while (waits && atomicAdd(count, 0) < warps) {
    }
}

/* How a kernel of bugs.def begins: operands in place, barriers, columns. What it does with them is its own. */
#define BEGIN                                                                                                          \
    const unsigned t = threadIdx.x, bar = at(0), bar2 = at(8);                                                         \
    if (t == 0) {                                                                                                      \
        barrier_init(bar, 1);                                                                                          \
        barrier_init(bar2, 1);                                                                                         \
    }                                                                                                                  \
    write_operand(A_AT, a, M, SPAN_A, TRANS_A);                                                                        \
    write_operand(B_AT, a, N, SPAN_B, TRANS_B);
