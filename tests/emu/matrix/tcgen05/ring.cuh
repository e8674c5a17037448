/* A product as kernels for sm_100a have it: a thread that brings tiles by TMA into a ring of two stages, a thread that
   multiplies, four warps that take the results out. Two tiles of D, one accumulator. Behind common.cuh with M 128,
   N 64, K 64 of a stage, bf16, swizzles of 128 bytes. */
struct ring {
    alignas(128) unsigned long long map_a[16], map_b[16];
    float *d;
};
enum { STAGES = 2, STEPS = 5, TILES = 2, STAGE = (M + N) * 128 };

F void arrive(unsigned bar) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory"); }
F void expect(unsigned bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
F void load(unsigned to, const void *map, unsigned bar, int inner, int outer)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
                     "r"(to), "l"(map), "r"(bar), "r"(inner), "r"(outer) : "memory");
}

extern "C" __global__ void __launch_bounds__(192) k(const __grid_constant__ ring p)
{
    const unsigned t = threadIdx.x, full = at(0), empty = at(16), done = at(32), taken = at(40);
    const unsigned stages = at(1024);
    if (t == 0) {
        for (int s = 0; s < STAGES; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, 1);
        }
        barrier_init(done, 1);
        barrier_init(taken, 4);
    }
    const unsigned tensor = alloc(64);
    if (t == 32) {
        for (int i = 0; i < TILES * STEPS; i++) {
            const unsigned s = i % STAGES, a = stages + s * STAGE;
            if (i >= STAGES)
                IF_NOT(1) wait(empty + 8 * s, (i / STAGES + 1) & 1);
            expect(full + 8 * s, STAGE);
            load(a, p.map_a, full + 8 * s, i % STEPS * K, i / STEPS * M);
            load(a + M * 128, p.map_b, full + 8 * s, i % STEPS * K, 0);
        }
    } else if (t == 0) {
        for (int i = 0; i < TILES * STEPS; i++) {
            const unsigned s = i % STAGES, a = stages + s * STAGE;
            if (i == STEPS) {
                IF_NOT(2) wait(taken, 0);
                IF_NOT(3) fence_after();
            }
            IF_NOT(4) wait(full + 8 * s, i / STAGES & 1);
            for (unsigned k = 0; k < K; k += 16)
                mma(tensor, matrix(a, k, M, 128, false), matrix(a + M * 128, k, N, BUG == 5 ? 64 : 128, false),
                    i % STEPS || k);
            IF_NOT(6) commit(empty + 8 * s);
            if (i % STEPS == STEPS - 1)
                commit(done);
        }
    } else if (t >= 64) {
        for (int tile = 0; tile < TILES; tile++) {
            IF_NOT(7) wait(done, tile & 1);
            IF_NOT(8) fence_after();
            for (unsigned n = 0; n < N; n += 8) {
                unsigned r[8];
                ld8(lanes(tensor) + n, r);
                IF_NOT(9) wait_ld();
                for (unsigned i = 0; i < 8; i++)
                    p.d[(tile * M + t / 32 % 4 * 32 + t % 32) * N + n + i] = __uint_as_float(r[i]);
            }
            IF_NOT(10) fence_before();
            __syncwarp();
            if (t % 32 == 0)
                arrive(taken);
        }
    }
    wait(done, TILES - 1);
    __syncthreads();
    dealloc(tensor, 64);
}
