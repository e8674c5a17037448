/* The emulator's executor on small CUDA kernels that NVRTC compiles here: control flow, warps, barriers, faults.
   Numbers are in test_execute_numbers.c. */
#include "execute.h"

/* ---- Control flow ------------------------------------------------------------------------------------------------ */

static void divergence(void **state)
{
    (void)state;
    static const char source[] =
        "__device__ int collatz(unsigned long long n) { int c = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n / 2; "
        "++c; }\n"
        "  return c; }\n"
        LAB_KERNEL("int *o, int n")
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int r = collatz(i + 1);\n"
        "  switch (i % 7) { case 0: r += 10; break; case 1: r *= 3; case 2: r -= 4; break; case 3: r ^= 0x55; break;\n"
        "    case 4: for (int k = 0; k < i; ++k) { if (k % 5 == 3) continue; if (k > 40) break; r += k; } break;\n"
        "    case 5: goto out; default: r = -r; }\n"
        "  r += 1000;\n"
        "out: o[i] = r; }\n";
    struct lab lab;
    enum { COUNT = 500 };
    int o[COUNT];
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t o;
        int n;
    } p = {lab_alloc(&lab, NULL, sizeof o), COUNT};
    lab_run(&lab, source, 4, 128, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < COUNT; i++) {
        int r = 0;
        for (unsigned long long n = (unsigned)i + 1; n != 1; n = n & 1 ? 3 * n + 1 : n / 2)
            r++;
        switch (i % 7) {
        case 0:
            r += 10;
            break;
        case 1:
            r *= 3;
            r -= 4;
            break;
        case 2:
            r -= 4;
            break;
        case 3:
            r ^= 0x55;
            break;
        case 4:
            for (int k = 0; k < i; ++k) {
                if (k % 5 == 3)
                    continue;
                if (k > 40)
                    break;
                r += k;
            }
            break;
        case 5:
            r -= 1000;
            break;
        default:
            r = -r;
        }
        assert_int_equal(o[i], r + 1000);
    }
    lab_close(&lab);
}

static void recursion(void **state)
{
    (void)state;
    static const char source[] =
        "__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) { return m == 0 ? n + 1 : n == 0 ?\n"
        "  ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }\n"
        "struct pair { long long a; float b; char c[5]; };\n"
        "__device__ __noinline__ pair swap(pair p, int i) { p.a += i; p.b *= 2; p.c[i % 5] = 'x'; return p; }\n"
        "typedef int (*function)(int);\n"
        "__device__ __noinline__ int twice(int x) { return 2 * x; }\n"
        "__device__ __noinline__ int square(int x) { return x * x; }\n"
        "__device__ function table[2] = {twice, square};\n"
        LAB_KERNEL("unsigned *o")
        "{ int i = threadIdx.x; pair p; p.a = i; p.b = i; for (int k = 0; k < 5; ++k) p.c[k] = 'a' + k; "
        "p = swap(p, i);\n"
        "  o[4 * i] = ackermann(i & 1 ? 2 : 1, i % 6); o[4 * i + 1] = (unsigned)p.a + p.c[i % 5] + p.c[(i + 1) % 5];\n"
        "  o[4 * i + 2] = (unsigned)p.b; o[4 * i + 3] = table[i % 2](i); }\n";
    struct lab lab;
    unsigned o[64][4];
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t o;
    } p = {lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, 1, 64, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(o[i][0], i & 1 ? 2 * (i % 6) + 3 : i % 6 + 2);
        assert_int_equal(o[i][1], 2 * i + 'x' + 'a' + (i + 1) % 5);
        assert_int_equal(o[i][2], 2 * i);
        assert_int_equal(o[i][3], i % 2 ? i * i : 2 * i);
    }
    lab_close(&lab);
}

static void local_arrays(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("const int *a, int *o, int n")
        "{ int i = threadIdx.x; int v[33]; short s[16]; for (int k = 0; k < 33; ++k) v[k] = a[(i * 7 + k * n) % 64];\n"
        "  for (int k = 0; k < 16; ++k) s[(k * n) % 16] = v[k];\n"
        "  for (int k = 0; k < 33; ++k) for (int j = k + 1; j < 33; ++j) if (v[j] < v[k]) { int t = v[k]; "
        "v[k] = v[j]; v[j] = t; }\n"
        "  int *p = &v[i % 33]; *p += 100; o[i] = v[(i * n) % 33] + s[i % 16]; }\n";
    struct lab lab;
    int a[64], o[64], n = 5;
    for (int i = 0; i < 64; i++)
        a[i] = (int)(lab_draw() % 1000) - 500;
    lab_open(&lab, "sm_80");
    struct {
        uint64_t a, o;
        int n;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, NULL, sizeof o), n};
    lab_run(&lab, source, 1, 64, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int i = 0; i < 64; i++) {
        int v[33], s[16];
        for (int k = 0; k < 33; k++)
            v[k] = a[(i * 7 + k * n) % 64];
        for (int k = 0; k < 16; k++)
            s[k * n % 16] = v[k];
        for (int k = 0; k < 33; k++)
            for (int j = k + 1; j < 33; j++)
                if (v[j] < v[k]) {
                    int t = v[k];
                    v[k] = v[j];
                    v[j] = t;
                }
        v[i % 33] += 100;
        assert_int_equal(o[i], v[i * n % 33] + s[i % 16]);
    }
    lab_close(&lab);
}

/* ---- Warps ------------------------------------------------------------------------------------------------------- */

static void warp_functions(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("unsigned *o")
        "{ unsigned i = threadIdx.x, x = i * i + 3; o += 16 * i; const unsigned all = ~0u;\n"
        "  o[0] = __shfl_sync(all, x, (i * 5) & 31); o[1] = __shfl_up_sync(all, x, 3); "
        "o[2] = __shfl_down_sync(all, x, 5, 8);\n"
        "  o[3] = __shfl_xor_sync(all, x, 9); o[4] = __ballot_sync(all, x % 3 == 0); o[5] = __any_sync(all, i == 77);\n"
        "  o[6] = __all_sync(all, x > 2); o[7] = __match_any_sync(all, i % 5); int same; "
        "o[8] = __match_all_sync(all, i / 32, &same) + same;\n"
        "  o[9] = __reduce_add_sync(all, x); o[10] = __reduce_max_sync(all, (int)(16 - i % 32)); "
        "o[11] = __reduce_xor_sync(all, x);\n"
        "  if (i % 32 < 11) { o[12] = __activemask(); o[13] = __reduce_min_sync(0x7ff, x); } else { o[12] = 0; "
        "o[13] = __shfl_sync(~0x7ffu, x, 20); }\n"
        "  o[14] = i % 2 ? __shfl_sync(0xaaaaaaaau, x, 7) : __shfl_sync(0x55555555u, x, 2);\n"
        "  unsigned m = i % 4 == 1 ? 0x22222222u : 0xddddddddu; __syncwarp(m); "
        "o[15] = i % 4 == 1 ? __ballot_sync(m, i & 4) : 9; }\n";
    struct lab lab;
    enum { T = 96 };
    unsigned o[T][16];
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t o;
    } p = {lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, 1, T, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (unsigned i = 0; i < T; i++) {
        unsigned w = i / 32 * 32, l = i % 32, ballot = 0, any = 0, sum = 0, xors = 0, least = UINT32_MAX, odd = 0;
#define X(j) ((j) * (j) + 3)
        for (unsigned j = w; j < w + 32; j++) {
            ballot |= (X(j) % 3 == 0 ? 1u : 0) << (j - w);
            any |= (j % 5 == i % 5 ? 1u : 0) << (j - w);
            sum += X(j);
            xors ^= X(j);
            if (j - w < 11 && X(j) < least)
                least = X(j);
            if (j % 4 == 1)
                odd |= (j & 4 ? 1u : 0) << (j - w);
        }
        assert_int_equal(o[i][0], X(w + (i * 5 & 31)));
        assert_int_equal(o[i][1], l < 3 ? X(i) : X(i - 3));
        assert_int_equal(o[i][2], l % 8 + 5 > 7 ? X(i) : X(i + 5));
        assert_int_equal(o[i][3], X(w + (l ^ 9)));
        assert_int_equal(o[i][4], ballot);
        assert_int_equal(o[i][5], w == 64);
        assert_int_equal(o[i][6], 1);
        assert_int_equal(o[i][7], any);
        assert_int_equal(o[i][8], 0);
        assert_int_equal(o[i][9], sum);
        assert_int_equal(o[i][10], 16);
        assert_int_equal(o[i][11], xors);
        assert_int_equal(o[i][12], l < 11 ? 0x7ff : 0);
        assert_int_equal(o[i][13], l < 11 ? least : X(w + 20));
        assert_int_equal(o[i][14], i % 2 ? X(w + 7) : X(w + 2));
        assert_int_equal(o[i][15], i % 4 == 1 ? odd : 9);
    }
    lab_close(&lab);
}

static void reduction_and_scan(void **state)
{
    (void)state;
    static const char source[] =
        LAB_KERNEL("const int *a, int *sums, int *scan, int *total, int n")
        "{ extern __shared__ int s[]; __shared__ int part[32]; int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
        "  int x = i < n ? a[i] : 0; s[t] = x; __syncthreads();\n"
        "  for (int d = 1; d < blockDim.x; d *= 2) { int v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v; "
        "__syncthreads(); }\n"
        "  if (i < n) scan[i] = s[t];\n"
        "  for (int d = 16; d; d /= 2) x += __shfl_down_sync(~0u, x, d);\n"
        "  if (t % 32 == 0) part[t / 32] = x; __syncthreads();\n"
        "  if (t == 0) { int r = 0; for (int w = 0; w < blockDim.x / 32; ++w) r += part[w]; sums[blockIdx.x] = r; "
        "atomicAdd(total, r); }\n"
        "  if (__syncthreads_or(i == n - 1) && t == 5) atomicMax(total + 1, blockIdx.x);\n"
        "  int c = __syncthreads_count(i < n); if (t == 0) atomicAdd(total + 2, c); }\n";
    struct lab lab;
    enum { COUNT = 1000, B = 256, G = 4 };
    int a[COUNT], sums[G], scan[COUNT], total[3] = {0, 0, 0};
    for (int i = 0; i < COUNT; i++)
        a[i] = (int)(lab_draw() % 100) - 50;
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a, sums, scan, total;
        int n;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, NULL, sizeof sums), lab_alloc(&lab, NULL, sizeof scan),
           lab_alloc(&lab, total, sizeof total), COUNT};
    lab_run(&lab, source, G, B, B * sizeof(int), 1, &p, sizeof p);
    lab_read(&lab, sums, p.sums, sizeof sums);
    lab_read(&lab, scan, p.scan, sizeof scan);
    lab_read(&lab, total, p.total, sizeof total);
    int all = 0;
    for (int b = 0; b < G; b++) {
        int sum = 0;
        for (int i = b * B; i < (b + 1) * B && i < COUNT; i++) {
            sum += a[i];
            assert_int_equal(scan[i], sum);
        }
        assert_int_equal(sums[b], sum);
        all += sum;
    }
    assert_int_equal(total[0], all);
    assert_int_equal(total[1], G - 1);
    assert_int_equal(total[2], COUNT);
    lab_close(&lab);
}

static void atomics(void **state)
{
    (void)state;
    static const char source[] =
        LAB_KERNEL("unsigned *u, float *f, unsigned long long *l, double *d, int *lock, unsigned short *h")
        "{ int i = threadIdx.x + blockIdx.x * blockDim.x; __shared__ unsigned s[4]; "
        "if (threadIdx.x < 4) s[threadIdx.x] = 0; __syncthreads();\n"
        "  atomicAdd(u, i); atomicMin(u + 1, 1000u - i); atomicOr(u + 2, 1u << i % 32); atomicInc(u + 3, 6); "
        "atomicAdd(f, .5f);\n"
        "  atomicAdd(l, 1ull << 32); for (unsigned long long c = 0, n; (n = atomicCAS(l + 1, c, c + 2)) != c; "
        "c = n) ; atomicAdd(d, 0.25); atomicXor(&s[i % 4], i); atomicExch(u + 4, 77u);\n"
        "  unsigned old = atomicAdd(u + 5, 1u); atomicAdd(u + 6, old); "
        "asm volatile(\"red.global.add.noftz.f16 [%0], %1;\" :: \"l\"(h), \"h\"((unsigned short)0x3c00));\n"
        "  for (bool done = false; !done;) { if (atomicCAS(lock, 0, 1) == 0) { u[7] += 1; __threadfence(); "
        "atomicExch(lock, 0); done = true; } }\n"
        "  __syncthreads(); if (threadIdx.x < 4) atomicXor(u + 8, s[threadIdx.x]); }\n";
    struct lab lab;
    enum { T = 256 };
    unsigned u[9] = {0, 5000, 0, 0, 0, 0, 0, 0, 0};
    float f = 0;
    uint64_t l[2] = {0, 0};
    double d = 0;
    int lock = 0;
    uint16_t h = 0;
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t u, f, l, d, lock, h;
    } p = {lab_alloc(&lab, u, sizeof u), lab_alloc(&lab, &f, sizeof f), lab_alloc(&lab, l, sizeof l),
           lab_alloc(&lab, &d, sizeof d), lab_alloc(&lab, &lock, sizeof lock), lab_alloc(&lab, &h, sizeof h)};
    lab_run(&lab, source, 2, T / 2, 0, 1, &p, sizeof p);
    lab_read(&lab, u, p.u, sizeof u);
    lab_read(&lab, &f, p.f, sizeof f);
    lab_read(&lab, l, p.l, sizeof l);
    lab_read(&lab, &d, p.d, sizeof d);
    lab_read(&lab, &h, p.h, sizeof h);
    unsigned sum = 0, xors = 0;
    for (unsigned i = 0; i < T; i++)
        sum += i, xors ^= i;
    assert_int_equal(u[0], sum);
    assert_int_equal(u[1], 1000 - T + 1);
    assert_int_equal(u[2], UINT32_MAX);
    assert_int_equal(u[3], T % 7);
    assert_int_equal(u[4], 77);
    assert_int_equal(u[5], T);
    assert_int_equal(u[6], sum);
    assert_int_equal(u[7], T);
    assert_int_equal(u[8], xors);
    assert_true(f == T * .5f);
    assert_true(l[0] == (uint64_t)T << 32 && l[1] == 2 * T);
    assert_true(d == T * .25);
    assert_int_equal(h, 0x5c00);
    lab_close(&lab);
}

/* ---- Printf, constants, vectors ---------------------------------------------------------------------------------- */

static void printing(void **state)
{
    (void)state;
    static const char source[] = "extern \"C\" __device__ int printf(const char *, ...);\n"
        LAB_KERNEL("int x")
        "{ if (threadIdx.x % 2 == 0) printf(\"%d: %s %5.2f %llx %c%%|%*d|\\n\", threadIdx.x, \"text\", x * 1.5, "
        "1ull << 40, 'a' + threadIdx.x, 4, x); }\n";
    struct lab lab;
    int x = 7;
    lab_open(&lab, "sm_90a");
    lab_run(&lab, source, 1, 4, 0, 1, &x, sizeof x);
    assert_string_equal(lab.printed, "0: text 10.50 10000000000 a%|   7|\n2: text 10.50 10000000000 c%|   7|\n");
    lab_close(&lab);
}

static void constants_and_vectors(void **state)
{
    (void)state;
    static const char source[] = "__constant__ int table[4] = {10, 20, 30, 40};\n__device__ int counter = 5;\n"
        "__device__ int *pointer = &counter;\n"
        LAB_KERNEL("const int4 *a, int4 *o, const double2 *d, double *e")
        "{ int i = threadIdx.x; int4 v = a[i]; v.x += table[i % 4]; v.w = *pointer; v.y = ((const short *)a)[2 * i];\n"
        "  v.z = ((const signed char *)a)[i]; o[i] = v; double2 q = d[i]; e[i] = q.x - q.y; if (i == 0) counter = 9; "
        "}\n";
    struct lab lab;
    enum { T = 40 };
    int a[T][4], o[T][4];
    double d[T][2], e[T];
    for (int i = 0; i < T; i++) {
        for (int k = 0; k < 4; k++)
            a[i][k] = (int)lab_draw();
        d[i][0] = i * 0.1, d[i][1] = i * 0.3;
    }
    lab_open(&lab, "sm_80");
    struct {
        uint64_t a, o, d, e;
    } p = {lab_alloc(&lab, a, sizeof a), lab_alloc(&lab, NULL, sizeof o), lab_alloc(&lab, d, sizeof d),
           lab_alloc(&lab, NULL, sizeof e)};
    lab_run(&lab, source, 1, T, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    lab_read(&lab, e, p.e, sizeof e);
    for (int i = 0; i < T; i++) {
        assert_int_equal(o[i][0], a[i][0] + 10 * (i % 4 + 1));
        assert_int_equal(o[i][1], ((const int16_t *)a)[2 * i]);
        assert_int_equal(o[i][2], ((const int8_t *)a)[i]);
        assert_true(o[i][3] == 5 || o[i][3] == 9);
        assert_true(e[i] == d[i][0] - d[i][1]);
    }
    lab_close(&lab);
}

/* ---- Barriers and clusters --------------------------------------------------------------------------------------- */

static void named_barriers(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("int *o")
        "{ __shared__ int box[2][32]; int w = threadIdx.x / 32, l = threadIdx.x % 32;\n"
        "  for (int n = 0; n < 20; ++n) {\n"
        "    if (w == 0) { if (n) asm volatile(\"bar.sync 2, 64;\" ::: \"memory\"); box[0][l] = n * 100 + l; "
        "asm volatile(\"bar.arrive 1, 64;\" ::: \"memory\"); }\n"
        "    if (w == 1) { asm volatile(\"bar.sync 1, 64;\" ::: \"memory\"); o[n * 32 + l] = box[0][31 - l]; "
        "if (n < 19) asm volatile(\"bar.arrive 2, 64;\" ::: \"memory\"); }\n"
        "  }\n"
        "  if (w >= 2) { box[1][l] = w; asm volatile(\"barrier.sync %0, 64;\" :: \"r\"(w / 2 + 3) : \"memory\"); } }\n";
    struct lab lab;
    int o[20][32];
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t o;
    } p = {lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, 1, 192, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int n = 0; n < 20; n++)
        for (int l = 0; l < 32; l++)
            assert_int_equal(o[n][l], n * 100 + 31 - l);
    lab_close(&lab);
}

static void clusters(void **state)
{
    (void)state;
    static const char source[] =
        "__device__ unsigned rank() { unsigned r; asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(r)); return r; }\n"
        "__device__ void sync() { asm volatile(\"barrier.cluster.arrive.release.aligned; "
        "barrier.cluster.wait.acquire.aligned;\" ::: \"memory\"); }\n"
        LAB_KERNEL("int *o")
        "{ extern __shared__ int s[]; int t = threadIdx.x; s[t] = blockIdx.x * 1000 + t; sync();\n"
        "  unsigned a = (unsigned)__cvta_generic_to_shared(s + t), b; int v; unsigned other = (rank() + 1) % 4;\n"
        "  asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(b) : \"r\"(a), \"r\"(other));\n"
        "  asm volatile(\"ld.shared::cluster.u32 %0, [%1];\" : \"=r\"(v) : \"r\"(b)); sync();\n"
        "  asm volatile(\"atom.shared::cluster.add.u32 %0, [%1], 5;\" : \"=r\"(a) : \"r\"(b)); sync();\n"
        "  unsigned long long g; asm(\"mapa.u64 %0, %1, %2;\" : \"=l\"(g) : \"l\"(s + t), \"r\"((rank() + 2) % 4));\n"
        "  o[blockIdx.x * 64 + t] = v + *(int *)g; sync(); }\n";
    struct lab lab;
    int o[8][64];
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t o;
    } p = {lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, 8, 64, 64 * sizeof(int), 4, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int b = 0; b < 8; b++)
        for (int t = 0; t < 64; t++) {
            int base = b / 4 * 4;
            assert_int_equal(o[b][t], (base + (b + 1) % 4) * 1000 + t + (base + (b + 2) % 4) * 1000 + t + 5);
        }
    lab_close(&lab);
}

/* Blocks that wait for one another through memory: all that fit are resident. */
static void grid_barrier(void **state)
{
    (void)state;
    static const char source[] = LAB_KERNEL("int *count, int *o")
        "{ __syncthreads(); if (threadIdx.x == 0) { __threadfence(); atomicAdd(count, 1);\n"
        "  while (*(volatile int *)count < gridDim.x) ; } __syncthreads(); "
        "o[blockIdx.x * 32 + threadIdx.x] = *(volatile int *)count; }\n";
    struct lab lab;
    enum { G = 132 };
    static int o[G][32];
    int count = 0;
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t count, o;
    } p = {lab_alloc(&lab, &count, sizeof count), lab_alloc(&lab, NULL, sizeof o)};
    lab_run(&lab, source, G, 32, 0, 1, &p, sizeof p);
    lab_read(&lab, o, p.o, sizeof o);
    for (int b = 0; b < G; b++)
        assert_int_equal(o[b][b % 32], G);
    lab_close(&lab);
}

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

static void expect_fault(const char *source, unsigned block, const char *words)
{
    struct lab lab;
    struct tw_error error;
    lab_open(&lab, "sm_90a");
    struct {
        uint64_t a;
        int n;
    } p = {lab_alloc(&lab, NULL, 256), 64};
    struct tw_kernel *kernel = lab_load(&lab, source, "k");
    assert_int_equal(lab_try(&lab, kernel, 1, block, 0, 1, &p, sizeof p, &error), TW_ERROR_LAUNCH);
    if (!strstr(error.text, words))
        fail_msg("'%s' is not in: %s", words, error.text);
    tw_device_unload(lab.device, kernel);
    lab_close(&lab);
}

static void faults(void **state)
{
    (void)state;
    expect_fault(LAB_KERNEL("int *a, int n") "{ a[threadIdx.x + 1] = 1; }", 64, "hazard BOUNDS: write of 4 bytes");
    expect_fault(LAB_KERNEL("int *a, int n") "{ a[0] = a[n]; }", 1, "kernel.cu:2");
    expect_fault(LAB_KERNEL("int *a, int n") "{ *(long long *)((char *)a + 4) = 1; }", 1, "hazard ALIGN");
    expect_fault(LAB_KERNEL("int *a, int n") "{ *(volatile int *)0 = 1; }", 1, "hazard BOUNDS");
    expect_fault(LAB_KERNEL("int *a, int n") "{ __shared__ int s[8]; volatile int *p = s; p[n] = 1; a[0] = p[0]; }", 1,
                 "shared");
    expect_fault(LAB_KERNEL("int *a, int n") "{ __trap(); }", 32, "trap");
    expect_fault(LAB_KERNEL("int *a, int n") "{ if (threadIdx.x < 32) asm volatile(\"bar.sync 3, 64;\"); }", 64,
                 "hazard DEADLOCK");
    expect_fault(LAB_KERNEL("int *a, int n") "{ while (*(volatile int *)a != 77) ; }", 64, "hazard DEADLOCK");
    expect_fault(LAB_KERNEL("int *a, int n")
                 "{ __shared__ long long b; unsigned s = (unsigned)__cvta_generic_to_shared(&b), ok = 0;\n"
                 "  asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 2;\" :: \"r\"(s)); if (threadIdx.x == 0) \n"
                 "  asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" :: \"r\"(s)); while (!ok)\n"
                 "  asm volatile(\"{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                 "selp.u32 %0, 1, 0, p;}\" : \"=r\"(ok) : \"r\"(s)); }",
                 32, "waits for the barrier");
}

static void unknown_instruction(void **state)
{
    (void)state;
    static const char ptx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                              ".visible .entry k()\n{\n.reg .b32 %r<3>;\nfrobnicate.b32 %r1, %r2;\nret;\n}\n";
    struct lab lab;
    struct tw_error error = {""};
    struct tw_kernel *kernel;
    struct tw_load load = {.ptx = ptx, .ptx_bytes = sizeof ptx - 1, .entry = "k"};
    lab_open(&lab, "sm_90a");
    assert_int_not_equal(tw_device_load(lab.device, &load, &kernel, &error), TW_OK);
    assert_non_null(strstr(error.text, "line 7"));
    lab_close(&lab);
}

static void functions_without_body(void **state)
{
    (void)state;
    static const struct {
        const char *function, *call, *says;
    } cases[] = {
        {"cudaGraphSetConditional", "call cudaGraphSetConditional, (handle, value);",
         "function cudaGraphSetConditional has no body: launches and conditions of graphs by kernels are not emulated; "
         "let the "
         "host decide and launch"},
        {"elsewhere", "call elsewhere, (handle, value);", "function elsewhere has no body"},
        {"cudaGraphSetConditional", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lab lab;
        struct tw_error error = {""};
        struct tw_kernel *kernel;
        char ptx[1000];
        int n = snprintf(ptx, sizeof ptx,
                         ".version 8.0\n.target sm_90a\n.address_size 64\n"
                         ".extern .func %s (.param .b64 h, .param .b32 v);\n.visible .entry k()\n{\n"
                         ".param .b64 handle;\n.param .b32 value;\n.reg .b64 %%h;\n.reg .b32 %%v;\n"
                         "mov.u64 %%h, 1;\nmov.u32 %%v, 0;\nst.param.b64 [handle], %%h;\nst.param.b32 [value], %%v;\n"
                         "%s\nret;\n}\n",
                         cases[i].function, cases[i].call);
        struct tw_load load = {.ptx = ptx, .ptx_bytes = (size_t)n, .entry = "k"};
        lab_open(&lab, "sm_90a");
        int status = tw_device_load(lab.device, &load, &kernel, &error);
        if (cases[i].says ? !status || !strstr(error.text, cases[i].says) : status)
            fail_msg("%s", error.text);
        if (!status)
            tw_device_unload(lab.device, kernel);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divergence),
        cmocka_unit_test(recursion),
        cmocka_unit_test(local_arrays),
        cmocka_unit_test(warp_functions),
        cmocka_unit_test(reduction_and_scan),
        cmocka_unit_test(atomics),
        cmocka_unit_test(printing),
        cmocka_unit_test(constants_and_vectors),
        cmocka_unit_test(named_barriers),
        cmocka_unit_test(clusters),
        cmocka_unit_test(grid_barrier),
        cmocka_unit_test(faults),
        cmocka_unit_test(unknown_instruction),
        cmocka_unit_test(functions_without_body),
    };
    return cmocka_run_group_tests_name("emu execute", tests, NULL, NULL);
}
